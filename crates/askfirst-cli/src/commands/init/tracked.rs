//! The paths that git tracks, read from the index of the repository.
//!
//! No git program runs, because a repository's own settings could make it run others.

use std::fs;
use std::path::{Path, PathBuf};

use askfirst_runtime::rehearsal::read_index;

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
        let Some(entries) = data.as_deref().and_then(read_index) else { return Self::Unknown };
        let all: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path).collect();
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

#[cfg(test)]
#[path = "tracked/tests.rs"]
mod tests;
