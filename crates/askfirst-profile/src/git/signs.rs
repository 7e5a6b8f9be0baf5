//! Recognizes a folder that git treats as a repository, whatever its name is.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

/// Whether the rules about `.git` cover a folder: it is named `.git`, or belongs to a submodule or worktree of one.
pub(crate) fn is_covered_by_rules(path: &Path, roots: &[PathBuf], signs: &RepositorySigns) -> bool {
    let inside =
        roots.iter().filter_map(|root| path.strip_prefix(root).ok()).min_by_key(|it| it.as_os_str().len());
    // Compare bytes, since a name need not be UTF-8.
    let names: Vec<&[u8]> = inside.unwrap_or(path).iter().map(OsStrExt::as_bytes).collect();
    let git = names.iter().position(|name| *name == b".git");
    match git.and_then(|at| names.get(at + 1..)) {
        Some([]) | Some([b"modules", _, ..]) => true,
        Some([b"worktrees", _]) => signs.commondir == Some(FileType::RegularFile) && !signs.objects,
        Some(_) | None => false,
    }
}

/// The names that make git treat a folder as a repository: `HEAD` next to `objects` and `refs`, or next to `commondir`.
#[derive(Default)]
pub(crate) struct RepositorySigns {
    head: bool,
    objects: bool,
    refs: bool,
    commondir: Option<FileType>,
}

impl RepositorySigns {
    pub(crate) fn add(&mut self, path: &Path, kind: FileType) {
        match path.file_name().and_then(|name| name.to_str()) {
            Some("HEAD") => self.head = true,
            Some("objects") => self.objects = true,
            Some("refs") => self.refs = true,
            Some("commondir") => self.commondir = Some(kind),
            Some(_) | None => {}
        }
    }

    pub(crate) fn make_repository(&self) -> bool {
        self.head && (self.objects && self.refs || self.commondir.is_some())
    }
}
