//! A protected file or folder, with the facts by which a later search recognizes it.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use askfirst_sandbox::Denial;
use sha2::{Digest, Sha256};

use super::reading::read;

/// A protected file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedEntry {
    /// The access that is denied.
    pub denial: Denial,
    /// The rule that protects it, in words.
    pub reason: String,
    /// Its inode number. Another file with the same name has another number.
    pub inode: u64,
    /// The target, if it is a symbolic link. A link cannot be covered by a mount.
    pub link_target: Option<PathBuf>,
    /// Why the search found it.
    pub kind: EntryKind,
    /// The git pointers that refer to it and so protect it. Empty if a rule protects it.
    pub pointers: Vec<PathBuf>,
    /// More facts, if it is a regular file.
    pub file: Option<Stamp>,
}

/// Why the search found an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A rule protects its name.
    Name,
    /// It is a symbolic link whose name is the first part of a rule. Its target has another path, so only creating the
    /// link is prevented.
    Link,
    /// It is a folder that cannot be searched. Its content is unknown, and its owner can open it again.
    Closed,
    /// It is a named pipe. A read-only mount does not prevent writing to it.
    Pipe,
    /// Its name is one that the quarantine gives. Programs cannot open it, and it has no effect.
    Quarantined,
    /// It is the `HEAD` of a folder that git treats as a repository. It is observed and not covered.
    Repository,
}

/// Facts about a regular file besides its name. A file with several hard links may change under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    links: u64,
    size: u64,
    changed: (i64, i64),
    modified: (i64, i64),
    /// The digest of its content, if it is small and has several hard links.
    sum: Option<[u8; 32]>,
}

impl Stamp {
    /// Reads the facts about the file at a path; `None` if there is no regular file.
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

    /// Whether the file has other hard links.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.links > 1
    }
}

impl ProtectedEntry {
    /// Whether the entry is a symbolic link.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.link_target.is_some()
    }

    /// Whether the entry is a file with other hard links.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.file.as_ref().is_some_and(Stamp::is_linked)
    }

    /// Whether the entry differs from an older one. A file with one name was covered, so its content cannot have changed.
    #[must_use]
    pub fn is_other_than(&self, old: &Self) -> bool {
        let linked = old.is_linked() || self.is_linked();
        old.inode != self.inode || old.link_target != self.link_target || linked && old.file != self.file
    }

    /// Describes the file at a path as it is now.
    pub(super) fn at(path: &Path, denial: Denial, reason: String, kind: EntryKind) -> Option<Self> {
        let stat = fs::symlink_metadata(path).ok()?;
        let link_target = stat.is_symlink().then(|| fs::read_link(path).unwrap_or_default());
        let file = Stamp::of(path, &stat);
        Some(Self { denial, reason, inode: stat.ino(), link_target, kind, pointers: Vec::new(), file })
    }
}
