//! Small files of git's and folders, read without waiting for anything and without opening what is no file. There are three
//! outcomes, and they are never taken for each other: it is not there, this is what it says, it cannot be read.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// A larger file is not read, and so nothing starts.
pub(super) const LARGEST: u64 = 1 << 20;

/// The bytes of a small file; nothing if there is no file.
///
/// # Errors
/// Fails if something is there and cannot be read: it is too large, no file, or held by somebody.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // What is opened by its place alone does nothing yet, whatever it is.
    let place = match rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    {
        Ok(place) => place,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        Err(cause) => return Err(cause.into()),
    };
    let stat = rustix::fs::fstat(&place)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Ok(None),
        _ => return Err(io::Error::other("it is no file")),
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(format!("/proc/self/fd/{}", place.as_raw_fd()), flags, Mode::empty())?;
    let mut bytes = Vec::new();
    File::from(file).take(LARGEST + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LARGEST {
        true => Err(io::Error::other("it is larger than 1 MiB")),
        false => Ok(Some(bytes)),
    }
}

/// A folder, without following any link.
///
/// # Errors
/// Fails if there is none, or a link on the way.
pub(super) fn folder_at(path: &Path, how: OFlags) -> io::Result<OwnedFd> {
    let flags = how | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    let folder = rustix::fs::openat2(
        rustix::fs::CWD,
        path,
        flags,
        Mode::empty(),
        rustix::fs::ResolveFlags::NO_SYMLINKS,
    )?;
    #[cfg(not(target_os = "linux"))]
    let folder = rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty())?;
    Ok(folder)
}

/// Where a path leads in the end; nothing if that is not there.
///
/// # Errors
/// Fails if that cannot be looked up.
pub(super) fn real(path: &Path) -> io::Result<Option<PathBuf>> {
    match path.canonicalize() {
        Ok(real) => Ok(Some(real)),
        Err(cause) if is_nowhere(&cause) => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// Whether a path leads to nothing, for anybody.
pub(super) fn is_nowhere(cause: &io::Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory, io::ErrorKind::InvalidInput];
    kinds.contains(&cause.kind()) || cause.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

#[cfg(test)]
#[path = "reading/tests.rs"]
mod tests;
