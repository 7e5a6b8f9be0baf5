//! The session's clock. It starts at the system time, then only moves forward. On Linux it also advances during
//! suspend.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use askfirst::Timestamp;
use askfirst::ports::Clock;
use rustix::time::{ClockId, clock_gettime};

/// A clock that never goes back, even if the system time is changed.
#[derive(Debug, Clone)]
pub struct SystemClock {
    started: Timestamp,
    ran: Duration,
}

impl SystemClock {
    /// Starts a clock at the current system time.
    #[must_use]
    pub fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Timestamp::default().after(since), ran: ran() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.started.after(ran().saturating_sub(self.ran))
    }
}

#[cfg(target_os = "linux")]
const FORWARD: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const FORWARD: ClockId = ClockId::Monotonic;

fn ran() -> Duration {
    let time = clock_gettime(FORWARD);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
