//! Git repositories under other names than `.git`, and states of a repository that hide what a person would see.
//!
//! Git takes any folder with `HEAD`, `objects` and `refs` for a repository, and obeys its `config` and its hooks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use askfirst::PathLevel;
use askfirst_changes::Object;

use crate::changed_root::ChangedRoot;
use crate::git_index::read_index;

/// The names in a repository that make it one, or that let it run programs.
const PARTS: [&str; 8] =
    ["HEAD", "commondir", "objects", "refs", "config", "config.worktree", "hooks", "info"];

/// The largest `index` and `packed-refs` that is read.
const MAX_STATE: u64 = 64 << 20;

/// The repositories under other names that a run changed.
pub(crate) struct Repositories {
    /// Whether each of them was one before the run.
    other: BTreeMap<PathBuf, bool>,
    /// Files of `.git` folders that now hide something, with the reason.
    hiding: BTreeMap<PathBuf, &'static str>,
}

impl Repositories {
    pub(crate) fn new(view: &ChangedRoot<'_>) -> Self {
        let rows: BTreeMap<&Path, Option<&Object>> =
            view.changes.changes().map(|change| (change.path(), change.after.as_ref())).collect();
        let was_there = |path: &Path| view.has_old(path);
        let is_there = |path: &Path| rows.get(path).map_or_else(|| was_there(path), |after| after.is_some());
        let mut other = BTreeMap::new();
        let mut hiding = BTreeMap::new();
        for path in rows.keys() {
            if let Some(folder) = repository_of(path)
                && !other.contains_key(folder)
                && is_repository(folder, &is_there)
            {
                other.insert(folder.to_owned(), is_repository(folder, &was_there));
            }
            if let Some(why) = hides(view, path) {
                hiding.insert((*path).to_owned(), why);
            }
        }
        Self { other, hiding }
    }

    /// Returns the level of a changed file of a repository, if the lists of file names cannot know it.
    pub(crate) fn level(&self, path: &Path) -> Option<PathLevel> {
        if let Some(why) = self.hiding.get(path) {
            return Some(PathLevel::Shown((*why).into()));
        }
        let (folder, was_repository) =
            path.ancestors().find_map(|above| Some((above, *self.other.get(above)?)))?;
        let part = path.strip_prefix(folder).ok()?;
        let runs_programs = ["commondir", "config", "config.worktree", "hooks", "info/attributes"]
            .iter()
            .any(|name| part.starts_with(name));
        match (was_repository, runs_programs) {
            (true, true) => Some(PathLevel::Never("git obeys this file of a repository".into())),
            (true, false) => None,
            (false, _) => Some(PathLevel::Shown("it belongs to a new git repository".into())),
        }
    }
}

/// The folder that would be a repository because of this path. A folder named `.git` is on the lists of file names.
fn repository_of(path: &Path) -> Option<&Path> {
    if path.components().any(|part| part.as_os_str() == ".git") {
        return None;
    }
    let is_part = |path: &&Path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| PARTS.contains(&name))
    };
    // A hook is one folder deeper.
    path.ancestors().take(2).find(is_part)?.parent()
}

/// Whether git makes this file of a `.git` folder from its objects, so that no one reads anything new in it.
pub(crate) fn is_derived(path: &Path) -> bool {
    let Some(git) = path.ancestors().find(|above| above.file_name().is_some_and(|name| name == ".git"))
    else {
        return false;
    };
    let derived =
        ["info/refs", "objects/info/packs", "objects/info/commit-graph", "objects/info/commit-graphs"];
    path.strip_prefix(git).is_ok_and(|part| derived.iter().any(|name| part.starts_with(name)))
}

fn is_repository(folder: &Path, exists: &dyn Fn(&Path) -> bool) -> bool {
    let has = |name: &str| exists(&folder.join(name));
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// Why a changed file of a `.git` folder would hide changes from git's own commands.
fn hides(view: &ChangedRoot<'_>, path: &Path) -> Option<&'static str> {
    let git = path.ancestors().find(|above| above.file_name().is_some_and(|name| name == ".git"))?;
    let part = path.strip_prefix(git).ok()?;
    if part.starts_with("refs/replace") {
        return Some("it makes git show another object instead of the real one");
    }
    fn read(file: Option<impl Read>) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.map(|file| file.take(MAX_STATE).read_to_end(&mut bytes));
        bytes
    }
    let old = || read(view.open_old(path).map(File::from));
    let grows = |count: fn(&[u8]) -> usize| count(&read(view.open_new(path))) > count(&old());
    if part == Path::new("packed-refs") && grows(replaced_objects) {
        return Some("it makes git show other objects instead of the real ones");
    }
    let is_index = part.file_name().is_some_and(|name| name == "index");
    (is_index && grows(hidden_entries)).then_some("it hides changes of files from `git status`")
}

fn replaced_objects(refs: &[u8]) -> usize {
    let name = b" refs/replace/";
    refs.windows(name.len()).filter(|window| window == name).count()
}

/// Counts the entries of an index that git does not compare with their files: `assume-unchanged` and `skip-worktree`.
///
/// An index that cannot be read counts as one entry, so that it is shown.
pub(crate) fn hidden_entries(index: &[u8]) -> usize {
    if index.is_empty() {
        return 0;
    }
    read_index(index).map_or(1, |entries| entries.iter().filter(|entry| entry.is_hidden).count())
}

#[cfg(test)]
#[path = "repositories/tests.rs"]
mod tests;
