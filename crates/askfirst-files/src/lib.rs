//! The file tools: a sandbox of named folders that knows which of its calls need a person.
//!
//! Each root is opened once; everything else is opened beneath it by the kernel's rules. The tools know nothing of
//! modes, terminals or memory. They look again before they act: what leads elsewhere by then does not run.

mod base64;
mod basis;
mod change;
mod edit;
mod error;
mod fold;
mod governing;
mod handle;
mod kinds;
mod list;
pub mod never;
mod place;
mod plan;
mod read;
mod rights;
mod roots;
mod search;
mod show;
mod sightings;
#[cfg(test)]
mod skip;
#[cfg(test)]
mod tests;
mod tree;
mod wish;
mod write;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use askfirst::{
    Approval, ApprovalAware, ApprovalContext, ApprovalRequest, Assessment, Loosen, OfferedPattern, Shown,
    ToolDefinition, ToolError,
};
use askfirst_config::Config;
use serde_json::{Map, Value, json};

pub use error::FilesError;
pub use never::NEVER_WRITE;
pub use place::Ground;
pub use roots::{NarrowerRoot, Roots};
pub use sightings::Sightings;

use basis::Seen;
use error::Trouble;
use plan::Plan;
use wish::Wish;

/// Tools for the files in some folders. Every call blocks until it is done.
pub struct FileTools {
    roots: Roots,
    sightings: Sightings,
}

impl FileTools {
    /// The tools for the roots of a config. Without roots there are no tools.
    ///
    /// # Errors
    /// Fails if a root cannot be opened, or if nothing here can keep access beneath it.
    pub fn new(config: &Config) -> Result<Self, FilesError> {
        Ok(Self::of(Roots::new(config)?))
    }

    /// Tools for parts of these roots, by new names, for somebody who may do less. What is left out stays as it is;
    /// the rules of the roots here go on holding.
    ///
    /// # Errors
    /// Fails if any part would be wider than what it is a part of, or is not there.
    pub fn derive(&self, narrower: &BTreeMap<String, NarrowerRoot>) -> Result<Self, FilesError> {
        Ok(Self::of(self.roots.derive(narrower)?))
    }

    fn of(roots: Roots) -> Self {
        Self { roots, sightings: Sightings::default() }
    }

    /// The definitions that the model gets. They are built on first use.
    #[must_use]
    pub fn definitions(&self) -> &'static [ToolDefinition] {
        static DEFINITIONS: LazyLock<Vec<ToolDefinition>> = LazyLock::new(wish::definitions);
        if self.roots.all.is_empty() { &[] } else { &DEFINITIONS }
    }

    /// The definition of one tool.
    #[must_use]
    pub fn definition(&self, name: &str) -> Option<&'static ToolDefinition> {
        let known = wish::NAMES.contains(&name);
        known.then(|| self.definitions().iter().find(|tool| tool.name == name)).flatten()
    }

    /// Runs a call. `basis` is the state that the call was shown with, if it was shown.
    ///
    /// # Errors
    /// Fails if the call cannot be done, or if a file no longer is as it was shown.
    pub fn run(&self, call: &ApprovalContext, basis: Option<&Value>) -> Result<Value, ToolError> {
        let wish = Wish::read(&call.tool_name, &call.args);
        let wish = wish.ok_or_else(|| ToolError::Unknown(call.tool_name.clone()))??;
        let ground = Ground::of_call(&self.roots, call);
        let plan = ground.plan(&wish)?;
        let shown = match basis {
            Some(basis) => basis::check(&ground, &wish, &plan, basis)?,
            None if plan.approval == Approval::None => Seen::default(),
            None => {
                self.sightings.check(call, &plan.at())?;
                Seen::default()
            }
        };
        Ok(act(&ground, &wish, &plan, shown)?)
    }
}

impl ApprovalAware for FileTools {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        let Some(wish) = Wish::read(&call.tool_name, &call.args) else { return Assessment::silent() };
        let ground = Ground::of_call(&self.roots, call);
        match wish.and_then(|wish| ground.plan(&wish)) {
            Err(trouble) => Assessment { firm: true, ..Assessment::blocked(trouble.to_string()) },
            Ok(plan) => {
                self.sightings.saw(call, plan.at());
                assessment(&ground, call, &plan)
            }
        }
    }

    fn present(&self, call: &ApprovalContext, _: &ApprovalRequest) -> Shown {
        let Some(wish) = Wish::read(&call.tool_name, &call.args) else { return Shown::default() };
        let ground = Ground::of_call(&self.roots, call);
        let planned = wish.and_then(|wish| Ok((ground.plan(&wish)?, wish)));
        match planned {
            Ok((plan, wish)) => show::present(&ground, &wish, &plan),
            Err(trouble) => show::failed(&trouble),
        }
    }

    fn place_of(&self, call: &ApprovalContext, path: &str) -> Option<PathBuf> {
        wish::NAMES.contains(&call.tool_name.as_str()).then_some(())?;
        Ground::of_call(&self.roots, call).place_of(path)
    }
}

fn assessment(ground: &Ground<'_>, call: &ApprovalContext, plan: &Plan) -> Assessment {
    let roots = plan.spots.iter().filter_map(|spot| ground.roots.all.get(spot.root));
    let because = roots.map(|root| root.origin.clone()).collect();
    let facts = plan.facts();
    let base = if plan.approval == Approval::None {
        Assessment::harmless()
    } else {
        let payload = plan.payload(ground);
        let patterns = patterns(&payload);
        let mut request = ApprovalRequest::new(&call.tool_name, plan.description(), Value::Object(payload));
        request.approval = plan.approval;
        request.facts = facts.clone();
        request.risk = plan.risk;
        request.patterns = patterns;
        request.same = Some(plan.same(&call.tool_name));
        Assessment::needs_approval(request)
    };
    // What is written is shown, not recorded.
    let written = ["content", "old", "new", "patch"].into_iter().filter(|key| call.args.contains_key(*key));
    let exclude_keys = written.map(str::to_owned).collect();
    Assessment { because, firm: true, facts, risk: plan.risk, exclude_keys, ..base }
}

/// The folder and the root of what is asked about; for two places, those of both.
fn patterns(payload: &Map<String, Value>) -> Vec<OfferedPattern> {
    let keys: Vec<&str> = ["path", "to"].into_iter().filter(|key| payload.contains_key(*key)).collect();
    let above = |fields: &Map<String, Value>, key: &str| {
        let path = fields.get(key).and_then(Value::as_str).unwrap_or_default();
        path.rsplit_once('/').map_or(String::new(), |(above, _)| above.to_owned())
    };
    let with = |label: &dyn Fn(&str, &str) -> String, value: &dyn Fn(&str) -> String| {
        let mut fields = payload.clone();
        let mut names = Vec::new();
        for key in &keys {
            let root_key = if *key == "to" { "to_root" } else { "root" };
            let root = payload.get(root_key).and_then(Value::as_str).unwrap_or_default();
            names.push(label(root, &value(key)));
            fields.insert((*key).to_owned(), value(key).into());
        }
        let label = format!("anything in {}", names.join(" to anything in "));
        OfferedPattern::new(label, fields, keys.iter().map(|key| (*key, Loosen::Under)))
    };
    let name = |root: &str, path: &str| format!("{root}:{path}");
    let mut offered = Vec::new();
    if keys.iter().any(|key| !above(payload, key).is_empty()) {
        offered.push(with(&name, &|key| above(payload, key)));
    }
    offered.push(with(&name, &|_| String::new()));
    offered
}

/// Whether a call takes no longer than its assessment did, so that it need not run on another thread.
#[must_use]
pub fn is_short(call: &ApprovalContext) -> bool {
    let limit = call.args.get("limit").map_or(Some(wish::DEFAULT_READ), Value::as_u64);
    match call.tool_name.as_str() {
        "read_file" => limit.is_some_and(|limit| limit <= wish::DEFAULT_READ),
        "stat_file" => true,
        _ => false,
    }
}

/// Does what a call asks for. What it changes must still be what was `seen`.
fn act(ground: &Ground<'_>, wish: &Wish, plan: &Plan, seen: Seen) -> Result<Value, Trouble> {
    match wish {
        Wish::Read { offset, limit, encoding, .. } => {
            let spot = plan.first()?;
            let (file, stat) = ground.open(spot)?;
            read::part(&file, &stat, &spot.label, *offset, *limit, *encoding)
        }
        Wish::Attach { receiver, .. } => {
            let spot = plan.first()?;
            let (file, stat) = ground.open(spot)?;
            let size = handle::size_of(&stat);
            if size > wish::MAX_READ {
                return Err(Trouble::Failed(format!(
                    "`{}` is too large to attach: {size} bytes",
                    spot.label
                )));
            }
            let bytes = read::bytes(&file, &spot.label, 0, wish::MAX_READ)?;
            let (content, encoding) = match show::plain_text(&bytes) {
                Some(text) => (text.to_owned(), "utf-8"),
                None => (base64::encode(&bytes), "base64"),
            };
            let size = bytes.len();
            Ok(
                json!({"path": spot.label, "receiver": receiver, "size": size, "encoding": encoding, "content": content}),
            )
        }
        Wish::Write { content, .. } => {
            let spot = plan.first()?;
            let target = write::Target::new(ground, spot)?.instead_of(seen.digest);
            target.replace(|file| file.write_all(content))?;
            Ok(json!({"path": spot.label, "bytes": content.len(), "new": spot.thing.is_none()}))
        }
        Wish::Edit { change, .. } => {
            let spot = plan.first()?;
            let (_, new) = show::edited(ground, spot, change, seen.content)?;
            let target = write::Target::new(ground, spot)?.instead_of(seen.digest);
            target.replace(|file| file.write_all(new.as_bytes()))?;
            Ok(json!({"path": spot.label, "bytes": new.len()}))
        }
        Wish::List { path: None, .. } => Ok(list::roots(ground)),
        Wish::List { glob, depth, limit, .. } => {
            list::list(ground, plan.first()?, glob.as_deref(), *depth, *limit)
        }
        Wish::Find { pattern, regex, glob, limit, .. } => {
            search::Search::new(pattern, *regex, glob.as_deref(), *limit)?.run(ground, plan.first()?)
        }
        Wish::Stat { .. } => stat(plan),
        Wish::Make { .. } => change::make(ground, plan.first()?),
        Wish::Move { in_the_way, .. } => {
            let (from, to) = plan.two()?;
            change::rename(ground, from, to, *in_the_way)
        }
        Wish::Copy { in_the_way, .. } => {
            let (from, to) = plan.two()?;
            change::copy(ground, from, to, *in_the_way)
        }
        Wish::Delete { depth, .. } => change::delete(ground, plan.first()?, *depth),
    }
}

fn stat(plan: &Plan) -> Result<Value, Trouble> {
    let spot = plan.first()?;
    let Some(thing) = &spot.thing else { return Ok(json!({"path": spot.label, "kind": "nothing"})) };
    let mut known = json!({
        "path": spot.label,
        "kind": thing.kind.as_str(),
        "size": spot.size(),
        "modified": thing.stat.st_mtime,
        "mode": format!("{:o}", thing.stat.st_mode & 0o7777),
    });
    if let (Some(known), Some(through)) = (known.as_object_mut(), &spot.through) {
        known.insert("asked".to_owned(), through.clone().into());
    }
    Ok(known)
}
