//! The rules of one layer, indexed by program and first word, so that their number does not matter.

use std::collections::HashMap;

use askfirst::{Approval, Because, Risk};
use regex::bytes::{Regex, RegexBuilder};

use super::pattern::{Exact, Pattern};

/// Whether commands may use the network. Variants are ordered by strictness, so `max` gives the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum NetworkAccess {
    /// They may, without asking.
    None,
    /// A person must approve each call that uses it.
    Required,
    /// They may not.
    #[default]
    Deny,
}

impl NetworkAccess {
    /// All values, the least strict first.
    pub const ALL: [Self; 3] = [Self::None, Self::Required, Self::Deny];

    /// Returns true if commands may use the network without asking.
    #[must_use]
    pub fn is_free(self) -> bool {
        self == Self::None
    }

    /// Returns the word for it in a config file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Required => "required",
            Self::Deny => "deny",
        }
    }
}

impl std::fmt::Display for NetworkAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One shell rule of a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellRule {
    /// The pattern as written.
    pub pattern: String,
    /// The words of the pattern, unquoted.
    pub words: Vec<String>,
    /// Whether nothing may follow the words.
    pub exact: bool,
    /// The approval value.
    pub approval: Approval,
    /// The description of requests.
    pub description: Option<String>,
    /// The minimum risk.
    pub risk: Option<Risk>,
    /// The rule applies only if the folder and every path are in these roots.
    pub sandbox_paths: Vec<String>,
    /// Whether commands that match may use the network. `None` means that the layer's own value applies.
    pub network: Option<NetworkAccess>,
    /// Where the config defines it.
    pub origin: Because,
}

/// The values that one config layer has for commands. A floor leaves out the values that its file does not give.
#[derive(Debug, Default)]
pub struct LayerValues {
    /// Approval for commands that no rule covers.
    pub default: Option<Approval>,
    /// Approval for commands that only read.
    pub known_read_only: Option<Approval>,
    /// Approval for paths outside every root.
    pub outside_roots: Option<Approval>,
    /// Network access of commands whose rule has no value of its own. The strictest of all layers applies.
    pub network: Option<NetworkAccess>,
    /// Where the config gives these values, by key.
    pub origins: HashMap<&'static str, Because>,
    /// The rules, in order.
    pub rules: Vec<ShellRule>,
    /// Regular expressions that force `required` even over a rule (an older spelling).
    pub dangerous_patterns: Vec<(String, Because)>,
}

/// A dangerous pattern is not a regular expression.
pub type BadPattern = regex::Error;

/// One rule, ready to match.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) pattern: Pattern,
    pub(super) config: ShellRule,
}

/// What one layer says about commands.
#[derive(Debug)]
pub struct Layer {
    rules: Vec<Rule>,
    allows: Index,
    denies: Index,
    dangerous: Vec<(Regex, Because)>,
    /// What no rule speaks for; nothing if the layer does not say.
    pub(crate) default: Option<Approval>,
    pub(super) known_read_only: Option<Approval>,
    pub(super) outside_roots: Option<Approval>,
    /// Whether commands may use the network, unless their rule says something else.
    pub(super) network: Option<NetworkAccess>,
    /// Where the plain values stand.
    origins: HashMap<&'static str, Because>,
}

/// Rules by program, and those among them that name a plain second word by that, too.
#[derive(Debug, Default)]
struct Index {
    by_program: HashMap<String, Group>,
    wild: Vec<usize>,
}

#[derive(Debug, Default)]
struct Group {
    all: Vec<usize>,
    by_word: HashMap<String, Vec<usize>>,
    other: Vec<usize>,
}

impl Index {
    fn add(&mut self, at: usize, pattern: &Pattern) {
        let Some(program) = pattern.program() else { return self.wild.push(at) };
        let group = self.by_program.entry(program.to_owned()).or_default();
        group.all.push(at);
        let second = pattern.words.get(1).and_then(|word| word.glob.plain());
        match second.filter(|word| is_name(word)) {
            Some(word) => group.by_word.entry(word.to_owned()).or_default().push(at),
            None => group.other.push(at),
        }
    }

    /// The rules that may speak about a program with these words, in order.
    fn find<'a>(&self, program: &str, words: impl Iterator<Item = &'a str>) -> Vec<usize> {
        let mut found = self.wild.clone();
        if let Some(group) = self.by_program.get(program) {
            found.extend(&group.other);
            if !group.by_word.is_empty() {
                words.filter_map(|word| group.by_word.get(word)).for_each(|rules| found.extend(rules));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Every rule about a program, in order.
    fn all(&self, program: &str) -> Vec<usize> {
        let group = self.by_program.get(program).map(|group| group.all.as_slice()).unwrap_or_default();
        let mut found: Vec<usize> = self.wild.iter().chain(group).copied().collect();
        found.sort_unstable();
        found
    }
}

/// A word that can be looked up as it stands: no path, no option.
fn is_name(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-');
    !word.is_empty() && !word.starts_with('-') && word.chars().all(plain)
}

impl Layer {
    /// The layer, with its rules ready to match.
    ///
    /// # Errors
    /// Fails if one of the dangerous patterns is not a regular expression.
    pub fn new(values: LayerValues) -> Result<Self, BadPattern> {
        let mut layer = Self {
            rules: Vec::new(),
            allows: Index::default(),
            denies: Index::default(),
            dangerous: Vec::new(),
            default: values.default,
            known_read_only: values.known_read_only,
            outside_roots: values.outside_roots,
            network: values.network,
            origins: values.origins,
        };
        for (text, because) in values.dangerous_patterns {
            let regex = RegexBuilder::new(&text).unicode(false).size_limit(1 << 20).build()?;
            layer.dangerous.push((regex, because));
        }
        for rule in values.rules {
            layer.add(rule);
        }
        Ok(layer)
    }

    fn add(&mut self, rule: ShellRule) {
        let exact = if rule.exact { Exact::Yes } else { Exact::No };
        let pattern = Pattern::new(&rule.words, exact);
        let index = match rule.approval {
            Approval::Deny => &mut self.denies,
            Approval::None
            | Approval::Rehearse
            | Approval::OncePerSession
            | Approval::Required
            | Approval::Human => &mut self.allows,
        };
        index.add(self.rules.len(), &pattern);
        self.rules.push(Rule { pattern, config: rule });
    }

    /// Rules that do not deny and may speak about a program with these words, in order.
    pub(super) fn allows<'a>(
        &self,
        program: &str,
        words: impl Iterator<Item = &'a str>,
    ) -> Vec<(usize, &Rule)> {
        self.rules_at(self.allows.find(program, words))
    }

    /// Rules that deny and may speak about a program with these words.
    pub(super) fn denies<'a>(
        &self,
        program: &str,
        words: Option<impl Iterator<Item = &'a str>>,
    ) -> Vec<(usize, &Rule)> {
        self.rules_at(match words {
            Some(words) => self.denies.find(program, words),
            None => self.denies.all(program),
        })
    }

    /// Whether any rule denies.
    pub(super) fn denies_something(&self) -> bool {
        self.denies.wild.len() + self.denies.by_program.len() > 0
    }

    /// Every rule that denies.
    pub(super) fn all_denies(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(|rule| rule.config.approval == Approval::Deny)
    }

    fn rules_at(&self, at: Vec<usize>) -> Vec<(usize, &Rule)> {
        at.into_iter().filter_map(|at| Some((at, self.rules.get(at)?))).collect()
    }

    /// The older expressions that a text matches.
    pub(super) fn dangerous(&self, text: &str) -> impl Iterator<Item = &Because> {
        let found = self.dangerous.iter().filter(move |(regex, _)| regex.is_match(text.as_bytes()));
        found.map(|(_, because)| because)
    }

    /// What is asked about a command whose effect is not understood: a rehearsal shows what it does, if the layer wants
    /// that; otherwise a person decides.
    pub(super) fn unclear(&self) -> Approval {
        if self.default == Some(Approval::Rehearse) { Approval::Rehearse } else { Approval::Required }
    }

    /// Whether a rule has commands rehearsed.
    pub(super) fn rehearses_by_rule(&self) -> bool {
        self.rules.iter().any(|rule| rule.config.approval == Approval::Rehearse)
    }

    /// Where a plain value stands.
    pub(super) fn origin(&self, key: &str) -> Option<&Because> {
        self.origins.get(key)
    }
}
