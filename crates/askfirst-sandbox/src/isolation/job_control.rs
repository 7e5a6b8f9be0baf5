//! Job control for a program that is attached to the launcher's terminal, on the side of PID 1.
//!
//! The program has its own process group. So it cannot signal its launcher through the group, and the keys of the terminal
//! reach only the program. When the program stops, PID 1 reports it, and the launcher stops too. The launcher then says
//! when the program resumes, and whether in the foreground.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use libc::{c_int, pid_t};
use rustix::process::Pid;

use super::order::Order;
use crate::terminal::TerminalAccess;

/// The descriptor at which the launcher passes the pipe for resume messages.
pub(super) const RESUME: RawFd = 5;

/// The state of an attached program.
pub(super) struct JobControl {
    resume: OwnedFd,
    state: RunState,
}

/// Whether the program runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunState {
    Running,
    Stopped,
}

impl JobControl {
    /// Returns `None` if the program is not attached.
    pub(super) fn of(order: &Order) -> Option<Self> {
        match order.terminal {
            TerminalAccess::Detached => None,
            // SAFETY: the launcher has passed this descriptor, and no other code in this process uses it.
            TerminalAccess::Foreground | TerminalAccess::Background => {
                Some(Self { resume: unsafe { OwnedFd::from_raw_fd(RESUME) }, state: RunState::Running })
            }
        }
    }

    pub(super) fn resume_fd(&self) -> &OwnedFd {
        &self.resume
    }

    pub(super) fn set_stopped(&mut self) {
        self.state = RunState::Stopped;
    }

    /// Forwards a signal that was sent to PID 1, or that the terminal sent while PID 1 is in the foreground.
    ///
    /// A launcher that stops signals its whole group. A program that has already stopped does not need that signal.
    pub(super) fn forward(&self, signal: c_int, program: pid_t) {
        if !(signal == libc::SIGTSTP && self.state == RunState::Stopped) {
            signal_group(signal, program);
        }
    }

    /// Resumes the program as the launcher says. Fails if the launcher will send no more messages.
    pub(super) fn resume(&mut self, program: pid_t) -> io::Result<()> {
        let mut message = [0];
        rustix::io::retry_on_intr(|| rustix::io::read(&self.resume, &mut message))?;
        match TerminalAccess::from_resume_message(message) {
            Some(TerminalAccess::Foreground) => {
                // If this fails, the program stops again as soon as it uses the terminal.
                let _ = Pid::from_raw(program).map(move_to_foreground);
            }
            Some(TerminalAccess::Background | TerminalAccess::Detached) => {}
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        self.state = RunState::Running;
        signal_group(libc::SIGCONT, program);
        Ok(())
    }
}

/// Runs in the child before the exec: creates its process group and takes the terminal if it may.
pub(super) fn join_terminal(terminal: TerminalAccess) -> io::Result<()> {
    rustix::process::setpgid(None, None)?;
    match terminal {
        TerminalAccess::Foreground => move_to_foreground(rustix::process::getpid()),
        TerminalAccess::Background | TerminalAccess::Detached => Ok(()),
    }
}

/// Moves a group to the foreground of our terminal. A background process may do that while it blocks `SIGTTOU`.
fn move_to_foreground(group: Pid) -> io::Result<()> {
    Ok(rustix::termios::tcsetpgrp(File::open("/dev/tty")?, group)?)
}

/// Signals the group of the program, or only the program if it has moved to another group.
fn signal_group(signal: c_int, program: pid_t) {
    // SAFETY: no memory is passed. If no process is left, the calls fail without effect.
    unsafe {
        if libc::kill(-program, signal) != 0 {
            libc::kill(program, signal);
        }
    }
}
