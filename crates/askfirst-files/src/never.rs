//! What is never read or written, even inside a root: gitignore rules at any depth, and a built-in list.
//!
//! Rules are compared without regard to case and to how a name is put together from characters. A rule for a folder's
//! content covers the folder too, so that it cannot be swapped for another one.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::error::FilesError;
use super::fold::{self, Folded};

/// Files that run programs when somebody opens a folder, starts a shell or a build, or makes a commit. Never written.
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

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Any depth.
    Anywhere,
    /// The folder that it is written for.
    Anchored,
    /// The person's home.
    Home,
}

struct Rule {
    /// As it is written.
    text: String,
    place: Place,
    /// The names that it is made of, where none of them is a glob.
    plain: Option<String>,
    /// What it begins with: its first name, its first two, and so on, up to a glob and without its last.
    heads: Vec<String>,
}

/// One list of rules.
pub(crate) struct Rules {
    all: Vec<Rule>,
    /// The rules without a glob, by the first name that each is made of.
    by_name: HashMap<String, Vec<usize>>,
    /// The last name that each of these is made of.
    last_names: HashSet<String>,
    /// Which rule each glob is of. What is looked for below a rule's own path has its glob too.
    globs: Vec<(usize, Glob)>,
    /// A text that each of those rules needs to be there; empty where it needs none.
    needles: Vec<String>,
    /// Put together when something is first compared with it; nothing if that is too much for this machine.
    set: OnceLock<Option<GlobSet>>,
}

/// The ways in which one place is named, for rules to look at.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// From the config's folder where the place lies in it, else from the folder above the root.
    pub whole: &'a Path,
    /// From the root.
    pub in_root: &'a Path,
    /// From the person's home, where it lies there.
    pub in_home: Option<&'a Path>,
}

impl Rules {
    pub(crate) fn new(rules: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, FilesError> {
        let mut made = Self {
            all: Vec::new(),
            by_name: HashMap::new(),
            last_names: HashSet::new(),
            globs: Vec::new(),
            needles: Vec::new(),
            set: OnceLock::new(),
        };
        for rule in rules {
            made.add(rule.as_ref())?;
        }
        Ok(made)
    }

    fn add(&mut self, rule: &str) -> Result<(), FilesError> {
        let fault = |cause: String| FilesError::Rule { rule: rule.to_owned(), cause };
        let (place, text) = match (rule.strip_prefix("~/"), rule.starts_with('/')) {
            (Some(rest), _) => (Place::Home, rest),
            (None, true) => (Place::Anchored, rule),
            (None, false) => (Place::Anywhere, rule),
        };
        let text = text.trim_start_matches('/').trim_end_matches('/');
        let text = fold::wide(text.strip_suffix("/**").unwrap_or(text));
        if text.is_empty() {
            return Err(fault("it names nothing".to_owned()));
        }
        let plain = !text.contains(['*', '?', '[', ']', '{', '}', '\\', '!']) && !text.contains("//");
        if plain {
            let name = text.split('/').next().unwrap_or_default().to_owned();
            self.by_name.entry(name).or_default().push(self.all.len());
            self.last_names.insert(text.rsplit('/').next().unwrap_or_default().to_owned());
        } else {
            self.needles.push(needle(&text).to_owned());
            let head = if place != Place::Anywhere || text.starts_with("**/") { "" } else { "**/" };
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
        let heads = heads(&text);
        self.all.push(Rule { text: rule.to_owned(), place, plain: plain.then_some(text), heads });
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

    /// Whether a rule may cover something of this name in a folder that none covers. A no is certain.
    fn may_end_in(&self, name: &OsStr) -> bool {
        if !self.globs.is_empty() {
            return true;
        }
        match fold::path(Path::new(name)) {
            Folded::One(name) => self.last_names.contains(&*name),
            Folded::Two(narrow, wide) => self.last_names.contains(&narrow) || self.last_names.contains(&wide),
        }
    }

    /// The rule that covers a place.
    pub(crate) fn covering(&self, names: Names<'_>) -> Option<&str> {
        self.by_names(names, |text, places| self.covering_text(text, places))
    }

    /// The rule that goes on below a place: a link there would lead to what it covers.
    fn going_on_below(&self, names: Names<'_>) -> Option<&str> {
        self.by_names(names, |text, places| {
            let begins_so = |rule: &&Rule| {
                rule.heads.iter().any(|head| match (text.strip_suffix(head.as_str()), rule.place) {
                    (None, _) => false,
                    (Some(above), Place::Anywhere) => above.is_empty() || above.ends_with('/'),
                    (Some(above), Place::Anchored | Place::Home) => above.is_empty(),
                })
            };
            let mut rules = self.all.iter().filter(|rule| places.contains(&rule.place));
            rules.find(begins_so).map(|rule| rule.text.as_str())
        })
    }

    /// What is found by any of the names of a place.
    fn by_names<'r>(
        &self,
        names: Names<'_>,
        find: impl Fn(&str, &[Place]) -> Option<&'r str>,
    ) -> Option<&'r str> {
        if self.all.is_empty() {
            return None;
        }
        let by = |path: &Path, places: &[Place]| match fold::path(path) {
            Folded::One(text) => find(&text, places),
            Folded::Two(narrow, wide) => find(&narrow, places).or_else(|| find(&wide, places)),
        };
        by(names.whole, &[Place::Anywhere, Place::Anchored])
            .or_else(|| by(names.in_root, &[Place::Anchored]))
            .or_else(|| names.in_home.and_then(|path| by(path, &[Place::Home])))
    }

    fn covering_text(&self, text: &str, places: &[Place]) -> Option<&str> {
        let wanted = |rule: &&Rule| places.contains(&rule.place);
        let plainly = |(rest, depth): (&str, usize), rule: &Rule| match (&rule.plain, rule.place) {
            (None, _) => false,
            (Some(plain), Place::Anywhere) => begins(rest, plain),
            (Some(plain), Place::Anchored | Place::Home) => depth == 0 && begins(rest, plain),
        };
        let mut rest = Some(text);
        for depth in 0.. {
            let Some(from) = rest else { break };
            let (name, below) = from.split_once('/').map_or((from, None), |(name, rest)| (name, Some(rest)));
            let rules = self.by_name.get(name).into_iter().flatten().filter_map(|rule| self.all.get(*rule));
            if let Some(rule) = rules.filter(wanted).find(|rule| plainly((from, depth), rule)) {
                return Some(&rule.text);
            }
            rest = below;
        }
        let of = |index: usize| self.all.get(index).filter(wanted).map(|rule| rule.text.as_str());
        let mut globs = self.globs.iter();
        match self.set() {
            _ if !self.needles.iter().any(|needle| text.contains(needle.as_str())) => None,
            Some(set) => set
                .matches(text)
                .into_iter()
                .find_map(|glob| self.globs.get(glob).and_then(|(rule, _)| of(*rule))),
            // What cannot be compared counts as covered.
            None => globs.find_map(|(rule, _)| of(*rule)),
        }
    }
}

/// What a rule begins with, up to a glob and without its last name.
fn heads(text: &str) -> Vec<String> {
    let heads = text.match_indices('/').filter_map(|(at, _)| text.get(..at));
    let plain = heads.take_while(|head| !head.is_empty() && !head.contains(['*', '?', '[', '{', '\\', '!']));
    plain.map(str::to_owned).collect()
}

/// The longest text that must stand in whatever a glob matches.
fn needle(glob: &str) -> &str {
    // What stands in brackets need not be there.
    if glob.contains(['[', ']', '{', '}', '\\', '!']) {
        return "";
    }
    glob.split(['*', '?', '/']).max_by_key(|part| part.len()).unwrap_or_default()
}

/// Whether a path is `rule` or lies below it.
fn begins(path: &str, rule: &str) -> bool {
    path.strip_prefix(rule).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What says where settings lie if it is no folder, by the names that it ends with, however they are spelled.
const WAYS: [(&str, &str); 2] =
    [(".git", "`.git` leads to git's settings"), (".jj/repo", "`.jj/repo` leads to Jujutsu's settings")];

/// Why a path is a way to settings, if it is one.
fn way(path: &Path) -> Option<String> {
    let is = |text: &str, names: &str| {
        text.strip_suffix(names).is_some_and(|above| above.is_empty() || above.ends_with('/'))
    };
    let why = |text: &str| WAYS.iter().find(|(names, _)| is(text, names)).map(|(_, why)| (*why).to_owned());
    match fold::path(path) {
        Folded::One(text) => why(&text),
        Folded::Two(narrow, wide) => why(&narrow).or_else(|| why(&wide)),
    }
}

/// The built-in list. A rule in it that cannot be read would be a fault of this program, so everything is refused then.
static BUILT_IN: LazyLock<Option<Rules>> = LazyLock::new(|| Rules::new(NEVER_WRITE).ok());

/// What is appended to the name of something that appeared where it should not.
pub const ASIDE: &str = ".quarantined-by-askfirst";

/// Whether something was given such a name. It may hold what was never to be read.
#[must_use]
pub fn is_aside(name: &OsStr) -> bool {
    memchr::memmem::find(name.as_encoded_bytes(), ASIDE.as_bytes()).is_some()
}

/// Everything that is never touched.
pub struct Never {
    read: Rules,
    write: Rules,
}

impl Never {
    /// The rules of `sandbox.never_read` and `sandbox.never_write`.
    ///
    /// # Errors
    /// Fails if a rule is not a path rule.
    pub fn new<'a>(
        read: impl IntoIterator<Item = &'a String>,
        write: impl IntoIterator<Item = &'a String>,
    ) -> Result<Self, FilesError> {
        Ok(Self { read: Rules::new(read)?, write: Rules::new(write)? })
    }

    /// A rule that is about the person's home.
    #[must_use]
    pub fn about_home(&self) -> Option<&str> {
        let mut rules = self.read.all.iter().chain(&self.write.all);
        rules.find(|rule| rule.place == Place::Home).map(|rule| rule.text.as_str())
    }

    /// Whether everything may be read.
    #[must_use]
    pub fn reads_all(&self) -> bool {
        self.read.all.is_empty()
    }

    /// Whether something of this name, in a folder that may be read, may be what is never read. A no is certain.
    pub(crate) fn may_hide(&self, name: &OsStr) -> bool {
        !self.reads_all() && (self.read.may_end_in(name) || is_aside(name))
    }

    /// Why a place is never read.
    pub(crate) fn read(&self, names: Names<'_>) -> Option<String> {
        let aside = || !self.reads_all() && names.whole.iter().any(is_aside);
        let moved = || aside().then(|| "it was moved aside, and may be what is never read".to_owned());
        self.read_by_rule(names).or_else(moved)
    }

    /// The same by the rules alone, whatever was moved aside.
    #[must_use]
    pub fn read_by_rule(&self, names: Names<'_>) -> Option<String> {
        self.read.covering(names).map(|rule| format!("`sandbox.never_read` has `{rule}`"))
    }

    /// Why a place is never written, whatever is or would be there. Who writes `.git` itself says where git looks for
    /// its settings.
    pub(crate) fn write(&self, names: Names<'_>) -> Option<String> {
        self.read(names).or_else(|| self.write_by_rule(names))
    }

    /// The same by the rules about writing alone.
    #[must_use]
    pub fn write_by_rule(&self, names: Names<'_>) -> Option<String> {
        self.write_folder_by_rule(names).or_else(|| way(names.whole))
    }

    /// Why a link is never made, by all rules: it would lead to what one of them is about.
    #[must_use]
    pub fn link_by_rule(&self, names: Names<'_>) -> Option<String> {
        let own = || self.read.going_on_below(names).or_else(|| self.write.going_on_below(names));
        let rule = own().or_else(|| BUILT_IN.as_ref()?.going_on_below(names))?;
        Some(format!("it is a link on the way to `{rule}`"))
    }

    /// Why a folder is never written in, by the rules about writing alone.
    #[must_use]
    pub fn write_folder_by_rule(&self, names: Names<'_>) -> Option<String> {
        let own = || self.write.covering(names).map(|rule| format!("`sandbox.never_write` has `{rule}`"));
        let built_in = || match &*BUILT_IN {
            Some(rules) => rules.covering(names).map(|rule| format!("the built-in list has `{rule}`")),
            None => Some("the built-in list cannot be read".to_owned()),
        };
        own().or_else(built_in)
    }
}

#[cfg(test)]
#[path = "never/tests.rs"]
mod tests;
