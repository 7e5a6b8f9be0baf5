//! Reads small git files and folders, without blocking and without opening anything but regular files.
//!
//! The three results are always distinguished: it does not exist, its content, or it cannot be read.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// A larger file is not read, and then nothing starts.
pub(super) const MAX_SIZE: u64 = 1 << 20;

/// Returns the content of a small file; `None` if there is no file.
///
/// # Errors
///
/// Fails if something is there and cannot be read, since it is too large, not a regular file, or held by another process.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // Opening with `O_PATH` has no side effect, whatever kind of file it is.
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
        // Names no settings, as in `GIT_CONFIG_GLOBAL=/dev/null`.
        FileType::CharacterDevice if path == Path::new("/dev/null") => return Ok(None),
        _ => return Err(io::Error::other("it is not a regular file")),
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(format!("/proc/self/fd/{}", place.as_raw_fd()), flags, Mode::empty())?;
    let mut bytes = Vec::new();
    File::from(file).take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_SIZE {
        true => Err(io::Error::other("it is larger than 1 MiB")),
        false => Ok(Some(bytes)),
    }
}

/// Opens a folder without following any link.
///
/// # Errors
///
/// Fails if there is none, or if the path contains a link.
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

/// Resolves a path completely; `None` if the result does not exist.
///
/// # Errors
///
/// Fails if the path cannot be looked up.
pub(super) fn real(path: &Path) -> io::Result<Option<PathBuf>> {
    match path.canonicalize() {
        Ok(real) => Ok(Some(real)),
        Err(cause) if is_nowhere(&cause) => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// Whether an error says that a path leads to nothing, for every user.
pub(super) fn is_nowhere(cause: &io::Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory, io::ErrorKind::InvalidInput];
    kinds.contains(&cause.kind()) || cause.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

#[cfg(test)]
#[path = "reading/tests.rs"]
mod tests;
