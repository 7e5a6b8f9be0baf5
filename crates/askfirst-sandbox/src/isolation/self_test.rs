//! The self-test of the helper inside the sandbox, just before the program starts. A tier counts only if it refuses what it
//! must refuse.

use std::fs;
use std::io;
use std::path::Path;

use super::filter::Notification;
use super::order::{Backend, Order, SetupError};
use super::sys;

/// A folder of the system that no sandbox shows unless it is granted.
const HIDDEN: &str = "/sys/kernel";

/// A file that no sandbox lets anyone read unless it is granted.
const UNREADABLE: &str = "/etc/shadow";

/// Fails with the name of the check unless it holds.
fn must(check: &str, holds: bool) -> Result<(), SetupError> {
    if holds {
        return Ok(());
    }
    Err(SetupError { step: format!("testing {check}"), cause: io::Error::from_raw_os_error(libc::EPERM) })
}

/// Fails if one check does not hold.
pub(super) fn run(order: &Order, notification: Notification) -> Result<(), SetupError> {
    let failed = SetupError::at::<io::Error>;
    let testing = "testing the sandbox";
    must("`no_new_privs`", sys::prctl(libc::PR_GET_NO_NEW_PRIVS, 0).map_err(failed(testing))? == 1)?;
    must("the filter", sys::prctl(libc::PR_GET_SECCOMP, 0).map_err(failed(testing))? == 2)?;
    must("the filter", is_missing(sys::open_path(libc::AT_FDCWD, c"/")))?;
    must("capabilities", sys::capabilities().map_err(failed(testing))? == 0)?;
    match notification {
        // SAFETY: no memory is passed.
        Notification::Off => {
            must("sockets", unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0) } < 0)?
        }
        // PID 1 would have to answer, and it is suspended until the program starts.
        Notification::On => {}
    }
    let profile = &order.profile;
    let is_granted = |path: &str| {
        profile.grant_of(Path::new(path)).is_some()
            || profile.system.iter().any(|it| Path::new(path).starts_with(it))
    };
    match order.backend {
        Backend::Namespaces | Backend::Bubblewrap => {
            must("the pid namespace", std::process::id() < 8)?;
            must("the read-only root", fs::create_dir("/askfirst-sandbox").is_err())?;
            must("hidden system files", is_granted(HIDDEN) || !fs::exists(HIDDEN).unwrap_or(true))
        }
        Backend::ContentOnly => {
            must("hidden system files", is_granted(UNREADABLE) || fs::File::open(UNREADABLE).is_err())
        }
    }
}

/// Whether a system call does not exist. The helper itself uses this one, so only the filter can hide it.
fn is_missing<T>(called: io::Result<T>) -> bool {
    called.is_err_and(|cause| cause.raw_os_error() == Some(libc::ENOSYS))
}
