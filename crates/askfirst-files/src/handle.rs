//! The only module that opens files: it opens everything beneath a folder that is already open.
//!
//! The kernel decides where a path leads, and it never follows a path outside its folder.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat};
use rustix::io::Errno;
use rustix::path::DecInt;

/// Whether a lookup follows links. No lookup follows a link outside its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkPolicy {
    /// Follow all links.
    Follow,
    /// Treat any link as an error.
    Refuse,
    /// Follow links, except for the last part of the path.
    KeepLast,
}

/// The kind of an object on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    File,
    Folder,
    Link,
    /// A device, a pipe or a socket.
    Other(&'static str),
}

impl ObjectKind {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self::of_type(FileType::from_raw_mode(stat.st_mode))
    }

    pub(crate) fn of_type(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Other("pipe"),
            FileType::Socket => Self::Other("socket"),
            FileType::CharacterDevice | FileType::BlockDevice => Self::Other("device"),
            FileType::Unknown => Self::Other("file of an unknown kind"),
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Link => "link",
            Self::Other(kind) => kind,
        }
    }
}

/// How often to try again if another process renames folders during the lookup.
#[cfg(target_os = "linux")]
const TRIES: usize = 32;

/// Opens a path beneath a folder.
#[cfg(target_os = "linux")]
pub(crate) fn open_beneath(
    folder: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    links: LinkPolicy,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    if flags.contains(OFlags::PATH) {
        flags -= OFlags::NOCTTY;
    }
    match links {
        LinkPolicy::Follow => {}
        LinkPolicy::Refuse => {
            resolve |= ResolveFlags::NO_SYMLINKS;
            flags |= OFlags::NOFOLLOW;
        }
        LinkPolicy::KeepLast => flags |= OFlags::NOFOLLOW,
    }
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let mut tried = 0;
    loop {
        match rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if tried < TRIES => tried += 1,
            opened => return opened,
        }
    }
}

/// Always fails, because only Linux can confine a lookup to a folder.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_beneath(_: BorrowedFd<'_>, _: &Path, _: OFlags, _: LinkPolicy) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Opens a folder by its absolute path. Used once for each root.
pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Asks the kernel for the current path of an open file. Fails if the file was deleted.
pub(crate) fn real_path(handle: impl AsFd) -> Result<PathBuf, Errno> {
    let handle = handle.as_fd();
    let link = ["/proc/self/fd/", DecInt::from_fd(handle).as_str()].concat();
    let mut buffer = [0_u8; 512];
    let path = match rustix::fs::readlinkat_raw(CWD, &link, &mut buffer)? {
        // A full buffer may hold a truncated path.
        length if length == buffer.len() => rustix::fs::readlink(link, Vec::new())?.into_bytes(),
        length => buffer.get(..length).unwrap_or_default().to_vec(),
    };
    // The kernel appends this text to the path of a deleted file. A file name may also end with it.
    if path.ends_with(b" (deleted)") && fstat(handle)?.st_nlink == 0 {
        return Err(Errno::NOENT);
    }
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    if path.is_absolute() { Ok(path) } else { Err(Errno::NOENT) }
}

/// Returns true if two lookups found the same file.
pub(crate) fn is_same_file(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

/// Inspects a name in a folder without following a link. Returns `None` if the name does not exist.
pub(crate) fn stat_name(folder: impl AsFd, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a file for reading. Does not wait for the other end of a pipe, and does not take over a terminal.
pub(crate) fn open_file(folder: BorrowedFd<'_>, path: &Path) -> Result<File, Errno> {
    let file = open_beneath(folder, path, OFlags::RDONLY | OFlags::NONBLOCK, LinkPolicy::Refuse)?;
    Ok(File::from(file))
}

/// Opens a folder for reading.
pub(crate) fn open_folder(above: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    open_beneath(above, path, OFlags::RDONLY | OFlags::DIRECTORY, LinkPolicy::Refuse)
}

/// Returns the size of a file in bytes.
pub(crate) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

#[cfg(test)]
#[path = "handle/tests.rs"]
mod tests;
