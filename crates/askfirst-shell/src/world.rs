//! The file system as this crate sees it: one trait. The crate does no I/O of its own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::real;

/// The kind of a file system entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, a pipe, a socket, or an entry whose kind cannot be read.
    Other,
}

/// The kind and the length of a file system entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// The kind.
    pub kind: FileKind,
    /// The length of a regular file in bytes; 0 for every other kind.
    pub length: u64,
}

/// The answer to the question whether a path is a symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// It is a link with this target, which may be relative.
    To(PathBuf),
    /// It is something else, or it cannot be read.
    NoLink,
    /// There is nothing at the path.
    Missing,
}

/// The entries of a folder, without `.` and `..`, in the order of the file system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// All names, one behind the other.
    names: Vec<u8>,
    /// For each entry, the position where its name ends, and its kind.
    ends: Vec<(usize, FileKind)>,
    cut: bool,
}

impl Listing {
    /// Adds an entry.
    pub fn push(&mut self, name: &OsStr, kind: FileKind) {
        self.names.extend_from_slice(name.as_bytes());
        self.ends.push((self.names.len(), kind));
    }

    /// Notes that the folder has further entries, because of the limit or because of an error.
    pub fn cut(&mut self) {
        self.cut = true;
    }

    /// Whether the folder has further entries.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Each entry: its name and its kind.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, FileKind)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, kind)| {
            let name = self.names.get(start..*end).unwrap_or_default();
            start = *end;
            (OsStr::from_bytes(name), *kind)
        })
    }
}

/// The file system, and the home folder of the user. It answers questions and changes nothing.
///
/// An entry that cannot be looked at, for whatever reason, counts as one that is not there.
pub trait World {
    /// The home folder of the user.
    fn home(&self) -> Option<&Path>;

    /// The kind and length of an entry. A link is a link.
    fn info(&self, path: &Path) -> Option<FileInfo>;

    /// The kind and length of the entry that a path leads to, all links followed.
    fn info_behind(&self, path: &Path) -> Option<FileInfo>;

    /// The first bytes of a file, links followed: at most `limit`.
    fn read(&self, path: &Path, limit: u64) -> Option<Vec<u8>>;

    /// The entries of a folder, links followed: at most `limit`.
    fn list(&self, folder: &Path, limit: usize) -> Option<Listing>;

    /// Whether a path is a link, and its target. Most paths are none, so the answer for them should be cheap.
    fn link(&self, path: &Path) -> Link;

    /// Whether there is an entry. A link counts, wherever it leads.
    fn exists(&self, path: &Path) -> bool {
        self.info(path).is_some()
    }

    /// Whether a path is a link.
    fn is_link(&self, path: &Path) -> bool {
        self.info(path).is_some_and(|info| info.kind == FileKind::Link)
    }

    /// Whether a path leads to a regular file, links followed.
    fn is_file(&self, path: &Path) -> bool {
        self.info_behind(path).is_some_and(|info| info.kind == FileKind::File)
    }

    /// Whether a path leads to a folder, links followed.
    fn is_folder(&self, path: &Path) -> bool {
        self.info_behind(path).is_some_and(|info| info.kind == FileKind::Folder)
    }

    /// The first bytes of a file as text. Nothing if they are not UTF-8.
    fn read_text(&self, path: &Path, limit: u64) -> Option<String> {
        String::from_utf8(self.read(path, limit)?).ok()
    }

    /// The place that a path leads to from a folder on whose own way there is no link. The end of the path need not
    /// exist. Nothing if its links go in circles.
    fn resolve(&self, folder: &Path, path: &Path) -> Option<PathBuf> {
        real::follow(self, folder, path)
    }
}

/// A world with an empty root folder, no other entry, and no home.
#[derive(Debug, Clone, Copy, Default)]
pub struct Empty;

impl Empty {
    fn root(path: &Path) -> Option<FileInfo> {
        (path == Path::new("/")).then_some(FileInfo { kind: FileKind::Folder, length: 0 })
    }
}

impl World for Empty {
    fn home(&self) -> Option<&Path> {
        None
    }

    fn info(&self, path: &Path) -> Option<FileInfo> {
        Self::root(path)
    }

    fn info_behind(&self, path: &Path) -> Option<FileInfo> {
        Self::root(path)
    }

    fn read(&self, _: &Path, _: u64) -> Option<Vec<u8>> {
        None
    }

    fn list(&self, folder: &Path, _: usize) -> Option<Listing> {
        Self::root(folder).map(|_| Listing::default())
    }

    fn link(&self, path: &Path) -> Link {
        Self::root(path).map_or(Link::Missing, |_| Link::NoLink)
    }
}

#[cfg(test)]
#[path = "world/tests.rs"]
pub(crate) mod tests;
