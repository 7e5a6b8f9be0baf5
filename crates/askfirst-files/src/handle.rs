//! The only door to the disk: everything is opened beneath a folder that is already open, by the kernel's rules.
//!
//! No path is compared as text to decide where it leads, and none is followed outside its folder.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat};
use rustix::io::Errno;
use rustix::path::DecInt;

/// Whether links on the way are followed, as long as they stay beneath.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// They are followed.
    Follow,
    /// Any link is an error.
    Refuse,
    /// They are followed on the way; the last part is taken as it is.
    KeepLast,
}

/// What something on the disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A device, a pipe or a socket.
    Other(&'static str),
}

impl Kind {
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
            FileType::Unknown => Self::Other("thing of an unknown kind"),
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

/// How often an opening is tried again when somebody renames folders meanwhile.
#[cfg(target_os = "linux")]
const TRIES: usize = 32;

/// Opens a path beneath a folder.
#[cfg(target_os = "linux")]
pub(crate) fn beneath(
    folder: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    if flags.contains(OFlags::PATH) {
        flags -= OFlags::NOCTTY;
    }
    match links {
        Links::Follow => {}
        Links::Refuse => {
            resolve |= ResolveFlags::NO_SYMLINKS;
            flags |= OFlags::NOFOLLOW;
        }
        Links::KeepLast => flags |= OFlags::NOFOLLOW,
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

/// Opens a path beneath a folder: here nothing can promise that.
#[cfg(not(target_os = "linux"))]
pub(crate) fn beneath(_: BorrowedFd<'_>, _: &Path, _: OFlags, _: Links) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Opens a folder by its path. Only for roots, once.
pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Where an open file lies now, as the kernel says. An error if it lies nowhere any more.
pub(crate) fn real_of(handle: impl AsFd) -> Result<PathBuf, Errno> {
    let handle = handle.as_fd();
    let link = ["/proc/self/fd/", DecInt::from_fd(handle).as_str()].concat();
    let mut room = [0_u8; 512];
    let path = match rustix::fs::readlinkat_raw(CWD, &link, &mut room)? {
        // It may have been cut off.
        length if length == room.len() => rustix::fs::readlink(link, Vec::new())?.into_bytes(),
        length => room.get(..length).unwrap_or_default().to_vec(),
    };
    // The kernel says so at the end of the path; a name may end like that too, but then it is still there.
    if path.ends_with(b" (deleted)") && fstat(handle)?.st_nlink == 0 {
        return Err(Errno::NOENT);
    }
    let path = PathBuf::from(std::ffi::OsString::from_vec(path));
    if path.is_absolute() { Ok(path) } else { Err(Errno::NOENT) }
}

/// Whether two looks saw the same thing.
pub(crate) fn same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

/// What a name in a folder is, a link as itself. Nothing if there is none.
pub(crate) fn look(folder: impl AsFd, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a file for reading. It neither waits for the other end of a pipe nor takes a terminal.
pub(crate) fn readable(folder: BorrowedFd<'_>, path: &Path) -> Result<File, Errno> {
    let file = beneath(folder, path, OFlags::RDONLY | OFlags::NONBLOCK, Links::Refuse)?;
    Ok(File::from(file))
}

/// Opens a folder for reading.
pub(crate) fn folder(above: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    beneath(above, path, OFlags::RDONLY | OFlags::DIRECTORY, Links::Refuse)
}

/// A size that the system gives.
pub(crate) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

#[cfg(test)]
#[path = "handle/tests.rs"]
mod tests;
