//! A resolved path: which root governs it, what is allowed there, and what exists there.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::Stat;
use rustix::io::Errno;

use super::handle::{self, ObjectKind, real_path};
use super::rights::Rights;

/// A path inside a root, without `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RootedPath {
    /// The index of the root.
    pub(crate) root: usize,
    pub(crate) path: PathBuf,
}

/// Whether a lookup keeps the file open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandlePolicy {
    /// The file is opened only if the lookup needs that. The caller opens and checks the file again before using it.
    OpenIfNeeded,
    /// The file stays open, so that its inode number cannot be reused for another file.
    KeepOpen,
}

/// A file, folder, link or other object on disk.
#[derive(Debug)]
pub(crate) struct FileObject {
    /// The open handle, if the lookup opened the object.
    pub(super) handle: Option<OwnedFd>,
    pub(crate) stat: Stat,
    pub(crate) kind: ObjectKind,
}

impl FileObject {
    /// Asks the kernel for the current path of the open object.
    pub(super) fn real_path(&self) -> Result<PathBuf, Errno> {
        self.handle.as_ref().map_or(Err(Errno::NOENT), real_path)
    }
}

/// A path after all links were resolved.
#[derive(Debug)]
pub(crate) struct Location {
    /// The index of the root that governs the path.
    pub(crate) root: usize,
    /// The path inside that root, without links.
    pub(crate) path: PathBuf,
    /// The absolute path on this machine, if the lookup needed it. It is never shown to an agent.
    pub(super) real: Option<PathBuf>,
    pub(crate) rights: Arc<Rights>,
    /// The object at this path, if one exists.
    pub(crate) object: Option<FileObject>,
    /// The absolute path as requested, without following links, if it differs from the real path.
    pub(crate) requested: Option<PathBuf>,
    /// `root:path`, the form that people and agents use.
    pub(crate) label: String,
    /// The label of the requested path, if a link led to another path.
    pub(crate) requested_label: Option<String>,
}

impl Location {
    pub(crate) fn kind(&self) -> Option<ObjectKind> {
        self.object.as_ref().map(|object| object.kind)
    }

    pub(crate) fn size(&self) -> u64 {
        self.object.as_ref().map_or(0, |object| handle::size_of(&object.stat))
    }

    /// Returns the number of hard links of a file.
    pub(crate) fn link_count(&self) -> u64 {
        let file = self.object.as_ref().filter(|object| object.kind == ObjectKind::File);
        file.map_or(1, |object| object.stat.st_nlink)
    }
}
