//! Answers the notifications of the seccomp filter: refuses the call and records it, using register values only.

use std::fs;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};

use super::filter;
use super::violation::{Attempt, Violation};

/// The maximum number of different violations that are reported.
const MAX_REPORTS: usize = 32;

/// The descriptor of the filter, and the violations reported so far.
pub(super) struct RefusalListener {
    listener: OwnedFd,
    reported: Vec<Violation>,
}

impl RefusalListener {
    pub(super) fn new(listener: OwnedFd) -> Self {
        Self { listener, reported: Vec::new() }
    }

    pub(super) fn listener(&self) -> &OwnedFd {
        &self.listener
    }

    /// Refuses one call. Returns the violation if it has not been reported before.
    pub(super) fn refuse_next(&mut self) -> Option<Violation> {
        // SAFETY: all zero is a valid value of these plain structures.
        let (mut call, mut answer): (libc::seccomp_notif, libc::seccomp_notif_resp) =
            unsafe { mem::zeroed() };
        let fd = self.listener.as_raw_fd();
        // SAFETY: the structure has the type for this request, and is all zero.
        if unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_RECV as _, &mut call) } != 0 {
            return None;
        }
        let program = fs::read_to_string(format!("/proc/{}/comm", call.pid)).unwrap_or_default();
        // SAFETY: the number lives. If the process is gone, the name may belong to another process.
        let same = unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _, &call.id) } == 0;
        answer.id = call.id;
        answer.error = -libc::EPERM;
        // SAFETY: the structure has the type for this request. The call fails if the process is gone.
        unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_SEND as _, &mut answer) };
        if !same {
            return None;
        }
        let [first, second, ..] = call.data.args;
        let number = call.data.nr;
        // The C library tries the name service daemon before it reads its files. Every program does that.
        let name_service = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        if (i64::from(number), first as i32, second as i32) == (libc::SYS_socket, libc::AF_UNIX, name_service)
        {
            return None;
        }
        let attempt = match number.into() {
            libc::SYS_socket => Attempt::Socket(first as i32),
            libc::SYS_socketpair => Attempt::DatagramPair,
            call if filter::mounts(call) => Attempt::Mount(number),
            _ => Attempt::Namespace,
        };
        let violation = Violation { attempt, program: program.trim_end_matches('\n').to_owned() };
        let new = self.reported.len() < MAX_REPORTS && !self.reported.contains(&violation);
        if new {
            self.reported.push(violation.clone());
        }
        new.then_some(violation)
    }
}
