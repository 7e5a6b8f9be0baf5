//! Finds out that the program was stopped for a while, without a signal: a turn took far longer than it could.

use std::time::Duration;

/// So much later than expected is no delay any more.
const STOPPED: Duration = Duration::from_millis(700);

/// Looks at the clock whenever something may have taken long.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    looked: Duration,
}

impl Pauses {
    /// Whether the program stood still since it last looked, or since it wanted to be woken, if that is later.
    pub(crate) fn found(&mut self, now: Duration, woken: Duration) -> bool {
        let from = std::mem::replace(&mut self.looked, now);
        now.saturating_sub(from.max(woken)) > STOPPED
    }
}
