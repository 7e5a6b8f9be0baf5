//! Gitignore rules for paths.
//!
//! The comparison ignores case and equivalent Unicode spellings.
//! A rule for the content of a folder also covers the folder, so that no call can replace the folder.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::fold::{FoldedPath, fold_path, fold_text};

/// A rule is not a valid gitignore rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPathRule {
    /// The rule as written.
    pub rule: String,
    /// The cause.
    pub cause: String,
}

impl fmt::Display for BadPathRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid path rule `{}`: {}", self.rule, self.cause)
    }
}

impl std::error::Error for BadPathRule {}

/// Where a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleScope {
    /// At any depth.
    AnyDepth,
    /// Only at the top of the config's folder or of a root.
    Anchored,
    /// Only in the user's home folder.
    Home,
}

struct PathRule {
    /// The rule as written in the config.
    text: String,
    scope: RuleScope,
    /// The folded path, if the rule has no wildcards.
    plain: Option<String>,
    /// The folders above the last name, up to the first wildcard. For `a/b/c`, these are `a` and `a/b`.
    parents: Vec<String>,
}

/// One list of rules.
pub struct PathRules {
    all: Vec<PathRule>,
    /// The indexes of the rules without wildcards, by the first name of each.
    by_name: HashMap<String, Vec<usize>>,
    /// The last name of each rule without wildcards.
    last_names: HashSet<String>,
    /// The globs, each with the index of its rule. Each rule has one glob for its path and one for everything below.
    globs: Vec<(usize, Glob)>,
    /// For each rule with wildcards, a text that all matches contain, or an empty text.
    required_texts: Vec<String>,
    /// The compiled globs, built on first use. `None` if they are too large to compile.
    set: OnceLock<Option<GlobSet>>,
}

/// The names of one path that rules are compared with.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// The path from the config's folder or, if it is not in there, from the folder above the root.
    pub whole: &'a Path,
    /// The path from the root.
    pub in_root: &'a Path,
    /// The path from the user's home folder, if it is in there.
    pub in_home: Option<&'a Path>,
}

impl PathRules {
    /// Reads rules.
    ///
    /// # Errors
    /// Fails if a rule is invalid.
    pub fn new(rules: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, BadPathRule> {
        let mut list = Self {
            all: Vec::new(),
            by_name: HashMap::new(),
            last_names: HashSet::new(),
            globs: Vec::new(),
            required_texts: Vec::new(),
            set: OnceLock::new(),
        };
        for rule in rules {
            list.add(rule.as_ref())?;
        }
        Ok(list)
    }

    fn add(&mut self, rule: &str) -> Result<(), BadPathRule> {
        let fault = |cause: String| BadPathRule { rule: rule.to_owned(), cause };
        let (scope, text) = match (rule.strip_prefix("~/"), rule.starts_with('/')) {
            (Some(rest), _) => (RuleScope::Home, rest),
            (None, true) => (RuleScope::Anchored, rule),
            (None, false) => (RuleScope::AnyDepth, rule),
        };
        let text = text.trim_start_matches('/').trim_end_matches('/');
        let text = fold_text(text.strip_suffix("/**").unwrap_or(text));
        if text.is_empty() {
            return Err(fault("it names no file or folder".to_owned()));
        }
        let is_plain = !text.contains(['*', '?', '[', ']', '{', '}', '\\', '!']) && !text.contains("//");
        if is_plain {
            let name = text.split('/').next().unwrap_or_default().to_owned();
            self.by_name.entry(name).or_default().push(self.all.len());
            self.last_names.insert(text.rsplit('/').next().unwrap_or_default().to_owned());
        } else {
            self.required_texts.push(required_text(&text).to_owned());
            let head = if scope != RuleScope::AnyDepth || text.starts_with("**/") { "" } else { "**/" };
            for tail in ["", "/**"] {
                let glob = GlobBuilder::new(&format!("{head}{text}{tail}"))
                    .literal_separator(true)
                    .case_insensitive(true)
                    .backslash_escape(true)
                    .build()
                    .map_err(|e| fault(e.kind().to_string()))?;
                self.globs.push((self.all.len(), glob));
            }
        }
        let parents = parents(&text);
        self.all.push(PathRule { text: rule.to_owned(), scope, plain: is_plain.then_some(text), parents });
        Ok(())
    }

    /// Returns true if the wildcards of the rules can be compiled.
    #[cfg(test)]
    pub(crate) fn compiles(&self) -> bool {
        self.set().is_some()
    }

    fn set(&self) -> Option<&GlobSet> {
        let build = || {
            let mut set = GlobSetBuilder::new();
            for (_, glob) in &self.globs {
                set.add(glob.clone());
            }
            set.build().ok()
        };
        self.set.get_or_init(build).as_ref()
    }

    /// Returns true if there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns a rule that applies to the user's home folder, if there is one.
    #[must_use]
    pub fn about_home(&self) -> Option<&str> {
        self.all.iter().find(|rule| rule.scope == RuleScope::Home).map(|rule| rule.text.as_str())
    }

    /// Returns true if a rule may cover this name in a folder that no rule covers. False is certain.
    #[must_use]
    pub fn may_end_in(&self, name: &OsStr) -> bool {
        if !self.globs.is_empty() {
            return true;
        }
        match fold_path(Path::new(name)) {
            FoldedPath::Single(name) => self.last_names.contains(&*name),
            FoldedPath::Both(lower, folded) => {
                self.last_names.contains(&lower) || self.last_names.contains(&folded)
            }
        }
    }

    /// Finds the rule without a leading slash that covers a folded path.
    pub(crate) fn covering_at_any_depth(&self, folded: &str) -> Option<&str> {
        self.find_covering_text(folded, &[RuleScope::AnyDepth])
    }

    /// Finds the rule that covers a path.
    #[must_use]
    pub fn find_covering(&self, names: Names<'_>) -> Option<&str> {
        self.find_by_names(names, |text, scopes| self.find_covering_text(text, scopes))
    }

    /// Finds a rule whose parent folder is this path. A link here would lead to the paths that the rule covers.
    #[must_use]
    pub fn find_below(&self, names: Names<'_>) -> Option<&str> {
        self.find_by_names(names, |text, scopes| {
            let has_parent = |rule: &&PathRule| {
                rule.parents.iter().any(|parent| match (text.strip_suffix(parent.as_str()), rule.scope) {
                    (None, _) => false,
                    (Some(above), RuleScope::AnyDepth) => above.is_empty() || above.ends_with('/'),
                    (Some(above), RuleScope::Anchored | RuleScope::Home) => above.is_empty(),
                })
            };
            let mut rules = self.all.iter().filter(|rule| scopes.contains(&rule.scope));
            rules.find(has_parent).map(|rule| rule.text.as_str())
        })
    }

    /// Calls `find` for each name of a path, with the scopes of the rules that apply to that name.
    fn find_by_names<'r>(
        &self,
        names: Names<'_>,
        find: impl Fn(&str, &[RuleScope]) -> Option<&'r str>,
    ) -> Option<&'r str> {
        if self.all.is_empty() {
            return None;
        }
        let by = |path: &Path, scopes: &[RuleScope]| match fold_path(path) {
            FoldedPath::Single(text) => find(&text, scopes),
            FoldedPath::Both(lower, folded) => find(&lower, scopes).or_else(|| find(&folded, scopes)),
        };
        by(names.whole, &[RuleScope::AnyDepth, RuleScope::Anchored])
            .or_else(|| by(names.in_root, &[RuleScope::Anchored]))
            .or_else(|| names.in_home.and_then(|path| by(path, &[RuleScope::Home])))
    }

    fn find_covering_text(&self, text: &str, scopes: &[RuleScope]) -> Option<&str> {
        let applies = |rule: &&PathRule| scopes.contains(&rule.scope);
        let covers = |(rest, depth): (&str, usize), rule: &PathRule| match (&rule.plain, rule.scope) {
            (None, _) => false,
            (Some(plain), RuleScope::AnyDepth) => is_at_or_below(rest, plain),
            (Some(plain), RuleScope::Anchored | RuleScope::Home) => depth == 0 && is_at_or_below(rest, plain),
        };
        let mut rest = Some(text);
        for depth in 0.. {
            let Some(from) = rest else { break };
            let (name, below) = from.split_once('/').map_or((from, None), |(name, rest)| (name, Some(rest)));
            let rules = self.by_name.get(name).into_iter().flatten().filter_map(|rule| self.all.get(*rule));
            if let Some(rule) = rules.filter(applies).find(|rule| covers((from, depth), rule)) {
                return Some(&rule.text);
            }
            rest = below;
        }
        let rule_text = |index: usize| self.all.get(index).filter(applies).map(|rule| rule.text.as_str());
        let mut globs = self.globs.iter();
        match self.set() {
            _ if !self.required_texts.iter().any(|required| text.contains(required.as_str())) => None,
            Some(set) => set
                .matches(text)
                .into_iter()
                .find_map(|glob| self.globs.get(glob).and_then(|(rule, _)| rule_text(*rule))),
            // Without compiled globs, the path counts as covered.
            None => globs.find_map(|(rule, _)| rule_text(*rule)),
        }
    }
}

/// Returns the folders above the last name of a rule, up to the first wildcard.
fn parents(text: &str) -> Vec<String> {
    let parents = text.match_indices('/').filter_map(|(at, _)| text.get(..at));
    let is_plain = |parent: &&str| !parent.is_empty() && !parent.contains(['*', '?', '[', '{', '\\', '!']);
    parents.take_while(is_plain).map(str::to_owned).collect()
}

/// Returns the longest text that every match of a glob contains.
fn required_text(glob: &str) -> &str {
    // The text in brackets or braces is optional.
    if glob.contains(['[', ']', '{', '}', '\\', '!']) {
        return "";
    }
    glob.split(['*', '?', '/']).max_by_key(|part| part.len()).unwrap_or_default()
}

/// Returns true if a path equals `rule` or is below it.
fn is_at_or_below(path: &str, rule: &str) -> bool {
    path.strip_prefix(rule).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
#[path = "path_rules/tests.rs"]
mod tests;
