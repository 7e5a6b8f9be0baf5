//! The self-test of the helper inside the sandbox. A tier counts only if it refuses what it must refuse.

use std::fs;
use std::io;

use super::order::{Backend, Order, SetupError};
use super::sys;

/// Fails with the name of the check unless it holds.
fn must(check: &str, holds: bool) -> Result<(), SetupError> {
    if holds {
        return Ok(());
    }
    Err(SetupError { step: format!("testing {check}"), cause: io::Error::from_raw_os_error(libc::EPERM) })
}

/// Fails if one check does not hold.
pub(super) fn run(order: &Order) -> Result<(), SetupError> {
    let failed = SetupError::at::<io::Error>;
    must(
        "`no_new_privs`",
        sys::prctl(libc::PR_GET_NO_NEW_PRIVS, 0).map_err(failed("testing the sandbox"))? == 1,
    )?;
    must("the filter", sys::prctl(libc::PR_GET_SECCOMP, 0).map_err(failed("testing the sandbox"))? == 2)?;
    must("capabilities", sys::capabilities().map_err(failed("testing the sandbox"))? == 0)?;
    // SAFETY: no memory is passed.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0) };
    must("sockets", socket < 0)?;
    match order.backend {
        Backend::Namespaces | Backend::Bubblewrap => {
            must("the pid namespace", std::process::id() < 8)?;
            must("the read-only root", fs::create_dir("/askfirst-sandbox").is_err())?;
            must("hidden system files", !fs::exists("/sys/kernel").unwrap_or(true))
        }
        Backend::ContentOnly => must("hidden system files", fs::read("/etc/shadow").is_err()),
    }
}
