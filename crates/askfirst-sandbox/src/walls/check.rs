//! A look around behind the walls, by the helper itself: what must be refused is tried before a tier is said to hold.

use std::fs;
use std::io;

use super::order::{Failed, Order, Way};
use super::sys;

fn must(step: &str, holds: bool) -> Result<(), Failed> {
    if holds {
        return Ok(());
    }
    Err(Failed { step: format!("looking around: {step}"), cause: io::Error::from_raw_os_error(libc::EPERM) })
}

/// Fails if something is not as it should be.
pub(super) fn look_around(order: &Order) -> Result<(), Failed> {
    let look = Failed::at::<io::Error>;
    must(
        "no new privileges",
        sys::control(libc::PR_GET_NO_NEW_PRIVS, 0).map_err(look("looking around"))? == 1,
    )?;
    must("the filter", sys::control(libc::PR_GET_SECCOMP, 0).map_err(look("looking around"))? == 2)?;
    must("capabilities", sys::capabilities().map_err(look("looking around"))? == 0)?;
    // SAFETY: no memory is passed.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0) };
    must("sockets", socket < 0)?;
    match order.way {
        Way::Own | Way::Bubblewrap => {
            must("process numbers", std::process::id() < 8)?;
            must("the root", fs::create_dir("/askfirst-walls").is_err())?;
            must("other files of the system", !fs::exists("/sys/kernel").unwrap_or(true))
        }
        Way::ContentOnly => must("files of the system", fs::read("/etc/shadow").is_err()),
    }
}
