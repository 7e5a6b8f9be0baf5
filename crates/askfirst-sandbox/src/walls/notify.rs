//! What the filter refuses and the kernel tells: it is refused here too, and noted by what the registers said.

use std::fs;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};

use super::filter;
use super::violation::{Tried, Violation};

/// So many different ones are told.
const MOST: usize = 32;

/// The end at which the kernel tells.
pub(super) struct Notices {
    listener: OwnedFd,
    told: Vec<Violation>,
}

impl Notices {
    pub(super) fn new(listener: OwnedFd) -> Self {
        Self { listener, told: Vec::new() }
    }

    pub(super) fn listener(&self) -> &OwnedFd {
        &self.listener
    }

    /// Refuses one call. Gives it if it has not been told before.
    pub(super) fn answer(&mut self) -> Option<Violation> {
        // SAFETY: all zero is a valid value of these plain structures.
        let (mut call, mut answer): (libc::seccomp_notif, libc::seccomp_notif_resp) =
            unsafe { mem::zeroed() };
        let fd = self.listener.as_raw_fd();
        // SAFETY: the structure is as this request wants it, and all zero.
        if unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_RECV as _, &mut call) } != 0 {
            return None;
        }
        let program = fs::read_to_string(format!("/proc/{}/comm", call.pid)).unwrap_or_default();
        // SAFETY: the number lives. If the process is gone, its name may be another's.
        let same = unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _, &call.id) } == 0;
        answer.id = call.id;
        answer.error = -libc::EPERM;
        // SAFETY: the structure is as this request wants it. It fails if the process is gone.
        unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_SEND as _, &mut answer) };
        if !same {
            return None;
        }
        let [first, second, ..] = call.data.args;
        let number = call.data.nr;
        // The C library looks for a service of names before it reads its files: every program does that.
        let looks_for_names = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        if (i64::from(number), first as i32, second as i32)
            == (libc::SYS_socket, libc::AF_UNIX, looks_for_names)
        {
            return None;
        }
        let tried = match number.into() {
            libc::SYS_socket => Tried::Socket(first as i32),
            libc::SYS_socketpair => Tried::DatagramPair,
            call if filter::mounts(call) => Tried::Mount(number),
            _ => Tried::Namespace,
        };
        let violation = Violation { tried, program: program.trim_end_matches('\n').to_owned() };
        let new = self.told.len() < MOST && !self.told.contains(&violation);
        if new {
            self.told.push(violation.clone());
        }
        new.then_some(violation)
    }
}
