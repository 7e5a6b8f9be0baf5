//! Detects that the program was stopped for a while, by the clock: a loop turn took far too long.

use std::time::Duration;

/// The delay from which the program counts as stopped.
const STOPPED: Duration = Duration::from_millis(700);

/// Compares the clock with the time of the last check.
#[derive(Debug, Default)]
pub(crate) struct PauseDetector {
    last_check: Duration,
}

impl PauseDetector {
    /// Whether the program was stopped since the last check, or since `woken` if that is later.
    pub(crate) fn detect(&mut self, now: Duration, woken: Duration) -> bool {
        let from = std::mem::replace(&mut self.last_check, now);
        now.saturating_sub(from.max(woken)) > STOPPED
    }
}
