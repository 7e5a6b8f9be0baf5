//! Git repositories under other names than `.git`, and states of a repository that hide what a person would see.
//!
//! Git takes any folder with `HEAD`, `objects` and `refs` for a repository, and obeys its `config` and its hooks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use askfirst::PathLevel;
use askfirst_changes::Object;

use crate::views::CollectedView;

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
    pub(crate) fn new(view: &CollectedView) -> Self {
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
fn hides(view: &CollectedView, path: &Path) -> Option<&'static str> {
    let git = path.ancestors().find(|above| above.file_name().is_some_and(|name| name == ".git"))?;
    let part = path.strip_prefix(git).ok()?;
    if part.starts_with("refs/replace") {
        return Some("it makes git show another object instead of the real one");
    }
    let read = |file: Option<std::os::fd::OwnedFd>| {
        let mut bytes = Vec::new();
        file.map(|file| File::from(file).take(MAX_STATE).read_to_end(&mut bytes));
        bytes
    };
    let grows =
        |count: fn(&[u8]) -> usize| count(&read(view.open_new(path))) > count(&read(view.open_old(path)));
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
    // Names of objects are SHA-1 or SHA-256.
    [20, 32].into_iter().find_map(|hash| count_hidden(index, hash)).unwrap_or(1)
}

fn count_hidden(index: &[u8], hash: usize) -> Option<usize> {
    const ASSUMED: u16 = 1 << 15;
    const EXTENDED: u16 = 1 << 14;
    const SKIPPED: u16 = 1 << 14;
    const LENGTH: u16 = 0xfff;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at.checked_add(4)?)?.try_into().ok()?));
    let short = |at: usize| Some(u16::from_be_bytes(index.get(at..at.checked_add(2)?)?.try_into().ok()?));
    let version = number(4)?;
    let count = if index.starts_with(b"DIRC") { number(8)? } else { return None };
    let mut at = 12_usize;
    let mut hidden = 0;
    // The length of the name before.
    let mut before = 0_usize;
    for _ in 0..count {
        let start = at;
        // After 40 bytes of stat data and the name of the object.
        let flags = short(start.checked_add(40 + hash)?)?;
        let mut name = start.checked_add(42 + hash)?;
        let (mut skipped, mut kept) = (false, 0);
        if flags & EXTENDED != 0 {
            skipped = short(name)? & SKIPPED != 0;
            name = name.checked_add(2)?;
        }
        hidden += usize::from(flags & ASSUMED != 0 || skipped);
        if version == 4 {
            // How much of the end of the name before is left out: a number of seven bits a byte.
            let mut left_out = 0_usize;
            loop {
                let byte = *index.get(name)?;
                name = name.checked_add(1)?;
                left_out = left_out.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
                if byte & 0x80 == 0 {
                    break;
                }
                left_out = left_out.checked_add(1)?;
            }
            kept = before.checked_sub(left_out)?;
        }
        let length = index.get(name..)?.iter().position(|byte| *byte == 0)?;
        let end = name.checked_add(length)?;
        let known = usize::from(flags & LENGTH);
        before = kept.checked_add(length)?;
        if known < usize::from(LENGTH) && known != before {
            return None;
        }
        at = match version {
            // Padded with one to eight zeros to a multiple of eight.
            2 | 3 => start.checked_add((end.checked_sub(start)?.checked_add(8)?) & !7)?,
            4 => end.checked_add(1)?,
            _ => return None,
        };
    }
    Some(hidden)
}

#[cfg(test)]
#[path = "repositories/tests.rs"]
mod tests;
