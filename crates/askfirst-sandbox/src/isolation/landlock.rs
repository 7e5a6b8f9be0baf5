//! Creates and enforces Landlock rules with its three system calls.
//!
//! The rules handle every right that this kernel knows. Anything that cannot be enforced is an error: there is no best
//! effort.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use super::sys;

/// The oldest version for the full tier, where Landlock is a second line of defense behind the mounts.
pub(crate) const MIN_VERSION_FULL: u32 = 1;
/// The oldest version for the weaker tier: the first that restricts signals and abstract sockets.
pub(crate) const MIN_VERSION_CONTENT_ONLY: u32 = 6;

const CREATE_RULESET: libc::c_long = 444;
const ADD_RULE: libc::c_long = 445;
const RESTRICT_SELF: libc::c_long = 446;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;

/// The access that a rule allows for a folder or file.
#[derive(Clone, Copy)]
pub(crate) enum AccessRights {
    /// Reading, listing and executing.
    Read,
    /// Listing alone.
    List,
    /// All access.
    Write,
    /// Reading and writing existing files, without creating any.
    Use,
}

/// The Landlock rules for one process, not yet enforced.
pub(crate) struct Ruleset {
    ruleset: OwnedFd,
    handled: u64,
}

/// Returns the Landlock version of this kernel, or an error if it has none.
pub(crate) fn version() -> io::Result<u32> {
    // SAFETY: with this flag, the kernel reads no memory.
    let version = unsafe { libc::syscall(CREATE_RULESET, std::ptr::null::<u8>(), 0_usize, 1_u32) };
    match u32::try_from(version) {
        Ok(0) => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        Ok(version) => Ok(version),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// How the rules treat TCP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tcp {
    /// Without restriction.
    Free,
    /// No connecting and no listening.
    Refused,
}

impl Ruleset {
    /// Creates rules that deny everything until something is allowed.
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
        // SAFETY: the structure lives and is at least as large as the given size.
        let fd = unsafe { libc::syscall(CREATE_RULESET, &attributes, size, 0_u32) };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the call has just created this descriptor.
        Ok(Self { ruleset: unsafe { OwnedFd::from_raw_fd(fd) }, handled })
    }

    /// Allows access to a path and everything below it.
    pub(crate) fn allow(&self, path: &Path, rights: AccessRights) -> io::Result<()> {
        let handle = sys::open_path(libc::AT_FDCWD, &sys::c_path(path)?)?;
        self.allow_at(handle.as_fd(), rights)
    }

    pub(crate) fn allow_at(&self, handle: BorrowedFd<'_>, rights: AccessRights) -> io::Result<()> {
        #[repr(C, packed)]
        struct Beneath {
            allowed: u64,
            parent: i32,
        }
        let wanted = match rights {
            AccessRights::Read => EXECUTE | READ_FILE | READ_DIR,
            AccessRights::List => READ_DIR,
            AccessRights::Write => self.handled,
            AccessRights::Use => READ_FILE | WRITE_FILE | READ_DIR | TRUNCATE | IOCTL_DEV,
        };
        let is_folder = sys::stat(handle)?.st_mode & libc::S_IFMT == libc::S_IFDIR;
        let of_files = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
        let allowed = wanted & self.handled & if is_folder { !0 } else { of_files };
        if allowed == 0 {
            return Ok(());
        }
        let rule = Beneath { allowed, parent: handle.as_raw_fd() };
        // SAFETY: the structure has the layout for this kind of rule.
        let result = unsafe { libc::syscall(ADD_RULE, self.ruleset.as_raw_fd(), 1, &rule, 0_u32) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Enforces the rules for this thread and what it starts. `no_new_privs` must be set before.
    pub(crate) fn enforce(&self) -> io::Result<()> {
        // SAFETY: no memory is passed.
        let result = unsafe { libc::syscall(RESTRICT_SELF, self.ruleset.as_raw_fd(), 0_u32) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
