//! Reopens standard streams that are devices, inside the sandbox.
//!
//! The mount through which a device was opened limits what a program can do to it. Through a mount of the host, a program
//! could change the mode, owner or times of the device there.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::mounts::DEVICES;
use super::order::SetupError;
use super::sys::{self, MountScope, NO_PROGRAMS, NO_SET_ID, READ_ONLY};

/// Returns the standard streams that are character devices.
fn devices_among_streams() -> io::Result<Vec<(BorrowedFd<'static>, libc::stat)>> {
    // SAFETY: the launcher has passed all three, and nothing closes them.
    let all = [0, 1, 2].map(|number| unsafe { BorrowedFd::borrow_raw(number) });
    let mut found = Vec::new();
    for stream in all {
        let is = sys::stat(stream)?;
        if is.st_mode & libc::S_IFMT == libc::S_IFCHR {
            found.push((stream, is));
        }
    }
    Ok(found)
}

/// Reopens the devices that every program may use, from the new tree.
pub(super) fn reopen_devices() -> Result<(), SetupError> {
    let open = || {
        for (stream, is) in devices_among_streams()? {
            for name in DEVICES {
                let path = format!("/dev/{name}");
                let inside = sys::open_path(libc::AT_FDCWD, &sys::c_path(path.as_ref())?)?;
                let inside = sys::stat(inside.as_fd())?;
                if inside.st_mode & libc::S_IFMT == libc::S_IFCHR && inside.st_rdev == is.st_rdev {
                    reopen(stream, &path)?;
                    break;
                }
            }
        }
        Ok(())
    };
    open().map_err(SetupError::at::<io::Error>("reopening the streams"))
}

/// Opens a path with the flags of a stream, and replaces the stream with it.
fn reopen(stream: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(stream)?;
    let access = flags & OFlags::RWMODE;
    let opened = OpenOptions::new()
        .read(access != OFlags::WRONLY)
        .write(access != OFlags::RDONLY)
        // Do not block, and do not make it the controlling terminal.
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    rustix::fs::fcntl_setfl(&opened, flags & (OFlags::APPEND | OFlags::NONBLOCK))?;
    sys::dup_to(opened.as_fd(), stream.as_raw_fd())
}

/// Reopens terminals through read-only copies of their mounts, on which devices can still be written.
///
/// Must run while the old tree is still attached. Afterwards the program also has its own file description, so flags
/// that it sets do not affect other processes.
pub(super) fn reopen_terminals() -> Result<(), SetupError> {
    let open = || {
        for (stream, is) in devices_among_streams()? {
            let Some(copy) =
                rustix::termios::isatty(stream).then(|| read_only_copy(stream, &is)).transpose()?.flatten()
            else {
                continue;
            };
            match reopen(stream, &format!("/proc/self/fd/{}", copy.as_raw_fd())) {
                // Only the owner could change the terminal, so the original descriptor is safe.
                Err(_) if is.st_uid != rustix::process::geteuid().as_raw() => {}
                done => done?,
            }
        }
        Ok(())
    };
    open().map_err(SetupError::at::<io::Error>("reopening the terminal"))
}

/// Returns a read-only copy of the mount of a terminal.
///
/// A terminal that was opened outside a container may have no name here, or only that of the console. Without a name, it
/// cannot be reopened.
fn read_only_copy(stream: BorrowedFd<'_>, is: &libc::stat) -> io::Result<Option<OwnedFd>> {
    let named = fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd()))?;
    for path in [named.as_path(), Path::new("/dev/console")] {
        let Ok(handle) = sys::open_path(libc::AT_FDCWD, &sys::c_path(path)?) else { continue };
        let found = sys::stat(handle.as_fd())?;
        if (found.st_dev, found.st_ino) == (is.st_dev, is.st_ino) {
            let copy = sys::copy_tree(handle.as_fd())?;
            sys::set_attributes(copy.as_fd(), READ_ONLY | NO_SET_ID | NO_PROGRAMS, MountScope::Mount)?;
            return Ok(Some(copy));
        }
    }
    Ok(None)
}
