//! The file tools: they read and change files in named folders, the roots, and assess which calls need approval.
//!
//! The tools open each root once. They open every other file beneath a root, and the kernel enforces this.
//! They check each path again before they act: a call whose path leads elsewhere by then does not run.
//! They know nothing about modes, terminals or memory.

mod base64;
mod basis;
mod call_targets;
mod change;
mod edit;
mod error;
mod file_call;
mod governing;
mod handle;
mod kinds;
mod list;
mod location;
pub mod never;
mod place;
mod plan;
mod planned;
mod read;
mod rights;
mod roots;
mod search;
mod show;
#[cfg(test)]
mod skip;
#[cfg(test)]
mod tests;
mod tree;
mod write;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use askfirst::record::CommitRecord;
use askfirst::{
    Approval, ApprovalAware, ApprovalContext, ApprovalRequest, Assessment, Digest, Loosen, OfferedPattern,
    Shown, ToolDefinition, ToolError,
};
use askfirst_config::Config;
use serde_json::{Map, Value, json};

pub use askfirst_shell::fold_text;
pub use call_targets::CallTargets;
#[doc(hidden)]
pub use call_targets::CallTargets as Sightings;
pub use error::FilesError;
pub use place::{RootView, RootView as Ground};
pub use planned::{ChangeGuard, KeptChanges, NewState, PlannedChange};
pub use roots::{NarrowerRoot, Roots};

use basis::Observation;
use error::CallError;
use file_call::FileCall;
use plan::Plan;

/// The file tools for the roots of a config. Every call blocks until it is done.
pub struct FileTools {
    roots: Roots,
    guard: Arc<dyn ChangeGuard>,
    call_targets: CallTargets,
}

impl FileTools {
    /// Creates the tools for the roots of a config. A config without roots has no file tools.
    /// The guard classifies what they would change.
    ///
    /// # Errors
    /// Fails if a root cannot be opened, or if this system cannot confine access to it.
    pub fn new(config: &Config, guard: Arc<dyn ChangeGuard>) -> Result<Self, FilesError> {
        Ok(Self::of(Roots::new(config)?, guard))
    }

    /// Creates tools for parts of these roots, for a caller with less authority.
    ///
    /// Each part has a new name. A setting that the part omits stays the same, and all rules of these roots still apply.
    ///
    /// # Errors
    /// Fails if a part does not exist, or if it would allow more than its root.
    pub fn derive(&self, narrower: &BTreeMap<String, NarrowerRoot>) -> Result<Self, FilesError> {
        Ok(Self::of(self.roots.derive(narrower)?, Arc::clone(&self.guard)))
    }

    fn of(roots: Roots, guard: Arc<dyn ChangeGuard>) -> Self {
        Self { roots, guard, call_targets: CallTargets::default() }
    }

    /// Plans a call, and judges what it would change.
    fn plan(&self, view: &RootView<'_>, call: &FileCall<'_>) -> Result<Plan, CallError> {
        let mut plan = view.plan(call)?;
        let changes = view.planned(call, &plan)?;
        if changes.is_empty() {
            return Ok(plan);
        }
        let (effects, policy) = self.guard.effects(view, &changes).map_err(CallError::Failed)?;
        plan.apply(&effects, &policy)?;
        Ok(plan)
    }

    /// Returns the tool definitions that the model gets. They are built on first use.
    #[must_use]
    pub fn definitions(&self) -> &'static [ToolDefinition] {
        static DEFINITIONS: LazyLock<Vec<ToolDefinition>> = LazyLock::new(file_call::definitions);
        if self.roots.all.is_empty() { &[] } else { &DEFINITIONS }
    }

    /// Returns the definition of one tool.
    #[must_use]
    pub fn definition(&self, name: &str) -> Option<&'static ToolDefinition> {
        let is_known = file_call::NAMES.contains(&name);
        is_known.then(|| self.definitions().iter().find(|tool| tool.name == name)).flatten()
    }

    /// Runs a call. `basis` is the state that the presentation of the call depends on, if it was shown.
    /// `call_id` is the id of the call in the audit log.
    pub fn run(&self, call: &ApprovalContext, basis: Option<&Value>, call_id: &str) -> FileRun {
        let mut commits = Vec::new();
        let result = self.try_run(call, basis, call_id, &mut commits);
        FileRun { result, commits }
    }

    fn try_run(
        &self,
        call: &ApprovalContext,
        basis: Option<&Value>,
        call_id: &str,
        commits: &mut Vec<CommitRecord>,
    ) -> Result<Value, ToolError> {
        let file_call = FileCall::parse(&call.tool_name, &call.args);
        let file_call = file_call.ok_or_else(|| ToolError::Unknown(call.tool_name.clone()))??;
        let view = RootView::for_call(&self.roots, call);
        let plan = self.plan(&view, &file_call)?;
        let observation = match basis {
            Some(basis) => basis::compare(&view, &file_call, &plan, basis)?,
            None if plan.approval == Approval::None => Observation::default(),
            None => {
                self.call_targets.check(call, &plan.targets())?;
                Observation::default()
            }
        };
        let changes = if plan.has_undo { view.planned(&file_call, &plan)? } else { Vec::new() };
        let kept = if changes.is_empty() {
            None
        } else {
            let what = format!("{} {}", call.tool_name, plan.labels().join(" "));
            let kept = self.guard.keep(&changes, call_id, &what);
            Some(kept.map_err(|why| {
                ToolError::Failed(format!("nothing was changed, because undo could not restore it: {why}"))
            })?)
        };
        let done = execute(&view, &file_call, &plan, observation);
        // A call that failed may have changed something too.
        commits.extend(kept.into_iter().flat_map(KeptChanges::settle));
        Ok(done?)
    }

    /// Notes that the audit log has the entries of these commits.
    pub fn mark_logged(&self, commits: &[CommitRecord]) {
        self.guard.mark_logged(commits);
    }
}

/// A call that ran.
#[derive(Debug)]
pub struct FileRun {
    /// The result of the call, or why it failed.
    pub result: Result<Value, ToolError>,
    /// Its changes, for the audit log.
    pub commits: Vec<CommitRecord>,
}

impl ApprovalAware for FileTools {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        let Some(file_call) = FileCall::parse(&call.tool_name, &call.args) else {
            return Assessment::silent();
        };
        let view = RootView::for_call(&self.roots, call);
        match file_call.and_then(|file_call| self.plan(&view, &file_call)) {
            Err(error) => Assessment { firm: true, ..Assessment::blocked(error.to_string()) },
            Ok(plan) => {
                self.call_targets.remember(call, plan.targets());
                assess(&view, call, &plan)
            }
        }
    }

    fn present(&self, call: &ApprovalContext, _: &ApprovalRequest) -> Shown {
        let Some(file_call) = FileCall::parse(&call.tool_name, &call.args) else { return Shown::default() };
        let view = RootView::for_call(&self.roots, call);
        match file_call.and_then(|file_call| Ok((self.plan(&view, &file_call)?, file_call))) {
            Ok((plan, file_call)) => show::present(&view, &file_call, &plan),
            Err(error) => show::present_error(&error),
        }
    }

    fn place_of(&self, call: &ApprovalContext, path: &str) -> Option<PathBuf> {
        file_call::NAMES.contains(&call.tool_name.as_str()).then_some(())?;
        RootView::for_call(&self.roots, call).unresolved_path(path)
    }
}

fn assess(view: &RootView<'_>, call: &ApprovalContext, plan: &Plan) -> Assessment {
    let roots = plan.locations.iter().filter_map(|location| view.roots.all.get(location.root));
    let because = roots.map(|root| root.origin.clone()).collect();
    let facts = plan.facts();
    let base = if plan.approval == Approval::None {
        Assessment::harmless()
    } else {
        let mut payload = plan.payload(view);
        let patterns = if plan.is_shown() { Vec::new() } else { patterns(&payload) };
        if plan.is_shown() {
            // A remembered yes covers only the same change.
            let change = Digest::of(Value::Object(call.args.clone()).to_string());
            payload.insert("change".to_owned(), change.to_string().into());
        }
        let mut request = ApprovalRequest::new(&call.tool_name, plan.description(), Value::Object(payload));
        request.approval = plan.approval;
        request.facts = plan.why(view).into_iter().chain(facts.clone()).collect();
        request.risk = plan.risk;
        request.patterns = patterns;
        request.same = Some(plan.describe_same_calls(&call.tool_name));
        Assessment::needs_approval(request)
    };
    // The prompt shows the written content, but the audit log omits it.
    let written = ["content", "old", "new", "patch"].into_iter().filter(|key| call.args.contains_key(*key));
    let exclude_keys = written.map(str::to_owned).collect();
    Assessment { because, firm: true, facts, risk: plan.risk, exclude_keys, ..base }
}

/// Offers two patterns to remember an approval: everything in the same folder, and everything in the same root.
///
/// For a move or copy, each pattern covers the source and the target.
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

/// Returns true if running a call takes no longer than assessing it. Such a call needs no other thread.
#[must_use]
pub fn is_short(call: &ApprovalContext) -> bool {
    let limit = call.args.get("limit").map_or(Some(file_call::DEFAULT_READ), Value::as_u64);
    match call.tool_name.as_str() {
        "read_file" => limit.is_some_and(|limit| limit <= file_call::DEFAULT_READ),
        "stat_file" => true,
        _ => false,
    }
}

/// Executes a call. Fails if a file that it changes differs from the `observation`.
fn execute(
    view: &RootView<'_>,
    call: &FileCall,
    plan: &Plan,
    observation: Observation,
) -> Result<Value, CallError> {
    match call {
        FileCall::Read { offset, limit, encoding, .. } => {
            let location = plan.first()?;
            let (file, stat) = view.open_file(location)?;
            read::read_part(&file, &stat, &location.label, *offset, *limit, *encoding)
        }
        FileCall::Attach { receiver, .. } => {
            let location = plan.first()?;
            let (file, stat) = view.open_file(location)?;
            let size = handle::size_of(&stat);
            if size > file_call::MAX_READ {
                return Err(CallError::Failed(format!(
                    "`{}` is too large to attach: {size} bytes",
                    location.label
                )));
            }
            let bytes = read::read_bytes(&file, &location.label, 0, file_call::MAX_READ)?;
            let (content, encoding) = match show::as_text(&bytes) {
                Some(text) => (text.to_owned(), "utf-8"),
                None => (base64::encode(&bytes), "base64"),
            };
            let size = bytes.len();
            Ok(
                json!({"path": location.label, "receiver": receiver, "size": size, "encoding": encoding, "content": content}),
            )
        }
        FileCall::Write { content, .. } => {
            let location = plan.first()?;
            let target = write::Target::new(view, location)?.expecting(observation.digest);
            target.replace(|file| file.write_all(content))?;
            Ok(json!({"path": location.label, "bytes": content.len(), "new": location.object.is_none()}))
        }
        FileCall::Edit { edit, .. } => {
            let location = plan.first()?;
            let (_, new) = show::apply_edit(view, location, edit, observation.content)?;
            let target = write::Target::new(view, location)?.expecting(observation.digest);
            target.replace(|file| file.write_all(new.as_bytes()))?;
            Ok(json!({"path": location.label, "bytes": new.len()}))
        }
        FileCall::List { path: None, .. } => Ok(list::list_roots(view)),
        FileCall::List { glob, depth, limit, .. } => {
            list::list(view, plan.first()?, glob.as_deref(), *depth, *limit)
        }
        FileCall::Find { pattern, kind, glob, limit, .. } => {
            search::Search::new(pattern, *kind, glob.as_deref(), *limit)?.run(view, plan.first()?)
        }
        FileCall::Stat { .. } => stat(plan),
        FileCall::Make { .. } => change::make_folder(view, plan.first()?),
        FileCall::Move { existing, .. } => {
            let (from, to) = plan.source_and_target()?;
            change::move_object(view, from, to, *existing)
        }
        FileCall::Copy { existing, .. } => {
            let (from, to) = plan.source_and_target()?;
            change::copy(view, from, to, *existing)
        }
        FileCall::Delete { scope, .. } => change::delete(view, plan.first()?, *scope),
    }
}

fn stat(plan: &Plan) -> Result<Value, CallError> {
    let location = plan.first()?;
    let Some(object) = &location.object else {
        return Ok(json!({"path": location.label, "kind": "nothing"}));
    };
    let mut result = json!({
        "path": location.label,
        "kind": object.kind.as_str(),
        "size": location.size(),
        "modified": object.stat.st_mtime,
        "mode": format!("{:o}", object.stat.st_mode & 0o7777),
    });
    if let (Some(result), Some(requested)) = (result.as_object_mut(), &location.requested_label) {
        result.insert("asked".to_owned(), requested.clone().into());
    }
    Ok(result)
}
