//! Kills a program and every process that descends from it, without a warning signal first.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus};

use crate::marker::Marker;
use crate::reaper;
#[cfg(target_os = "linux")]
use crate::search::{Doubt, Scan, Search};

/// How long to wait for killed processes to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to scan again while no process is found but one may have been missed. On a busy machine, one of ours may take
/// long to execute another program.
#[cfg(target_os = "linux")]
const DOUBT_TIMEOUT: Duration = Duration::from_millis(250);

/// A program and its descendants. Dropping it kills them.
pub(crate) struct Tree<'a> {
    pid: Pid,
    hold: PidHold,
    #[cfg(target_os = "linux")]
    search: Search<'a>,
    #[cfg(not(target_os = "linux"))]
    _marker: &'a Marker,
}

/// Whether the pid of the program, which is also its process group and session id, still belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PidHold {
    /// The pid is still held: the program is alive, or its exit status is not collected before the rest is killed.
    Held,
    /// Another part of this process has collected the exit status.
    Lost,
    /// The tree is finished and the pid is released.
    Released,
}

/// Whether this system allows finding and killing the processes later. If not, nothing is started.
#[cfg(target_os = "linux")]
pub(crate) fn can_kill() -> io::Result<()> {
    std::fs::metadata("/proc/self/environ").map(drop)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn can_kill() -> io::Result<()> {
    Ok(())
}

impl<'a> Tree<'a> {
    /// Takes over a program that was just started with this mark.
    pub(crate) fn new(pid: Pid, marker: &'a Marker) -> Self {
        Self {
            pid,
            hold: PidHold::Held,
            #[cfg(target_os = "linux")]
            search: Search::new(pid.as_raw_nonzero().get(), marker),
            #[cfg(not(target_os = "linux"))]
            _marker: marker,
        }
    }

    pub(crate) fn hold(&self) -> PidHold {
        self.hold
    }

    /// Returns how the program ended, or `None` while it runs.
    pub(crate) fn ended(&mut self) -> io::Result<Option<WaitIdStatus>> {
        self.wait(WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
    }

    fn wait(&mut self, options: WaitIdOptions) -> io::Result<Option<WaitIdStatus>> {
        let status = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::Pid(self.pid), options));
        if status.as_ref().err() == Some(&Errno::CHILD) {
            self.hold = PidHold::Lost;
        }
        Ok(status?)
    }

    /// Kills the remaining processes and collects the program. Returns the processes that could not be killed.
    pub(crate) fn end(mut self) -> io::Result<Vec<i32>> {
        self.finish()
    }

    /// Releases a helper process that has reported that nothing is left of its program, and that keeps running.
    pub(crate) fn release(mut self) -> io::Result<()> {
        self.hold = PidHold::Released;
        Ok(())
    }

    /// Leaves a process that has left nothing behind and has ended or is about to. The reaper collects it.
    pub(crate) fn leave(mut self, exit: Option<OwnedFd>) -> io::Result<()> {
        match exit {
            Some(exit) => reaper::reap_later(exit),
            None => drop(self.wait(WaitIdOptions::EXITED)?),
        }
        self.hold = PidHold::Released;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Vec<i32>> {
        let survivors = self.kill();
        match self.hold {
            // Do not wait: a process that could not be killed cannot be collected either.
            PidHold::Held => drop(self.wait(WaitIdOptions::EXITED | WaitIdOptions::NOHANG)),
            PidHold::Lost | PidHold::Released => {}
        }
        self.hold = PidHold::Released;
        survivors
    }

    /// Signals the whole group at once, before one of its processes can start another.
    fn signal_group(&self, signal: Signal) {
        match self.hold {
            // This fails if the group is empty or we may not signal it. The search finds living processes anyway.
            PidHold::Held => {
                let _ = rustix::process::kill_process_group(self.pid, signal);
            }
            PidHold::Lost | PidHold::Released => {}
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn kill(&mut self) -> io::Result<Vec<i32>> {
        self.signal_group(Signal::KILL);
        let mut backoff = Backoff::new();
        while self.hold == PidHold::Held && self.ended()?.is_none() {
            if backoff.is_over() {
                return Ok(vec![self.pid.as_raw_nonzero().get()]);
            }
        }
        Ok(Vec::new())
    }

    #[cfg(target_os = "linux")]
    fn kill(&mut self) -> io::Result<Vec<i32>> {
        if self.search.started_last(self.hold) {
            return Ok(Vec::new());
        }
        let halted = self.halt();
        self.signal_group(Signal::KILL);
        let halted = halted?;
        if halted.alive.is_empty() && halted.doubt == Doubt::None {
            return Ok(Vec::new());
        }
        let mut backoff = Backoff::new();
        let begun = Instant::now();
        loop {
            let seen = self.search.signal_all(self.hold, Signal::KILL)?;
            if seen.alive.is_empty() {
                match seen.doubt {
                    Doubt::None => return Ok(Vec::new()),
                    Doubt::Some if begun.elapsed() >= DOUBT_TIMEOUT => return Ok(Vec::new()),
                    Doubt::Some => {}
                }
            }
            if backoff.is_over() {
                return Ok(seen.alive.iter().map(|process| process.pid).collect());
            }
        }
    }

    /// Stops all processes before any is killed. Otherwise the children of a killed parent would lose their connection to
    /// it, and new processes of a running parent would be missed.
    #[cfg(target_os = "linux")]
    fn halt(&mut self) -> io::Result<Scan> {
        self.signal_group(Signal::STOP);
        let mut backoff = Backoff::new();
        loop {
            let seen = self.search.signal_all(self.hold, Signal::STOP)?;
            if seen.fresh == 0 || backoff.is_over() {
                return Ok(seen);
            }
        }
    }
}

impl Drop for Tree<'_> {
    fn drop(&mut self) {
        match self.hold {
            PidHold::Held | PidHold::Lost => drop(self.finish()),
            PidHold::Released => {}
        }
    }
}

/// Growing pauses until a deadline.
struct Backoff {
    until: Instant,
    pause: Duration,
}

impl Backoff {
    fn new() -> Self {
        Self { until: Instant::now() + KILL_TIMEOUT, pause: Duration::from_micros(500) }
    }

    /// Pauses, or returns true if the deadline has passed.
    fn is_over(&mut self) -> bool {
        let over = Instant::now() >= self.until;
        if !over {
            thread::sleep(self.pause);
            self.pause = (self.pause * 2).min(Duration::from_millis(20));
        }
        over
    }
}
