//! The owner's rules about tools, indexed so that their number does not matter.

mod offer;
mod paths;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::call::ApprovalContext;
use crate::digest::Digest;
use crate::request::Template;
use crate::verdict::Because;
use crate::when::{BadGlob, Condition, Doubt, Glob, Test};
use crate::words::{Approval, Risk};

/// Names that no glob covers but with `deny`, because they can do anything. They ask unless they are named exactly.
pub const GUARDED: [&str; 4] = ["shell", "exec", "worker_call", "worker_create"];

/// One case of an entry: what holds if its conditions do.
#[derive(Debug, Clone)]
pub struct Case {
    /// The approval; nothing leaves it to less specific names, and then to the tool's own view.
    pub approval: Option<Approval>,
    /// Whether it says that the tool's own view holds, whatever less specific names say.
    pub own_view: bool,
    /// The conditions, all of which must hold.
    pub when: Vec<Condition>,
    /// The least risk.
    pub risk: Option<Risk>,
    /// The description of requests.
    pub description: Option<Template>,
    /// Keys that are shown but neither remembered nor recorded.
    pub exclude_keys: Vec<String>,
    /// Handed to an override.
    pub options: Map<String, Value>,
    /// Where it stands.
    pub origin: Because,
}

impl Case {
    /// A case that says nothing yet.
    #[must_use]
    pub fn new(approval: Option<Approval>, origin: Because) -> Self {
        Self {
            approval,
            own_view: false,
            when: Vec::new(),
            risk: None,
            description: None,
            exclude_keys: Vec::new(),
            options: Map::new(),
            origin,
        }
    }

    fn holds(&self, call: &ApprovalContext) -> bool {
        self.fails_on(call).is_none()
    }

    /// The argument of the first condition that does not hold.
    pub(crate) fn fails_on(&self, call: &ApprovalContext) -> Option<&str> {
        let doubt = if self.approval == Some(Approval::Deny) { Doubt::Matches } else { Doubt::Fails };
        let failing = self.when.iter().find(|condition| !condition.holds(call, doubt));
        failing.map(|condition| condition.field.as_str())
    }

    /// Whether it leaves the word to the tool: it says so, or nothing at all.
    pub(crate) fn is_own_view(&self) -> bool {
        let empty = self.risk.is_none()
            && self.description.is_none()
            && self.exclude_keys.is_empty()
            && self.options.is_empty();
        self.approval.is_none() && (self.own_view || empty)
    }

    fn denies_with_conditions(&self) -> bool {
        self.approval == Some(Approval::Deny) && !self.when.is_empty()
    }
}

/// What the config says about a name or a glob of names: cases, tried in order.
#[derive(Debug, Clone)]
pub struct ToolEntry {
    /// The name or glob.
    pub name: String,
    cases: Vec<Case>,
    by_text: BTreeMap<String, Index>,
    others: Vec<usize>,
}

/// The cases that ask for a text in one argument.
#[derive(Debug, Clone, Default)]
struct Index {
    texts: HashMap<String, Vec<usize>>,
    /// Those that deny: they may hold in doubt where the argument is no text.
    denying: Vec<usize>,
}

impl ToolEntry {
    /// An entry of cases.
    #[must_use]
    pub fn new(name: impl Into<String>, cases: Vec<Case>) -> Self {
        let mut entry = Self { name: name.into(), cases, by_text: BTreeMap::new(), others: Vec::new() };
        for (at, case) in entry.cases.iter().enumerate() {
            match index_key(case) {
                Some((field, texts)) => {
                    let index = entry.by_text.entry(field).or_default();
                    texts.into_iter().for_each(|text| index.texts.entry(text).or_default().push(at));
                    index.denying.extend(case.denies_with_conditions().then_some(at));
                }
                None => entry.others.push(at),
            }
        }
        entry
    }

    /// The cases, in order.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The case that speaks for a call: the first that holds, but a `deny` with conditions that hold speaks from
    /// wherever it stands.
    fn speaks(&self, call: &ApprovalContext) -> Option<&Case> {
        let mut first: Option<&Case> = None;
        for case in self.candidates(call).iter().filter_map(|at| self.cases.get(*at)) {
            if (first.is_none() || case.denies_with_conditions()) && case.holds(call) {
                if case.denies_with_conditions() {
                    return Some(case);
                }
                first = Some(case);
            }
        }
        first
    }

    /// The cases that could hold, in order: those without an index and those indexed under the call's values.
    fn candidates(&self, call: &ApprovalContext) -> Cow<'_, [usize]> {
        let mut found = Cow::Borrowed(self.others.as_slice());
        for (field, index) in &self.by_text {
            let values = match call.args.get(field) {
                Some(Value::Array(items)) => items.as_slice(),
                Some(value) => std::slice::from_ref(value),
                None => &[],
            };
            let doubtful = values.iter().any(|value| !value.is_string()).then_some(&index.denying);
            let texts = values.iter().filter_map(Value::as_str);
            for cases in texts.filter_map(|text| index.texts.get(text)).chain(doubtful) {
                if found.is_empty() {
                    found = Cow::Borrowed(cases);
                } else {
                    found.to_mut().extend(cases);
                }
            }
        }
        if let Cow::Owned(found) = &mut found {
            found.sort_unstable();
            found.dedup();
        }
        found
    }
}

/// The argument and texts under which a case can be found: one of its conditions tests for plain texts only.
fn index_key(case: &Case) -> Option<(String, Vec<String>)> {
    case.when.iter().find_map(|condition| {
        let text = |test: &Test| match test {
            Test::Exact(Value::String(text)) => Some(text.clone()),
            Test::Exact(_) | Test::Glob(_) | Test::Path(_) => None,
        };
        let texts = condition.any_of.iter().map(text).collect::<Option<Vec<_>>>()?;
        Some((condition.field.clone(), texts))
    })
}

#[derive(Debug, Clone)]
struct GlobEntry {
    glob: Glob,
    entry: ToolEntry,
    specific: usize,
}

/// The rules of one layer of config. A clone is the same rules, not a copy of them.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    default_approval: Option<(Approval, Option<Because>)>,
    exact: Arc<HashMap<String, Vec<ToolEntry>>>,
    globs: Arc<HashMap<String, Vec<GlobEntry>>>,
    prefix_lengths: Vec<usize>,
}

impl Rules {
    /// Rules from entries and the approval of tools that nobody speaks for.
    ///
    /// # Errors
    /// Fails if a name is a glob that cannot be read.
    pub fn new(
        default_approval: Option<(Approval, Option<Because>)>,
        entries: impl IntoIterator<Item = ToolEntry>,
    ) -> Result<Self, BadGlob> {
        let (mut exact, mut globs) = (HashMap::new(), HashMap::new());
        for entry in entries {
            if Glob::is_plain(&entry.name) {
                // A name that stands twice keeps both entries, so that no `deny` is lost.
                exact.entry(entry.name.clone()).or_insert_with(|| Vec::with_capacity(1)).push(entry);
                continue;
            }
            let prefix = Glob::literal_prefix(&entry.name).to_owned();
            let specific = Glob::literal_length(&entry.name);
            let glob = Glob::of_names(&entry.name)?;
            globs.entry(prefix).or_insert_with(Vec::new).push(GlobEntry { glob, entry, specific });
        }
        let mut prefix_lengths: Vec<usize> = globs.keys().map(String::len).collect();
        prefix_lengths.sort_unstable();
        prefix_lengths.dedup();
        Ok(Self { default_approval, exact: exact.into(), globs: globs.into(), prefix_lengths })
    }

    /// The same rules, but that they leave no argument out of memory and record, and describe no call.
    #[must_use]
    pub fn only_deciding(mut self) -> Self {
        let exact = Arc::make_mut(&mut self.exact).values_mut().flatten();
        let globs = Arc::make_mut(&mut self.globs).values_mut().flatten().map(|found| &mut found.entry);
        let cases = exact.chain(globs).flat_map(|entry| &mut entry.cases);
        cases.for_each(|case| (case.exclude_keys, case.description) = (Vec::new(), None));
        self
    }

    /// The approval of tools that nobody speaks for, if this layer says so.
    #[must_use]
    pub fn default_approval(&self) -> Option<(Approval, Option<&Because>)> {
        self.default_approval.as_ref().map(|(approval, origin)| (*approval, origin.as_ref()))
    }

    /// The entry with exactly this name, the first if there are several.
    #[must_use]
    pub fn exact(&self, name: &str) -> Option<&ToolEntry> {
        self.exact.get(name).and_then(|entries| entries.first())
    }

    /// All entries, in no order.
    pub fn entries(&self) -> impl Iterator<Item = &ToolEntry> {
        self.exact.values().flatten().chain(self.globs.values().flatten().map(|found| &found.entry))
    }

    /// The cases that speak for a call, most specific name first.
    pub(crate) fn speaking(&self, call: &ApprovalContext) -> Spoken<'_> {
        let name = call.tool_name.as_str();
        let mut spoken = Spoken::default();
        for case in self.exact.get(name).into_iter().flatten().filter_map(|entry| entry.speaks(call)) {
            spoken.add(case, Named::Exactly);
        }
        for found in self.globs_for(name) {
            // Of globs, a guarded name hears `deny` alone.
            let heard = |case: &&Case| case.approval == Some(Approval::Deny) || !GUARDED.contains(&name);
            if let Some(case) = found.entry.speaks(call).filter(heard) {
                spoken.add(case, Named::ByGlob(found.specific));
            }
        }
        spoken
    }

    /// The globs that match a name, found by what stands before their first wildcard.
    fn globs_for<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a GlobEntry> {
        let lengths = self.prefix_lengths.iter().take_while(|length| **length <= name.len());
        let prefixes = lengths.filter_map(|length| name.get(..*length));
        let buckets = prefixes.filter_map(|prefix| self.globs.get(prefix));
        buckets.flatten().filter(move |found| found.glob.is_match(name))
    }

    /// The entries that name a tool, most specific first, and whether they cover it: a guarded name hears
    /// nothing but `deny` of a glob.
    pub(crate) fn naming(&self, name: &str) -> Vec<(&ToolEntry, bool)> {
        let exact = self.exact.get(name).into_iter().flatten().map(|entry| (entry, true));
        let mut globs: Vec<&GlobEntry> = self.globs_for(name).collect();
        globs.sort_by_key(|found| std::cmp::Reverse(found.specific));
        let covered = !GUARDED.contains(&name);
        exact.chain(globs.into_iter().map(|found| (&found.entry, covered))).collect()
    }

    /// Arguments of a tool that are tested as paths.
    fn path_fields<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let globs = self.globs_for(name).map(|found| &found.entry);
        let matching = self.exact.get(name).into_iter().flatten().chain(globs);
        let conditions = matching.flat_map(|entry| entry.cases.iter().flat_map(|case| &case.when));
        conditions.filter(|condition| condition.wants_path()).map(|condition| condition.field.as_str())
    }
}

/// How an entry names a tool. The order is the order of being specific.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    ByGlob(usize),
    Exactly,
}

/// The cases that speak for a call, most specific name first. Most often there is one, which takes no memory.
#[derive(Debug, Default)]
pub(crate) struct Spoken<'a> {
    first: Option<(&'a Case, Named)>,
    rest: Vec<(&'a Case, Named)>,
}

impl<'a> Spoken<'a> {
    fn add(&mut self, case: &'a Case, named: Named) {
        let later = match self.first {
            Some(first) if first.1 >= named => Some((case, named)),
            first => {
                self.first = Some((case, named));
                first
            }
        };
        if let Some(later) = later {
            let at = self.rest.partition_point(|(_, known)| *known >= later.1);
            self.rest.insert(at, later);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a Case, Named)> {
        self.first.into_iter().chain(self.rest.iter().copied())
    }

    pub(crate) fn cases(&self) -> impl Iterator<Item = &'a Case> {
        self.iter().map(|(case, _)| case)
    }

    /// The greatest risk that one of them names.
    pub(crate) fn risk(&self) -> Risk {
        self.cases().filter_map(|case| case.risk).max().unwrap_or_default()
    }

    /// One that denies.
    pub(crate) fn denial(&self) -> Option<&'a Case> {
        self.cases().find(|case| case.approval == Some(Approval::Deny))
    }
}

/// What holds about the walls for calls that start a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Walls {
    /// They hold, or the owner accepts that they don't.
    Settled,
    /// They don't hold, and nobody said that this is fine: nothing starts unasked.
    #[default]
    Missing,
    /// They don't hold, and the config demands them: nothing starts.
    Demanded,
}

/// A user's own decision point. It replaces the config's and the tool's word, never a block or a `deny`.
pub trait NeedsApproval: Send + Sync {
    /// Decides about a call. `case` is the config's entry for it, with its `options`.
    fn needs_approval(
        &self,
        call: &ApprovalContext,
        assessment: &crate::assess::Assessment,
        case: Option<&Case>,
    ) -> Needs;

    /// Checks the `options` of a config entry when the policy is put together.
    ///
    /// # Errors
    /// Fails with a reason if the options make no sense.
    fn check_options(&self, tool_name: &str, options: &Map<String, Value>) -> Result<(), String> {
        let _ = (tool_name, options);
        Ok(())
    }
}

/// What an override decides.
#[derive(Debug, Clone, PartialEq)]
pub enum Needs {
    /// Run without asking.
    Allow,
    /// Ask, with the request that would be made anyway.
    Ask,
    /// Ask with this request.
    AskWith(Box<crate::request::ApprovalRequest>),
    /// Never.
    Deny(String),
}

/// Everything the judge knows: the rules that speak, the floors under them, the walls, the override.
#[derive(Clone, Default)]
pub struct Policy {
    main: Rules,
    floors: Vec<Rules>,
    walls: Walls,
    find_walls: Option<Arc<dyn Fn() -> Walls + Send + Sync>>,
    overriding: Option<Arc<dyn NeedsApproval>>,
    digest: Option<Digest>,
    folder: Option<PathBuf>,
    offer: Option<offer::Offer>,
    path_tests: bool,
}

impl Policy {
    /// A policy of one layer.
    #[must_use]
    pub fn new(main: Rules) -> Self {
        Self { main, ..Self::default() }.noted()
    }

    /// The same with a layer that can only make it stricter.
    #[must_use]
    pub fn with_floor(mut self, floor: Rules) -> Self {
        self.floors.push(floor);
        self.noted()
    }

    /// The same with what holds about the walls.
    #[must_use]
    pub fn with_walls(mut self, walls: Walls) -> Self {
        (self.walls, self.find_walls) = (walls, None);
        self
    }

    /// The same with somebody to ask what holds about the walls, whenever a call would start a process.
    #[must_use]
    pub fn with_walls_found_by(mut self, find: impl Fn() -> Walls + Send + Sync + 'static) -> Self {
        self.find_walls = Some(Arc::new(find));
        self
    }

    /// The same with the digest of the config it was made from.
    #[must_use]
    pub fn with_digest(mut self, digest: Digest) -> Self {
        self.digest = Some(digest);
        self
    }

    /// The same with a user's own decision point.
    ///
    /// # Errors
    /// Fails with the override's reason if it does not accept the `options` of an entry.
    pub fn with_override(mut self, overriding: Arc<dyn NeedsApproval>) -> Result<Self, String> {
        for entry in self.main.entries() {
            for case in &entry.cases {
                overriding
                    .check_options(&entry.name, &case.options)
                    .map_err(|reason| format!("`tools.{}.options`: {reason}", entry.name))?;
            }
        }
        self.overriding = Some(overriding);
        Ok(self)
    }

    /// The rules that speak.
    #[must_use]
    pub fn main(&self) -> &Rules {
        &self.main
    }

    /// The rules that can only make it stricter.
    #[must_use]
    pub fn floors(&self) -> &[Rules] {
        &self.floors
    }

    /// What holds about the walls.
    #[must_use]
    pub fn walls(&self) -> Walls {
        self.find_walls.as_ref().map_or(self.walls, |find| find())
    }

    /// The digest of the config it was made from.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    pub(crate) fn overriding(&self) -> Option<&dyn NeedsApproval> {
        self.overriding.as_deref()
    }
}
