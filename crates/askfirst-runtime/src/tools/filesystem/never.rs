//! What is never read or written, even inside a root: gitignore rules at any depth, and a built-in list.
//!
//! Rules are compared without regard to case. A rule for a folder's content covers the folder too, so that it cannot
//! be swapped for another one.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::error::FilesError;

/// Files that run programs when somebody opens a folder, starts a shell or makes a commit. Never written.
pub const NEVER_WRITE: [&str; 50] = [
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/info/attributes",
    ".git/modules/**/hooks",
    ".git/modules/**/config",
    ".githooks",
    ".husky",
    ".gitconfig",
    ".gitmodules",
    ".config/git",
    ".hg/hgrc",
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
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".vimrc",
    ".emacs",
    ".emacs.d",
    ".dir-locals.el",
    ".cursor",
    ".claude",
    ".codex",
    ".gemini",
    ".mcp.json",
    "askfirst.yaml",
    ".config/askfirst",
];

/// One list of rules.
pub(crate) struct Rules {
    set: GlobSet,
    /// Which rule each glob of the set belongs to.
    of: Vec<usize>,
    texts: Vec<String>,
    home: Vec<bool>,
    anchored: Vec<bool>,
}

/// The ways in which one place is named, for rules to look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    /// From the config's folder where the place lies in it, else from the folder above the root.
    pub(crate) whole: &'a Path,
    /// From the root.
    pub(crate) in_root: &'a Path,
    /// From the person's home, where it lies there.
    pub(crate) in_home: Option<&'a Path>,
}

impl Rules {
    pub(crate) fn new(rules: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, FilesError> {
        let mut set = GlobSetBuilder::new();
        let mut made =
            Self { set: GlobSet::empty(), of: vec![], texts: vec![], home: vec![], anchored: vec![] };
        for rule in rules {
            let rule = rule.as_ref();
            let fault = |cause: String| FilesError::Rule { rule: rule.to_owned(), cause };
            let (home, text) = rule.strip_prefix("~/").map_or((false, rule), |rest| (true, rest));
            let anchored = text.starts_with('/') || home;
            let text = text.trim_start_matches('/').trim_end_matches('/');
            let text = text.strip_suffix("/**").unwrap_or(text).to_lowercase();
            if text.is_empty() {
                return Err(fault("it names nothing".to_owned()));
            }
            let head = if anchored || text.starts_with("**/") { "" } else { "**/" };
            for tail in ["", "/**"] {
                let glob = GlobBuilder::new(&format!("{head}{text}{tail}"))
                    .literal_separator(true)
                    .case_insensitive(true)
                    .backslash_escape(true)
                    .build()
                    .map_err(|e| fault(e.kind().to_string()))?;
                set.add(glob);
                made.of.push(made.texts.len());
            }
            made.texts.push(rule.to_owned());
            made.home.push(home);
            made.anchored.push(anchored);
        }
        made.set = set.build().map_err(|e| FilesError::Rule {
            rule: e.glob().unwrap_or_default().to_owned(),
            cause: e.kind().to_string(),
        })?;
        Ok(made)
    }

    /// The rule that covers a place.
    pub(crate) fn covering(&self, names: Names<'_>) -> Option<&str> {
        let by = |path: &Path, wanted: &dyn Fn(usize) -> bool| {
            let found = self.set.matches(path.to_string_lossy().to_lowercase());
            let rules = found.into_iter().filter_map(|glob| self.of.get(glob).copied());
            rules.into_iter().find(|rule| wanted(*rule)).and_then(|rule| self.texts.get(rule))
        };
        let is = |list: &[bool], rule: usize| list.get(rule).copied().unwrap_or(false);
        let plain = |rule: usize| !is(&self.home, rule);
        let anchored = |rule: usize| is(&self.anchored, rule) && !is(&self.home, rule);
        let home = |rule: usize| is(&self.home, rule);
        by(names.whole, &plain)
            .or_else(|| by(names.in_root, &anchored))
            .or_else(|| names.in_home.and_then(|path| by(path, &home)))
            .map(String::as_str)
    }
}

/// Everything that is never touched.
pub(crate) struct Never {
    read: Rules,
    write: Rules,
    built_in: Rules,
}

impl Never {
    pub(crate) fn new<'a>(
        read: impl IntoIterator<Item = &'a String>,
        write: impl IntoIterator<Item = &'a String>,
    ) -> Result<Self, FilesError> {
        Ok(Self { read: Rules::new(read)?, write: Rules::new(write)?, built_in: Rules::new(NEVER_WRITE)? })
    }

    /// A rule that is about the person's home.
    pub(crate) fn about_home(&self) -> Option<&str> {
        let rules = self.read.texts.iter().chain(&self.write.texts);
        rules.map(String::as_str).find(|rule| rule.starts_with("~/"))
    }

    /// Whether everything may be read.
    pub(crate) fn reads_all(&self) -> bool {
        self.read.texts.is_empty()
    }

    /// Why a place is never read.
    pub(crate) fn read(&self, names: Names<'_>) -> Option<String> {
        self.read.covering(names).map(|rule| format!("`sandbox.never_read` has `{rule}`"))
    }

    /// Why a place is never written.
    pub(crate) fn write(&self, names: Names<'_>) -> Option<String> {
        let own = || self.write.covering(names).map(|rule| format!("`sandbox.never_write` has `{rule}`"));
        let built_in = || self.built_in.covering(names).map(|rule| format!("the built-in list has `{rule}`"));
        self.read(names).or_else(own).or_else(built_in)
    }
}

#[cfg(test)]
#[path = "never/tests.rs"]
mod tests;
