//! What runs now, so that it can be ended and waited for: what it made is searched before nobody is left to do so.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use askfirst_sandbox::Stop;

/// What runs now.
#[derive(Debug, Default)]
pub(super) struct Running {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Now {
    stops: Vec<Stop>,
    /// Launches that are not over, with what comes before and after their processes.
    launches: usize,
    stopped: bool,
    /// What was told of since everything was stopped.
    told: Vec<String>,
}

/// A launch that is not over for as long as this lives.
pub(super) struct Launching<'a>(&'a Running);

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.0.lock().launches -= 1;
        self.0.changed.notify_all();
    }
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a launch; nothing if nothing may start any more.
    pub(super) fn begin(&self) -> Option<Launching<'_>> {
        let mut now = self.lock();
        if now.stopped {
            return None;
        }
        now.launches += 1;
        Some(Launching(self))
    }

    pub(super) fn stop(&self) {
        let mut now = self.lock();
        now.stopped = true;
        now.stops.iter().for_each(Stop::stop);
    }

    /// Keeps what was found after everything was stopped: perhaps nobody waits for the answer of the command any more.
    pub(super) fn tell(&self, lines: &[String]) {
        let mut now = self.lock();
        if now.stopped {
            now.told.extend_from_slice(lines);
        }
    }

    /// Stops everything and waits. Gives what was told of meanwhile, and how many launches are not over.
    pub(super) fn end(&self, patience: Duration) -> (Vec<String>, usize) {
        self.stop();
        let until = Instant::now() + patience;
        let mut now = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if now.launches == 0 || left.is_zero() {
                return (std::mem::take(&mut now.told), now.launches);
            }
            now = self.changed.wait_timeout(now, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn with<T>(&self, run: impl FnOnce(&Stop) -> T) -> T {
        let stop = Stop::new();
        {
            let mut now = self.lock();
            now.stops.push(stop.clone());
            if now.stopped {
                stop.stop();
            }
        }
        let over = run(&stop);
        stop.stop();
        self.lock().stops.retain(|known| !known.is_stopped());
        over
    }
}
