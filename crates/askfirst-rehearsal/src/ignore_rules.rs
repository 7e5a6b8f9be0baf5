//! The ignore rules of git repositories: a file that git ignores is one that `git status` does not show.
//!
//! The rules are read as files. No git program runs, because a repository's own settings could make it run others.

use std::io::Read;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The largest file of rules that is read.
const MAX_RULES: u64 = 1 << 20;

/// The ignore rules that hold in a folder and below it, by folder.
pub(crate) struct IgnoreRules {
    /// The root, relative to the top of the repository.
    root: PathBuf,
    /// For each folder with rules, relative to the top, deeper ones later.
    known: Vec<(PathBuf, Gitignore)>,
}

impl IgnoreRules {
    /// The rules for paths in `root`, relative to it. `folders` are all folders that contain a path of interest, relative
    /// to the root. `read` returns a file of rules.
    pub(crate) fn new<'p>(
        root: &Path,
        folders: impl IntoIterator<Item = &'p Path>,
        read: impl Fn(&Path) -> Vec<String>,
    ) -> Self {
        let Some(top) = root.ancestors().find(|above| above.join(".git").exists()) else {
            return Self { root: PathBuf::new(), known: Vec::new() };
        };
        let below = root.strip_prefix(top).unwrap_or(Path::new("")).to_owned();
        let mut all: Vec<PathBuf> = vec![PathBuf::new()];
        for folder in folders {
            all.extend(folder.ancestors().map(Path::to_owned));
        }
        all.sort_by_key(|folder| (folder.components().count(), folder.clone()));
        all.dedup();
        let exclude = Path::new(".git/info/exclude");
        let mut known =
            rules(Path::new(""), &if root == top { read(exclude) } else { read_above(&top.join(exclude)) });
        let mut above: Vec<&Path> = below.ancestors().skip(1).collect();
        above.reverse();
        for folder in above {
            known.extend(rules(folder, &read_above(&top.join(folder).join(".gitignore"))));
        }
        for folder in all {
            known.extend(rules(&below.join(&folder), &read(&folder.join(".gitignore"))));
        }
        Self { root: below, known }
    }

    /// Whether git ignores a path beneath the root, or a folder around it.
    pub(crate) fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        debug_assert!(path.is_relative(), "{} is relative to the root", path.display());
        if path.starts_with(".git") {
            return false;
        }
        let path = self.root.join(path);
        let with_folders = path.ancestors().filter(|path| !path.as_os_str().is_empty());
        with_folders.enumerate().any(|(above, path)| self.matches(path, above > 0 || is_folder))
    }

    fn matches(&self, path: &Path, is_folder: bool) -> bool {
        let rules = self.known.iter().rev().filter(|(folder, _)| path.starts_with(folder));
        let decided =
            rules.map(|(folder, rules)| rules.matched(path.strip_prefix(folder).unwrap_or(path), is_folder));
        decided.into_iter().find(|found| !found.is_none()).is_some_and(|found| found.is_ignore())
    }
}

/// The rules of all versions of one file. A path that one version ignores is ignored.
fn rules(folder: &Path, versions: &[String]) -> Vec<(PathBuf, Gitignore)> {
    let of = |text: &String| {
        let mut builder = GitignoreBuilder::new("");
        for line in text.lines() {
            // A line that is not a valid glob matches nothing, as in git.
            let _ = builder.add_line(None, line);
        }
        Some((folder.to_owned(), builder.build().ok()?))
    };
    versions.iter().filter_map(of).collect()
}

/// Reads a file of rules above the root, where no command of this session writes.
fn read_above(path: &Path) -> Vec<String> {
    let file = path.is_file().then(|| std::fs::File::open(path).ok());
    file.flatten().and_then(read_rules).into_iter().collect()
}

/// Reads a file of rules, if it has a sensible size.
pub(crate) fn read_rules(file: impl Read) -> Option<String> {
    let mut text = Vec::new();
    file.take(MAX_RULES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
#[path = "ignore_rules/tests.rs"]
mod tests;
