//! The rules for paths that are never read or written, even inside a root: gitignore rules and a built-in list.
//!
//! The comparison ignores case and equivalent Unicode spellings.
//! A rule for the content of a folder also covers the folder, so that no call can replace the folder.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::error::FilesError;
use super::fold::{FoldedPath, fold_path, fold_text};

pub use self::NeverRules as Never;

/// The built-in list: files that can run a program when a user opens a folder, starts a shell, builds or commits.
///
/// These files are never written.
pub const NEVER_WRITE: [&str; 125] = [
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/worktrees/**/config.worktree",
    ".git/**/commondir",
    ".git/info/attributes",
    ".git/modules/**/hooks",
    ".git/modules/**/config",
    ".githooks",
    ".husky",
    ".huskyrc",
    ".huskyrc.*",
    ".gitconfig",
    ".gitmodules",
    ".config/git",
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".hg/sharedpath",
    ".sl/config",
    ".sl/sharedpath",
    ".jj/repo/config.toml",
    ".jj/workspace-config.toml",
    ".hgrc",
    ".ssh",
    ".gnupg",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".envrc",
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".vimrc",
    ".lvimrc",
    ".lazy.lua",
    ".helix",
    ".emacs",
    ".emacs.d",
    ".dir-locals.el",
    ".dir-locals-2.el",
    ".cursor",
    ".cursorrules",
    ".windsurf",
    ".windsurfrules",
    ".clinerules",
    ".roo",
    ".continue",
    ".aider.conf.yml",
    ".tmux.conf",
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    "lefthook.jsonc",
    "lefthook-local.*",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".lefthook.toml",
    ".lefthook.json",
    ".lefthook.jsonc",
    ".lefthook-local.*",
    ".lefthook-local",
    ".lefthook",
    ".claude",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".kiro",
    ".codex",
    ".gemini",
    ".mcp.json",
    "askfirst.yaml",
    ".config/askfirst",
    ".cargo/config",
    ".cargo/config.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/releases",
    ".yarn/plugins",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".mise",
    ".mise.local.toml",
    "mise.local.toml",
    "mise/config.toml",
    ".config/mise",
    ".config/mise.toml",
    ".mise.toml",
    "mise.toml",
    ".devcontainer",
    ".gdbinit",
    ".lldbinit",
    ".pdbrc",
    ".irbrc",
    ".pryrc",
    ".Rprofile",
    ".psqlrc",
    ".sqliterc",
    ".inputrc",
    ".wgetrc",
    ".curlrc",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".pam_environment",
    "*.code-workspace",
];

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
pub(crate) struct RuleList {
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

impl RuleList {
    pub(crate) fn new(rules: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, FilesError> {
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

    fn add(&mut self, rule: &str) -> Result<(), FilesError> {
        let fault = |cause: String| FilesError::Rule { rule: rule.to_owned(), cause };
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

    /// Returns true if a rule may cover this name in a folder that no rule covers. False is certain.
    fn may_end_in(&self, name: &OsStr) -> bool {
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

    /// Finds the rule that covers a path.
    pub(crate) fn find_covering(&self, names: Names<'_>) -> Option<&str> {
        self.find_by_names(names, |text, scopes| self.find_covering_text(text, scopes))
    }

    /// Finds a rule whose parent folder is this path. A link here would lead to the paths that the rule covers.
    fn find_below(&self, names: Names<'_>) -> Option<&str> {
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

/// Paths that, as a file or link, decide which settings a program reads. Each has the reason to block it.
const SETTINGS_POINTERS: [(&str, &str); 2] = [
    (".git", "`.git` decides which settings git reads"),
    (".jj/repo", "`.jj/repo` decides which settings Jujutsu reads"),
];

/// Returns the reason why a path decides which settings a program reads, if it does.
fn settings_pointer(path: &Path) -> Option<String> {
    let ends_with = |text: &str, names: &str| {
        text.strip_suffix(names).is_some_and(|above| above.is_empty() || above.ends_with('/'))
    };
    let reason = |text: &str| {
        let found = SETTINGS_POINTERS.iter().find(|(names, _)| ends_with(text, names));
        found.map(|(_, reason)| (*reason).to_owned())
    };
    match fold_path(path) {
        FoldedPath::Single(text) => reason(&text),
        FoldedPath::Both(lower, folded) => reason(&lower).or_else(|| reason(&folded)),
    }
}

/// The compiled built-in list. If it were invalid, which would be a bug, every write would be refused.
static BUILT_IN: LazyLock<Option<RuleList>> = LazyLock::new(|| RuleList::new(NEVER_WRITE).ok());

/// The suffix of files that askfirst has quarantined, because a command created them at a protected path.
pub const ASIDE: &str = ".quarantined-by-askfirst";

/// Returns true for the name of a quarantined file. It may contain data that must never be read.
#[must_use]
pub fn is_aside(name: &OsStr) -> bool {
    memchr::memmem::find(name.as_encoded_bytes(), ASIDE.as_bytes()).is_some()
}

/// The rules of `sandbox.never_read` and `sandbox.never_write`, with the built-in list.
pub struct NeverRules {
    read: RuleList,
    write: RuleList,
}

impl NeverRules {
    /// Creates the rules from the lists `sandbox.never_read` and `sandbox.never_write`.
    ///
    /// # Errors
    /// Fails if a rule is invalid.
    pub fn new<'a>(
        read: impl IntoIterator<Item = &'a String>,
        write: impl IntoIterator<Item = &'a String>,
    ) -> Result<Self, FilesError> {
        Ok(Self { read: RuleList::new(read)?, write: RuleList::new(write)? })
    }

    /// Returns a rule that applies to the user's home folder, if there is one.
    #[must_use]
    pub fn about_home(&self) -> Option<&str> {
        let mut rules = self.read.all.iter().chain(&self.write.all);
        rules.find(|rule| rule.scope == RuleScope::Home).map(|rule| rule.text.as_str())
    }

    /// Returns true if there are no `never_read` rules.
    #[must_use]
    pub fn reads_all(&self) -> bool {
        self.read.all.is_empty()
    }

    /// Returns true if a `never_read` rule may cover this name in a readable folder. False is certain.
    pub(crate) fn may_hide(&self, name: &OsStr) -> bool {
        !self.reads_all() && (self.read.may_end_in(name) || is_aside(name))
    }

    /// Returns the reason why a path must not be read, if there is one.
    pub(crate) fn read(&self, names: Names<'_>) -> Option<String> {
        let is_quarantined = || !self.reads_all() && names.whole.iter().any(is_aside);
        let reason = "it is quarantined, and may contain data that must not be read";
        self.read_by_rule(names).or_else(|| is_quarantined().then(|| reason.to_owned()))
    }

    /// Returns the reason why a path must not be read by the `never_read` rules, ignoring quarantined files.
    #[must_use]
    pub fn read_by_rule(&self, names: Names<'_>) -> Option<String> {
        self.read.find_covering(names).map(|rule| format!("`sandbox.never_read` has `{rule}`"))
    }

    /// Returns the reason why a path must not be written, if there is one.
    ///
    /// The file `.git` itself is protected too, because it decides which settings git reads.
    pub(crate) fn write(&self, names: Names<'_>) -> Option<String> {
        self.read(names).or_else(|| self.write_by_rule(names))
    }

    /// Returns the reason why a path must not be written, ignoring the `never_read` rules.
    #[must_use]
    pub fn write_by_rule(&self, names: Names<'_>) -> Option<String> {
        self.write_folder_by_rule(names).or_else(|| settings_pointer(names.whole))
    }

    /// Returns the reason why a path must not become a link: the link would lead to a path that a rule covers.
    #[must_use]
    pub fn link_by_rule(&self, names: Names<'_>) -> Option<String> {
        let own = || self.read.find_below(names).or_else(|| self.write.find_below(names));
        let rule = own().or_else(|| BUILT_IN.as_ref()?.find_below(names))?;
        Some(format!("it is a link on the way to `{rule}`"))
    }

    /// Returns the reason why nothing may be written in a folder, ignoring the `never_read` rules.
    #[must_use]
    pub fn write_folder_by_rule(&self, names: Names<'_>) -> Option<String> {
        let own =
            || self.write.find_covering(names).map(|rule| format!("`sandbox.never_write` has `{rule}`"));
        let built_in = || match &*BUILT_IN {
            Some(rules) => rules.find_covering(names).map(|rule| format!("the built-in list has `{rule}`")),
            None => Some("the built-in list is invalid".to_owned()),
        };
        own().or_else(built_in)
    }
}

#[cfg(test)]
#[path = "never/tests.rs"]
mod tests;
