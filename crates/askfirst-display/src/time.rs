//! Points in time and durations in words. Times of day are in UTC, because this crate knows no other time zone.

use std::time::Duration;

use askfirst::Timestamp;

/// The time of day: `21:05:10 UTC`.
#[must_use]
pub fn time_of_day(at: Timestamp) -> String {
    let seconds = at.0 / 1000 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A duration in words: `10 min`, `8 h`, `45 s`.
#[must_use]
pub fn span(time: Duration) -> String {
    let seconds = (time.as_millis() + 500) / 1000;
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", (seconds + 30) / 60),
        7_200..=172_799 => format!("{} h", (seconds + 1_800) / 3_600),
        _ => format!("{} days", (seconds + 43_200) / 86_400),
    }
}

/// The time that is left, in minutes and seconds: `9:58`. A longer time is in words.
#[must_use]
pub fn countdown(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..3_600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => span(left),
    }
}

/// A later point in time, relative and absolute: `in 10 min, at 21:05:10 UTC`.
#[must_use]
pub fn later(now: Timestamp, at: Timestamp) -> String {
    format!("in {}, at {}", span(now.until(at)), time_of_day(at))
}
