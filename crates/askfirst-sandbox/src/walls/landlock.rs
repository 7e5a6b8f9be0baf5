//! Landlock, by its three system calls: every right that this kernel knows is handled, and one that cannot be is an
//! error. Nothing here is done as well as possible; it is done or refused.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use super::sys;

/// The oldest version that the full tier takes: there it stands behind the mounts.
pub(crate) const LEAST_FULL: u32 = 1;
/// The oldest version that the weaker tier takes: the first that keeps signals and abstract sockets inside.
pub(crate) const LEAST_CONTENT: u32 = 6;

const CREATE_RULESET: libc::c_long = 444;
const ADD_RULE: libc::c_long = 445;
const RESTRICT_SELF: libc::c_long = 446;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

/// What can be done in a folder or with a file.
#[derive(Clone, Copy)]
pub(crate) enum Rights {
    /// Reading, listing and executing.
    Read,
    /// Listing alone.
    List,
    /// Everything.
    Write,
    /// Reading and writing what is there, but making nothing.
    Use,
}

/// The rules of one process, not yet in force.
pub(crate) struct Rules {
    ruleset: OwnedFd,
    handled: u64,
}

/// Which version this kernel has; an error if it has none.
pub(crate) fn version() -> io::Result<u32> {
    // SAFETY: with this flag no memory is looked at.
    let version = unsafe { libc::syscall(CREATE_RULESET, std::ptr::null::<u8>(), 0_usize, 1_u32) };
    match u32::try_from(version) {
        Ok(0) => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        Ok(version) => Ok(version),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// What rules say about TCP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tcp {
    /// Nothing.
    Free,
    /// Neither connecting nor listening.
    Refused,
}

impl Rules {
    /// Everything is refused that is not allowed by a rule.
    pub(crate) fn new(least: u32, tcp: Tcp) -> io::Result<Self> {
        #[repr(C)]
        struct Attributes {
            files: u64,
            net: u64,
            scoped: u64,
        }
        let version = version()?;
        if version < least {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let rights = match version {
            1 => 13,
            2 => 14,
            3 | 4 => 15,
            _ => 16,
        };
        let handled = (1 << rights) - 1;
        let net = if version >= 4 && tcp == Tcp::Refused { 0b11 } else { 0 };
        let scoped = if version >= 6 { 0b11 } else { 0 };
        let size = match version {
            1..=3 => 8_usize,
            4 | 5 => 16,
            _ => 24,
        };
        let attributes = Attributes { files: handled, net, scoped };
        // SAFETY: the structure lives and is at least as large as is said.
        let fd = unsafe { libc::syscall(CREATE_RULESET, &attributes, size, 0_u32) };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the call has just made this descriptor.
        Ok(Self { ruleset: unsafe { OwnedFd::from_raw_fd(fd) }, handled })
    }

    /// Allows something at a path and below it.
    pub(crate) fn allow(&self, path: &Path, rights: Rights) -> io::Result<()> {
        let handle = sys::look(libc::AT_FDCWD, &sys::c_path(path)?)?;
        self.allow_at(handle.as_fd(), rights)
    }

    pub(crate) fn allow_at(&self, handle: BorrowedFd<'_>, rights: Rights) -> io::Result<()> {
        #[repr(C, packed)]
        struct Beneath {
            allowed: u64,
            parent: i32,
        }
        let wanted = match rights {
            Rights::Read => EXECUTE | READ_FILE | READ_DIR,
            Rights::List => READ_DIR,
            Rights::Write => self.handled,
            Rights::Use => READ_FILE | WRITE_FILE | READ_DIR | TRUNCATE | IOCTL_DEV,
        };
        let is_folder = sys::stat(handle)?.st_mode & libc::S_IFMT == libc::S_IFDIR;
        let of_files = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
        let allowed = wanted & self.handled & if is_folder { !0 } else { of_files };
        if allowed == 0 {
            return Ok(());
        }
        let rule = Beneath { allowed, parent: handle.as_raw_fd() };
        // SAFETY: the structure is as this kind of rule wants it.
        let result = unsafe { libc::syscall(ADD_RULE, self.ruleset.as_raw_fd(), 1, &rule, 0_u32) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// From now on, for this thread and what it starts. Privileges must have been given up.
    pub(crate) fn enforce(self) -> io::Result<()> {
        // SAFETY: no memory is passed.
        let result = unsafe { libc::syscall(RESTRICT_SELF, self.ruleset.as_raw_fd(), 0_u32) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
