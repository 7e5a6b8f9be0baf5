//! A root with changes that are not made yet: those of a run on a view, or those that a file tool would make.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use askfirst_changes::ChangeSet;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};

use crate::views::open_file;

/// Opens the new content of a changed file.
pub(crate) type OpenNew<'a> = Box<dyn Fn(&Path) -> Option<Box<dyn Read + 'a>> + 'a>;

/// A root with changes that are not made yet.
pub(crate) struct ChangedRoot<'a> {
    /// The real path of the root.
    pub(crate) path: &'a Path,
    pub(crate) root: BorrowedFd<'a>,
    pub(crate) changes: &'a ChangeSet,
    /// Paths that the sandbox would not let a program write without a view, such as files that git's settings include.
    pub(crate) protected: &'a [PathBuf],
    /// For a path that was reached through a link: the real path of the link.
    pub(crate) requested: BTreeMap<PathBuf, PathBuf>,
    pub(crate) new: OpenNew<'a>,
}

impl ChangedRoot<'_> {
    /// Opens a changed file as it would be.
    pub(crate) fn open_new(&self, path: &Path) -> Option<Box<dyn Read + '_>> {
        (self.new)(path).map(|content| content as Box<dyn Read + '_>)
    }

    /// Opens a changed file as it is.
    pub(crate) fn open_old(&self, path: &Path) -> Option<OwnedFd> {
        open_file(self.root, path)
    }

    /// Whether there is something at a path now.
    pub(crate) fn has_old(&self, path: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(self.root, path, flags, Mode::empty(), beneath).is_ok()
    }
}
