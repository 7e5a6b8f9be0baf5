//! Registers the running launches, so that they can be stopped and waited for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use askfirst_sandbox::Stop;

/// The running launches.
#[derive(Debug, Default)]
pub(super) struct LaunchRegistry {
    now: Mutex<LaunchState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LaunchState {
    stops: Vec<Stop>,
    /// The number of unfinished launches, including their preparation and cleanup.
    launches: usize,
    stopped: bool,
    /// The sentences that were reported after the stop.
    reports: Vec<String>,
}

/// An unfinished launch. Dropping it marks the launch as finished.
pub(super) struct LaunchGuard<'a>(&'a LaunchRegistry);

impl Drop for LaunchGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().launches -= 1;
        self.0.changed.notify_all();
    }
}

impl LaunchRegistry {
    fn lock(&self) -> MutexGuard<'_, LaunchState> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a launch; `None` if no more may start.
    pub(super) fn begin(&self) -> Option<LaunchGuard<'_>> {
        let mut now = self.lock();
        if now.stopped {
            return None;
        }
        now.launches += 1;
        Some(LaunchGuard(self))
    }

    pub(super) fn stop(&self) {
        let mut now = self.lock();
        now.stopped = true;
        now.stops.iter().for_each(Stop::stop);
    }

    /// Keeps the sentences of a cleanup after the stop, since the caller of the command may no longer wait for its result.
    pub(super) fn report(&self, lines: &[String]) {
        let mut now = self.lock();
        if now.stopped {
            now.reports.extend_from_slice(lines);
        }
    }

    /// Stops everything and waits. Returns the reported sentences, and the number of unfinished launches.
    pub(super) fn end(&self, patience: Duration) -> (Vec<String>, usize) {
        self.stop();
        let until = Instant::now() + patience;
        let mut now = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if now.launches == 0 || left.is_zero() {
                return (std::mem::take(&mut now.reports), now.launches);
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
