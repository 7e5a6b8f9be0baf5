//! Something that is protected, with what is needed to know it again.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use askfirst_sandbox::Denial;
use sha2::{Digest, Sha256};

use super::reading::read;

/// Something that is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// From what.
    pub what: Denial,
    /// The rule, in words.
    pub why: String,
    /// Its number on its disk: another thing of the same name has another.
    pub inode: u64,
    /// Where it leads if it is a symbolic link, which cannot be covered.
    pub leads: Option<PathBuf>,
    /// What makes it be here.
    pub sort: Sort,
    /// What leads git there and so makes it protected, where no rule does.
    pub by: Vec<PathBuf>,
    /// What else is known of it if it is a file.
    pub file: Option<Stamp>,
}

/// What makes something be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Its name.
    Name,
    /// A link of a name that a rule begins with. What is behind it has another place, so only making it is kept from happening.
    Link,
    /// A folder that cannot be searched: nobody knows what is in it, and its owner can open it again.
    Closed,
    /// A named pipe: a file system that is read only does not keep it from being written.
    Pipe,
    /// Its name, which is one that things are given here. It is closed to programs, and does nothing.
    Aside,
    /// The `HEAD` by which git takes a folder for a repository. It is looked at, not covered.
    Repository,
}

/// What is known of a file besides its name. A file with several names may be changed under another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    links: u64,
    size: u64,
    changed: (i64, i64),
    modified: (i64, i64),
    /// The digest of its bytes, if it is small and has several names.
    sum: Option<[u8; 32]>,
}

impl Stamp {
    /// What is known of a file at a place; nothing if there is none.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        Self::of(path, &fs::symlink_metadata(path).ok()?)
    }

    fn of(path: &Path, stat: &Metadata) -> Option<Self> {
        let small = || Some(Sha256::digest(read(path).ok()??).into());
        stat.is_file().then(|| Self {
            links: stat.nlink(),
            size: stat.size(),
            changed: (stat.ctime(), stat.ctime_nsec()),
            modified: (stat.mtime(), stat.mtime_nsec()),
            sum: if stat.nlink() > 1 { small() } else { None },
        })
    }

    /// Whether it has other names.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.links > 1
    }
}

impl Found {
    /// Whether it is a symbolic link.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.leads.is_some()
    }

    /// Whether it is a file with other names.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.file.as_ref().is_some_and(Stamp::is_linked)
    }

    /// Whether it is not what it was. What has one name only could not be reached by another while it was covered.
    #[must_use]
    pub fn is_other_than(&self, old: &Self) -> bool {
        let linked = old.is_linked() || self.is_linked();
        old.inode != self.inode || old.leads != self.leads || linked && old.file != self.file
    }

    /// Something at a place, as it is now.
    pub(super) fn at(path: &Path, what: Denial, why: String, sort: Sort) -> Option<Self> {
        let stat = fs::symlink_metadata(path).ok()?;
        let leads = stat.is_symlink().then(|| fs::read_link(path).unwrap_or_default());
        let file = Stamp::of(path, &stat);
        Some(Self { what, why, inode: stat.ino(), leads, sort, by: Vec::new(), file })
    }
}
