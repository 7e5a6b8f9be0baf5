//! Ends a program and all that came from it, and nothing else; it does not ask nicely first.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus};

use crate::collect;
use crate::marker::Marker;
#[cfg(target_os = "linux")]
use crate::search::{Doubt, Search, Seen};

/// How long killed processes are waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long all are looked at again if there is a doubt but no process: on a busy machine one of ours may take long to
/// become another program.
#[cfg(target_os = "linux")]
const DOUBT: Duration = Duration::from_millis(250);

/// A program and what came from it. Dropping it ends them.
pub(crate) struct Tree<'a> {
    pid: Pid,
    hold: Hold,
    #[cfg(target_os = "linux")]
    search: Search<'a>,
    #[cfg(not(target_os = "linux"))]
    _marker: &'a Marker,
}

/// Whether the program's pid, and with it the number of its process group and session, is still its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// It is, alive or not: it has not been collected, and is not before the rest has been ended.
    Held,
    /// Somebody else has collected it.
    Lost,
    /// All has been done.
    Over,
}

/// Whether what is started can also be ended: better not to start it than not to find it again.
#[cfg(target_os = "linux")]
pub(crate) fn can_end() -> io::Result<()> {
    std::fs::metadata("/proc/self/environ").map(drop)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn can_end() -> io::Result<()> {
    Ok(())
}

impl<'a> Tree<'a> {
    /// Takes over the program just started with this mark.
    pub(crate) fn new(pid: Pid, marker: &'a Marker) -> Self {
        Self {
            pid,
            hold: Hold::Held,
            #[cfg(target_os = "linux")]
            search: Search::new(pid.as_raw_nonzero().get(), marker),
            #[cfg(not(target_os = "linux"))]
            _marker: marker,
        }
    }

    pub(crate) fn hold(&self) -> Hold {
        self.hold
    }

    /// How the program has ended, if it has.
    pub(crate) fn ended(&mut self) -> io::Result<Option<WaitIdStatus>> {
        self.wait(WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
    }

    fn wait(&mut self, options: WaitIdOptions) -> io::Result<Option<WaitIdStatus>> {
        let status = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::Pid(self.pid), options));
        if status.as_ref().err() == Some(&Errno::CHILD) {
            self.hold = Hold::Lost;
        }
        Ok(status?)
    }

    /// Ends what is left and collects the program. Says which processes would not go.
    pub(crate) fn end(mut self) -> io::Result<Vec<i32>> {
        self.finish()
    }

    /// Lets the process go, which is known to have ended its program and to have left nothing, and goes on by itself.
    pub(crate) fn let_go(mut self) -> io::Result<()> {
        self.hold = Hold::Over;
        Ok(())
    }

    /// Leaves the program, which is known to have left nothing: it has ended, or is about to, and is collected then.
    pub(crate) fn leave(mut self, exit: Option<OwnedFd>) -> io::Result<()> {
        match exit {
            Some(exit) => collect::later(exit),
            None => drop(self.wait(WaitIdOptions::EXITED)?),
        }
        self.hold = Hold::Over;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<Vec<i32>> {
        let survivors = self.kill();
        match self.hold {
            // Without waiting: one that would not go cannot be collected either.
            Hold::Held => drop(self.wait(WaitIdOptions::EXITED | WaitIdOptions::NOHANG)),
            Hold::Lost | Hold::Over => {}
        }
        self.hold = Hold::Over;
        survivors
    }

    /// The group at once, before any of it can start another process.
    fn signal_group(&self, signal: Signal) {
        match self.hold {
            // It fails if nobody is left in it or may be signalled; who is alive is looked up anyway.
            Hold::Held => {
                let _ = rustix::process::kill_process_group(self.pid, signal);
            }
            Hold::Lost | Hold::Over => {}
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn kill(&mut self) -> io::Result<Vec<i32>> {
        self.signal_group(Signal::KILL);
        let mut patience = Patience::new();
        while self.hold == Hold::Held && self.ended()?.is_none() {
            if patience.is_over() {
                return Ok(vec![self.pid.as_raw_nonzero().get()]);
            }
        }
        Ok(Vec::new())
    }

    #[cfg(target_os = "linux")]
    fn kill(&mut self) -> io::Result<Vec<i32>> {
        if self.search.is_last(self.hold) {
            return Ok(Vec::new());
        }
        let halted = self.halt();
        self.signal_group(Signal::KILL);
        let halted = halted?;
        if halted.alive.is_empty() && halted.doubt == Doubt::None {
            return Ok(Vec::new());
        }
        let mut patience = Patience::new();
        let begun = Instant::now();
        loop {
            let seen = self.search.signal_all(self.hold, Signal::KILL)?;
            if seen.alive.is_empty() {
                match seen.doubt {
                    Doubt::None => return Ok(Vec::new()),
                    Doubt::Some if begun.elapsed() >= DOUBT => return Ok(Vec::new()),
                    Doubt::Some => {}
                }
            }
            if patience.is_over() {
                return Ok(seen.alive.iter().map(|process| process.pid).collect());
            }
        }
    }

    /// Before anything is killed: a killed parent would cut its children loose, and what a running one starts
    /// meanwhile would be missed.
    #[cfg(target_os = "linux")]
    fn halt(&mut self) -> io::Result<Seen> {
        self.signal_group(Signal::STOP);
        let mut patience = Patience::new();
        loop {
            let seen = self.search.signal_all(self.hold, Signal::STOP)?;
            if seen.fresh == 0 || patience.is_over() {
                return Ok(seen);
            }
        }
    }
}

impl Drop for Tree<'_> {
    fn drop(&mut self) {
        match self.hold {
            Hold::Held | Hold::Lost => drop(self.finish()),
            Hold::Over => {}
        }
    }
}

/// Pauses that grow, up to an end.
struct Patience {
    until: Instant,
    pause: Duration,
}

impl Patience {
    fn new() -> Self {
        Self { until: Instant::now() + PATIENCE, pause: Duration::from_micros(500) }
    }

    /// Waits a little, unless it has waited long enough.
    fn is_over(&mut self) -> bool {
        let over = Instant::now() >= self.until;
        if !over {
            thread::sleep(self.pause);
            self.pause = (self.pause * 2).min(Duration::from_millis(20));
        }
        over
    }
}
