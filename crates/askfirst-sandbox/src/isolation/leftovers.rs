//! Ends the processes that a program leaves behind, and reports how many there were and where they listened.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::{Duration, Instant};

use libc::{c_int, pid_t};

use crate::process::{self, Process, ProcessState};

/// How long such processes may take to end by themselves, for example after their parent has closed a pipe.
const GRACE: Duration = Duration::from_millis(100);

/// The state of a listening socket in the kernel's lists.
const LISTENING: &str = "0A";

/// The children of this process, which is PID 1 of its namespace. Without children, no other process is left there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Children {
    None,
    Some,
}

/// Collects one child that has ended, or waits for one.
pub(super) fn collect(options: c_int) -> io::Result<Children> {
    let mut status = 0;
    // SAFETY: the number lives.
    if unsafe { libc::waitpid(-1, &mut status, options | libc::__WALL) } >= 0 {
        return Ok(Children::Some);
    }
    match io::Error::last_os_error() {
        cause if cause.raw_os_error() == Some(libc::ECHILD) => Ok(Children::None),
        cause if cause.kind() == io::ErrorKind::Interrupted => Ok(Children::Some),
        cause => Err(cause),
    }
}

/// Waits a moment until the remaining processes have ended.
pub(super) fn wait_for_all() -> io::Result<Children> {
    let until = Instant::now() + GRACE;
    loop {
        let mut ended = 0;
        // SAFETY: the number lives.
        while unsafe { libc::waitpid(-1, &mut ended, libc::WNOHANG | libc::__WALL) } > 0 {}
        match collect(libc::WNOHANG)? {
            Children::None => return Ok(Children::None),
            Children::Some => {}
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Children::Some);
        }
        wait_for_signal(left);
    }
}

/// Waits until a child ends. That signal is blocked in this process.
fn wait_for_signal(longest: Duration) {
    let longest = libc::timespec { tv_sec: 0, tv_nsec: longest.subsec_nanos().into() };
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call initialises the set; a null pointer means that the signal is not described.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        libc::sigtimedwait(set.as_ptr(), ptr::null_mut(), &longest);
    }
}

/// Kills the remaining processes and waits until all are gone.
pub(super) fn kill_all() -> io::Result<()> {
    loop {
        // SAFETY: no memory is passed. In its own pid namespace, the call reaches no process outside and not this one.
        unsafe { libc::kill(-1, libc::SIGKILL) };
        match collect(0)? {
            Children::None => return Ok(()),
            Children::Some => {}
        }
    }
}

/// The number of processes that run, apart from this one and the program.
pub(super) fn count(program: pid_t) -> u32 {
    let pids = process::pids().into_iter().flatten().filter(|pid| *pid != 1 && *pid != program);
    let running = pids.filter_map(Process::read).filter(|process| process.state != ProcessState::Ended);
    u32::try_from(running.count()).unwrap_or(u32::MAX)
}

/// The TCP ports on which a process in this network listens.
pub(super) fn listening_ports() -> Vec<u16> {
    let lists = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/self/net/{name}")));
    let mut ports: Vec<u16> = lists.iter().flatten().flat_map(|list| list.lines().filter_map(port)).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// The port of a line of the kernel's list, if its socket listens.
fn port(line: &str) -> Option<u16> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (local, _remote, state) = (fields.next()?, fields.next()?, fields.next()?);
    let (_, port) = local.rsplit_once(':')?;
    if state == LISTENING { u16::from_str_radix(port, 16).ok() } else { None }
}

#[cfg(test)]
#[path = "leftovers/tests.rs"]
mod tests;
