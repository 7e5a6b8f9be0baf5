//! The ignore rules of git repositories: a file that git ignores is one that `git status` does not show.
//!
//! The rules are read as files. No git program runs, because a repository's own settings could make it run others.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The largest file of rules that is read.
const MAX_RULES: u64 = 1 << 20;

/// The ignore rules that hold in a folder and below it, by folder.
pub(crate) struct IgnoreRules {
    root: PathBuf,
    /// For each folder with rules, deeper ones later.
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
        let is_repository = root.ancestors().any(|above| above.join(".git").exists());
        let mut all: Vec<PathBuf> = vec![PathBuf::new()];
        for folder in folders {
            all.extend(folder.ancestors().map(Path::to_owned));
        }
        all.sort_by_key(|folder| (folder.components().count(), folder.clone()));
        all.dedup();
        let mut known = Vec::new();
        if is_repository {
            let exclude = read(Path::new(".git/info/exclude"));
            known.extend(rules(Path::new(""), &exclude));
            for folder in all {
                known.extend(rules(&folder, &read(&folder.join(".gitignore"))));
            }
        }
        Self { root: root.to_owned(), known }
    }

    /// Whether git ignores a path beneath the root, or a folder around it.
    pub(crate) fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        debug_assert!(path.is_relative(), "beneath {}", self.root.display());
        if path.starts_with(".git") {
            return false;
        }
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

/// Reads a file of rules, if it has a sensible size.
pub(crate) fn read_rules(file: std::fs::File) -> Option<String> {
    use std::io::Read;
    let mut text = Vec::new();
    file.take(MAX_RULES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
