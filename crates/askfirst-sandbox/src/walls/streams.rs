//! The standard streams that are devices are opened again behind the walls. What a program can do to a device depends
//! on the mount by which it was opened: by one of outside, it could give it another mode, owner or time there.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::mounts::DEVICES;
use super::order::Failed;
use super::sys::{self, NO_PROGRAMS, NO_SET_ID, READ_ONLY, Whole};

/// Those of the streams that are devices without blocks, with what they are.
fn devices_among_streams() -> io::Result<Vec<(BorrowedFd<'static>, libc::stat)>> {
    // SAFETY: the launcher has put all three in place, and nothing closes them.
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

/// Opens those again that every program may use, from the new tree.
pub(super) fn devices() -> Result<(), Failed> {
    let open = || {
        for (stream, is) in devices_among_streams()? {
            for name in DEVICES {
                let path = format!("/dev/{name}");
                let inside = sys::look(libc::AT_FDCWD, &sys::c_path(path.as_ref())?)?;
                let inside = sys::stat(inside.as_fd())?;
                if inside.st_mode & libc::S_IFMT == libc::S_IFCHR && inside.st_rdev == is.st_rdev {
                    again(stream, &path)?;
                    break;
                }
            }
        }
        Ok(())
    };
    open().map_err(Failed::at::<io::Error>("opening the streams again"))
}

/// Opens what lies at a path in the way in which a stream was opened, and puts it in its place.
fn again(stream: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(stream)?;
    let access = flags & OFlags::RWMODE;
    let opened = OpenOptions::new()
        .read(access != OFlags::WRONLY)
        .write(access != OFlags::RDONLY)
        // Nobody is waited for, and no terminal is taken.
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    rustix::fs::fcntl_setfl(&opened, flags & (OFlags::APPEND | OFlags::NONBLOCK))?;
    sys::put(opened.as_fd(), stream.as_raw_fd())
}

/// Opens terminals again, by copies of their mounts that are read only: a device can be written there. While the old
/// tree is still there. What is set for a descriptor stays apart from whoever opened it then, too.
pub(super) fn terminals() -> Result<(), Failed> {
    let open = || {
        for (stream, is) in devices_among_streams()? {
            let Some(copy) =
                rustix::termios::isatty(stream).then(|| closed(stream, &is)).transpose()?.flatten()
            else {
                continue;
            };
            match again(stream, &format!("/proc/self/fd/{}", copy.as_raw_fd())) {
                // Only its owner can change it.
                Err(_) if is.st_uid != rustix::process::geteuid().as_raw() => {}
                done => done?,
            }
        }
        Ok(())
    };
    open().map_err(Failed::at::<io::Error>("opening the terminal again"))
}

/// The mount of a terminal, copied and read only. One that somebody outside of a container has opened may have no name
/// here, or only that of the console; without any, it cannot be opened again.
fn closed(stream: BorrowedFd<'_>, is: &libc::stat) -> io::Result<Option<OwnedFd>> {
    let named = fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd()))?;
    for path in [named.as_path(), Path::new("/dev/console")] {
        let Ok(handle) = sys::look(libc::AT_FDCWD, &sys::c_path(path)?) else { continue };
        let found = sys::stat(handle.as_fd())?;
        if (found.st_dev, found.st_ino) == (is.st_dev, is.st_ino) {
            let copy = sys::copy_tree(handle.as_fd())?;
            sys::set_attributes(copy.as_fd(), READ_ONLY | NO_SET_ID | NO_PROGRAMS, Whole::Mount)?;
            return Ok(Some(copy));
        }
    }
    Ok(None)
}
