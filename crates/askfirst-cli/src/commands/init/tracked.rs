//! The paths that git tracks, read from the index of the repository.
//!
//! No git program runs, because a repository's own settings could make it run others.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The largest index that is read.
const MAX_INDEX: u64 = 1 << 30;

/// The paths that git tracks in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrackedPaths {
    /// The folder is in no git work tree.
    NoRepository,
    /// These paths, relative to the project's folder.
    Known(Vec<PathBuf>),
    /// The index cannot be read. Every path may be tracked.
    Unknown,
}

impl TrackedPaths {
    /// Reads the index of the repository that contains a folder. A repository of the home folder does not count.
    pub fn of(project: &Path) -> Self {
        let Some(top) = work_tree(project) else { return Self::NoRepository };
        let Ok(below) = project.strip_prefix(top) else { return Self::Unknown };
        let Some(folder) = git_folder(top) else { return Self::Unknown };
        let index = folder.join("index");
        let data = match index.metadata() {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Self::Known(Vec::new()),
            Ok(found) if found.len() <= MAX_INDEX => fs::read(&index).ok(),
            Ok(_) | Err(_) => None,
        };
        let Some(all) = data.as_deref().and_then(paths) else { return Self::Unknown };
        // An entry above the project is a folder of a sparse index, or a submodule.
        if all.iter().any(|path| below.starts_with(path)) {
            return Self::Unknown;
        }
        let inside = all.iter().filter_map(|path| path.strip_prefix(below).ok());
        Self::Known(inside.map(Path::to_owned).collect())
    }

    /// Whether git may track a path, something in it, or something instead of a folder above it.
    pub fn has_any_in(&self, name: &str) -> bool {
        match self {
            Self::NoRepository => false,
            Self::Known(all) => {
                all.iter().any(|path| path.starts_with(name) || Path::new(name).starts_with(path))
            }
            Self::Unknown => true,
        }
    }

    /// Whether git is known to track files of the project.
    pub fn is_project_tracked(&self) -> bool {
        matches!(self, Self::Known(all) if !all.is_empty())
    }
}

/// Whether `git status` shows what changes in a folder: it is the top of a work tree, or git tracks files in it.
pub fn is_shown_by_git(project: &Path) -> bool {
    project.join(".git").exists() || TrackedPaths::of(project).is_project_tracked()
}

/// The nearest folder with a `.git`. The home folder and `/` are no projects.
fn work_tree(project: &Path) -> Option<&Path> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let top = project.ancestors().find(|folder| folder.join(".git").exists())?;
    let is_project = top.parent().is_some() && home.as_deref() != Some(top);
    (is_project || top == project).then_some(top)
}

/// The folder with the index. In a worktree of another repository, the file `.git` names it.
fn git_folder(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(git).ok()?;
    Some(top.join(text.strip_prefix("gitdir: ")?.trim_end_matches('\n')))
}

/// Returns the paths in an index, or `None` if it has a form that is not known here.
fn paths(data: &[u8]) -> Option<Vec<PathBuf>> {
    // With SHA-1 or with SHA-256. Only the right length leads to the end of the data.
    paths_with(data, 20).or_else(|| paths_with(data, 32))
}

fn paths_with(data: &[u8], hash: usize) -> Option<Vec<PathBuf>> {
    let number = |at: usize| Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let end = data.len().checked_sub(hash)?;
    let version = number(4)?;
    if !data.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name, mut found) = (12, Vec::new(), Vec::new());
    for _ in 0..number(8)? {
        // Ten numbers, the hash, and the flags. A bit of the flags says that more flags follow.
        let flags = *data.get(at + 40 + hash)?;
        let mut start = at + 40 + hash + 2 + if flags & 0x40 == 0 { 0 } else { 2 };
        if version == 4 {
            let (removed, next) = variable(data, start)?;
            name.truncate(name.len().checked_sub(removed)?);
            start = next;
        } else {
            name.clear();
        }
        let length = data.get(start..end)?.iter().position(|byte| *byte == 0)?;
        name.extend(data.get(start..start + length)?);
        at = if version == 4 { start + length + 1 } else { at + (start + length - at) / 8 * 8 + 8 };
        found.push(PathBuf::from(OsStr::from_bytes(&name)));
    }
    while at < end {
        // The extension `link` says that another file has more entries.
        let size = usize::try_from(number(at + 4)?).ok()?;
        if data.get(at..at + 4)? == b"link" {
            return None;
        }
        at = at.checked_add(8)?.checked_add(size)?;
    }
    (at == end).then_some(found)
}

/// Reads a number of version 4: seven bits in each byte, and the end of it.
fn variable(data: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *data.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *data.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at + 1))
}

#[cfg(test)]
#[path = "tracked/tests.rs"]
mod tests;
