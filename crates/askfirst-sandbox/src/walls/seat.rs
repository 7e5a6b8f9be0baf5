//! A program at the terminal of whoever started it. It has a process group of its own: so it cannot signal its starter as
//! one of its group, and the keys of the terminal are for it alone. When it stops, the launcher is told, and stops too;
//! that one says when to go on, and whether in front.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use libc::{c_int, pid_t};
use rustix::process::Pid;

use super::order::Order;
use crate::terminal::Place;

/// Where the launcher puts the pipe by which it says how to go on.
pub(super) const CALLS: RawFd = 5;

/// What PID 1 has to do for such a program.
pub(super) struct Seat {
    calls: OwnedFd,
    program: Program,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Runs,
    Stopped,
}

impl Seat {
    /// If the program has one.
    pub(super) fn of(order: &Order) -> Option<Self> {
        match order.place {
            Place::Apart => None,
            // SAFETY: the launcher has put it there, and nobody else in this process knows it.
            Place::Front | Place::Behind => {
                Some(Self { calls: unsafe { OwnedFd::from_raw_fd(CALLS) }, program: Program::Runs })
            }
        }
    }

    pub(super) fn calls(&self) -> &OwnedFd {
        &self.calls
    }

    pub(super) fn stopped(&mut self) {
        self.program = Program::Stopped;
    }

    /// Passes on what was sent to us, or comes from the terminal while we are in front. A launcher that stops tells its
    /// whole group, and means nobody who has stopped already.
    pub(super) fn pass(&self, signal: c_int, program: pid_t) {
        if !(signal == libc::SIGTSTP && self.program == Program::Stopped) {
            tell_group(signal, program);
        }
    }

    /// Lets the program go on as the launcher says. An error if that one says nothing more.
    pub(super) fn answer(&mut self, program: pid_t) -> io::Result<()> {
        let mut call = [0];
        rustix::io::retry_on_intr(|| rustix::io::read(&self.calls, &mut call))?;
        match Place::of_call(call) {
            Some(Place::Front) => {
                // If it cannot be had, the program stops again as soon as it needs it.
                let _ = Pid::from_raw(program).map(to_front);
            }
            Some(Place::Behind | Place::Apart) => {}
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        self.program = Program::Runs;
        tell_group(libc::SIGCONT, program);
        Ok(())
    }
}

/// In the process that is about to be the program.
pub(super) fn sit_down(place: Place) -> io::Result<()> {
    rustix::process::setpgid(None, None)?;
    match place {
        Place::Front => to_front(rustix::process::getpid()),
        Place::Behind | Place::Apart => Ok(()),
    }
}

/// Brings a group to the front of our terminal, which those behind may do as long as they block the signal against it.
fn to_front(group: Pid) -> io::Result<()> {
    Ok(rustix::termios::tcsetpgrp(File::open("/dev/tty")?, group)?)
}

/// To all of the program's group, or to it alone where it has found itself another.
fn tell_group(signal: c_int, program: pid_t) {
    // SAFETY: no memory is passed. If there is nobody any more, there is nothing to do.
    unsafe {
        if libc::kill(-program, signal) != 0 {
            libc::kill(program, signal);
        }
    }
}
