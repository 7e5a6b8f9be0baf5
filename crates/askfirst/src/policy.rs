//! The policy: the owner's rules about tools, with an index, so that many rules are as fast as a few.

mod machine;
mod offer;
mod paths;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::call::ApprovalContext;
use crate::digest::Digest;
use crate::request::Template;
use crate::verdict::Because;
use crate::when::{BadGlob, Condition, Doubt, Glob, Test};
use crate::words::{Approval, Risk};
pub use machine::SandboxStatus;

/// Tools that can do anything, so only a `deny` glob covers them. They ask unless the config names them exactly.
pub const GUARDED: [&str; 4] = ["shell", "exec", "worker_call", "worker_create"];

/// One case of a config entry: an approval and other settings for calls that meet its conditions.
#[derive(Debug, Clone)]
pub struct Case {
    /// The approval value. `None` leaves it to less specific names, and then to the tool's own assessment.
    pub approval: Option<Approval>,
    /// Whether the tool's own assessment applies, even if a less specific name has an approval value.
    pub own_view: bool,
    /// The conditions. All of them must hold.
    pub when: Vec<Condition>,
    /// The lowest risk of the calls.
    pub risk: Option<Risk>,
    /// The description of requests.
    pub description: Option<Template>,
    /// Arguments that are shown, but go into neither memory nor the audit log.
    pub exclude_keys: Vec<String>,
    /// Options for an override.
    pub options: Map<String, Value>,
    /// The rule, with its file and line.
    pub origin: Because,
}

impl Case {
    /// Creates a case without conditions and other settings.
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

    /// Returns the argument of the first condition that does not hold.
    pub(crate) fn fails_on(&self, call: &ApprovalContext) -> Option<&str> {
        let doubt = if self.approval == Some(Approval::Deny) { Doubt::Matches } else { Doubt::Fails };
        let failing = self.when.iter().find(|condition| !condition.holds(call, doubt));
        failing.map(|condition| condition.field.as_str())
    }

    /// Whether the case leaves the decision to the tool, explicitly or because it is empty.
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

/// The config entry for a tool name or a glob: a list of cases, tried in order.
#[derive(Debug, Clone)]
pub struct ToolEntry {
    /// The name or glob.
    pub name: String,
    cases: Vec<Case>,
    by_text: BTreeMap<String, TextIndex>,
    others: Vec<usize>,
}

/// An index of the cases that compare one argument with plain texts.
#[derive(Debug, Clone, Default)]
struct TextIndex {
    texts: HashMap<String, Vec<usize>>,
    /// The cases that deny. If the argument is not a text, they may match in doubt.
    denying: Vec<usize>,
}

impl ToolEntry {
    /// Creates an entry from its cases.
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

    /// Returns the cases in order.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Returns the case that applies to a call: a `deny` whose conditions hold, or else the first case that holds.
    fn matching_case(&self, call: &ApprovalContext) -> Option<&Case> {
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

    /// Returns the cases that could hold, in order: those outside the index, and those under the call's values.
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

/// Returns the argument and the texts under which a case is indexed, if one of its conditions has only plain texts.
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

/// The rules of one config layer. Cloning is cheap, because clones share the rules.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    default_approval: Option<(Approval, Option<Because>)>,
    exact: Arc<HashMap<String, Vec<ToolEntry>>>,
    globs: Arc<HashMap<String, Vec<GlobEntry>>>,
    prefix_lengths: Vec<usize>,
}

impl Rules {
    /// Creates rules from entries and the default approval, for tools that have neither an entry nor a view.
    ///
    /// # Errors
    /// Fails if a name is an invalid glob.
    pub fn new(
        default_approval: Option<(Approval, Option<Because>)>,
        entries: impl IntoIterator<Item = ToolEntry>,
    ) -> Result<Self, BadGlob> {
        let (mut exact, mut globs) = (HashMap::new(), HashMap::new());
        for entry in entries {
            if Glob::is_plain(&entry.name) {
                // A duplicate name keeps both entries, so that no `deny` is lost.
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

    /// Removes the descriptions and excluded keys, so that the rules only decide.
    ///
    /// An untrusted config must not choose what a person reads or what the audit log omits.
    #[must_use]
    pub fn only_deciding(mut self) -> Self {
        let exact = Arc::make_mut(&mut self.exact).values_mut().flatten();
        let globs = Arc::make_mut(&mut self.globs).values_mut().flatten().map(|found| &mut found.entry);
        let cases = exact.chain(globs).flat_map(|entry| &mut entry.cases);
        cases.for_each(|case| (case.exclude_keys, case.description) = (Vec::new(), None));
        self
    }

    /// Returns the approval for tools that have neither an entry nor a view, if this layer sets one.
    #[must_use]
    pub fn default_approval(&self) -> Option<(Approval, Option<&Because>)> {
        self.default_approval.as_ref().map(|(approval, origin)| (*approval, origin.as_ref()))
    }

    /// Returns the entry with exactly this name, or the first of several.
    #[must_use]
    pub fn exact(&self, name: &str) -> Option<&ToolEntry> {
        self.exact.get(name).and_then(|entries| entries.first())
    }

    /// Iterates over all entries, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = &ToolEntry> {
        self.exact.values().flatten().chain(self.globs.values().flatten().map(|found| &found.entry))
    }

    /// Returns the cases that apply to a call, the most specific name first.
    pub(crate) fn matching_cases(&self, call: &ApprovalContext) -> MatchingCases<'_> {
        let name = call.tool_name.as_str();
        let mut matching = MatchingCases::default();
        for case in self.exact.get(name).into_iter().flatten().filter_map(|entry| entry.matching_case(call)) {
            matching.add(case, NameMatch::Exact);
        }
        for found in self.globs_for(name) {
            // For a guarded name, a glob counts only if it denies.
            let counts = |case: &&Case| case.approval == Some(Approval::Deny) || !GUARDED.contains(&name);
            if let Some(case) = found.entry.matching_case(call).filter(counts) {
                matching.add(case, NameMatch::Glob(found.specific));
            }
        }
        matching
    }

    /// Returns the globs that match a name, found by the text before their first wildcard.
    fn globs_for<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a GlobEntry> {
        let lengths = self.prefix_lengths.iter().take_while(|length| **length <= name.len());
        let prefixes = lengths.filter_map(|length| name.get(..*length));
        let buckets = prefixes.filter_map(|prefix| self.globs.get(prefix));
        buckets.flatten().filter(move |found| found.glob.is_match(name))
    }

    /// Returns the entries whose name matches a tool, the most specific first, and whether each covers the tool.
    ///
    /// A glob does not cover a guarded name, except with `deny`.
    pub(crate) fn entries_for(&self, name: &str) -> Vec<(&ToolEntry, bool)> {
        let exact = self.exact.get(name).into_iter().flatten().map(|entry| (entry, true));
        let mut globs: Vec<&GlobEntry> = self.globs_for(name).collect();
        globs.sort_by_key(|found| std::cmp::Reverse(found.specific));
        let covered = !GUARDED.contains(&name);
        exact.chain(globs.into_iter().map(|found| (&found.entry, covered))).collect()
    }

    /// Returns the conditions of all rules for a tool.
    fn conditions_for<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Condition> {
        let globs = self.globs_for(name).map(|found| &found.entry);
        let matching = self.exact.get(name).into_iter().flatten().chain(globs);
        matching.flat_map(|entry| entry.cases.iter().flat_map(|case| &case.when))
    }
}

/// How an entry's name matches a tool. The variants are ordered by how specific the match is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameMatch {
    Glob(usize),
    Exact,
}

/// The cases that apply to a call, the most specific name first. Usually there is one, which needs no allocation.
#[derive(Debug, Default)]
pub(crate) struct MatchingCases<'a> {
    first: Option<(&'a Case, NameMatch)>,
    rest: Vec<(&'a Case, NameMatch)>,
}

impl<'a> MatchingCases<'a> {
    fn add(&mut self, case: &'a Case, name_match: NameMatch) {
        let later = match self.first {
            Some(first) if first.1 >= name_match => Some((case, name_match)),
            first => {
                self.first = Some((case, name_match));
                first
            }
        };
        if let Some(later) = later {
            let at = self.rest.partition_point(|(_, known)| *known >= later.1);
            self.rest.insert(at, later);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a Case, NameMatch)> {
        self.first.into_iter().chain(self.rest.iter().copied())
    }

    pub(crate) fn cases(&self) -> impl Iterator<Item = &'a Case> {
        self.iter().map(|(case, _)| case)
    }

    /// Returns the highest risk of the cases.
    pub(crate) fn risk(&self) -> Risk {
        self.cases().filter_map(|case| case.risk).max().unwrap_or_default()
    }

    /// Returns a case that denies, if there is one.
    pub(crate) fn denial(&self) -> Option<&'a Case> {
        self.cases().find(|case| case.approval == Some(Approval::Deny))
    }
}

/// An override: a user's own decision point.
///
/// It replaces the approval values of the config and the tool's own assessment. It never replaces a block or a `deny`.
pub trait NeedsApproval: Send + Sync {
    /// Decides about a call. `case` is the config entry for the call, with its `options`.
    fn needs_approval(
        &self,
        call: &ApprovalContext,
        assessment: &crate::assess::Assessment,
        case: Option<&Case>,
    ) -> OverrideVerdict;

    /// Checks the `options` of a config entry when the policy is built.
    ///
    /// # Errors
    /// Fails with a reason if the options are invalid.
    fn check_options(&self, tool_name: &str, options: &Map<String, Value>) -> Result<(), String> {
        let _ = (tool_name, options);
        Ok(())
    }
}

/// The verdict of an override.
#[derive(Debug, Clone, PartialEq)]
pub enum OverrideVerdict {
    /// Run the call without asking.
    Allow,
    /// Ask with the default request.
    Ask,
    /// Ask with this request.
    AskWith(Box<crate::request::ApprovalRequest>),
    /// Deny the call for this reason.
    Deny(String),
}

#[doc(hidden)]
pub use self::{OverrideVerdict as Needs, SandboxStatus as Walls};

/// Everything that the judge applies: the main rules, the floors, the state of the sandbox and the override.
#[derive(Clone, Default)]
pub struct Policy {
    main: Rules,
    floors: Vec<Rules>,
    sandbox: SandboxStatus,
    probe_sandbox: Option<Arc<dyn Fn() -> SandboxStatus + Send + Sync>>,
    probe_rehearsal: Option<Arc<dyn Fn() -> Option<Arc<str>> + Send + Sync>>,
    decision_override: Option<Arc<dyn NeedsApproval>>,
    digest: Option<Digest>,
    folder: Option<PathBuf>,
    offer: Option<offer::Offer>,
    untrusted_tools: Arc<BTreeSet<String>>,
    has_path_tests: bool,
}

impl Policy {
    /// Creates a policy of one layer.
    #[must_use]
    pub fn new(main: Rules) -> Self {
        Self { main, ..Self::default() }.detect_path_tests()
    }

    /// Adds a layer that can only make the policy stricter.
    #[must_use]
    pub fn with_floor(mut self, floor: Rules) -> Self {
        self.floors.push(floor);
        self.detect_path_tests()
    }

    /// Sets the digest of the config that the policy comes from.
    #[must_use]
    pub fn with_digest(mut self, digest: Digest) -> Self {
        self.digest = Some(digest);
        self
    }

    /// Sets the override.
    ///
    /// # Errors
    /// Fails with the override's reason if it does not accept the `options` of an entry.
    pub fn with_override(mut self, decision_override: Arc<dyn NeedsApproval>) -> Result<Self, String> {
        for entry in self.main.entries() {
            for case in &entry.cases {
                decision_override
                    .check_options(&entry.name, &case.options)
                    .map_err(|reason| format!("`tools.{}.options`: {reason}", entry.name))?;
            }
        }
        self.decision_override = Some(decision_override);
        Ok(self)
    }

    /// Returns the main rules.
    #[must_use]
    pub fn main(&self) -> &Rules {
        &self.main
    }

    /// Returns the rules that can only make the policy stricter.
    #[must_use]
    pub fn floors(&self) -> &[Rules] {
        &self.floors
    }

    /// Returns the digest of the config that the policy comes from.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    pub(crate) fn decision_override(&self) -> Option<&dyn NeedsApproval> {
        self.decision_override.as_deref()
    }
}
