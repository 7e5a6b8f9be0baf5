//! Session ids, and timestamps as text.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use askfirst::Timestamp;
use serde::{Deserialize, Serialize};

/// The id of a session: its start time and a random part that makes it unique.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// Creates an id for a session that starts now.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let time: String = rfc3339(now).chars().filter(char::is_ascii_alphanumeric).take(15).collect();
        let chance = RandomState::new().hash_one(now);
        Self(format!("{time}-{chance:016x}"))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Formats a time as RFC 3339 in UTC, with milliseconds.
#[must_use]
pub fn rfc3339(at: Timestamp) -> String {
    let (seconds, millis) = (at.0 / 1000, at.0 % 1000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let mut text = String::with_capacity(24);
    // Every entry has a timestamp, and `format!` takes several times as long.
    let mut push = |number: u64, digits: u32, then: char| {
        for place in (0..digits).rev() {
            text.push(char::from(b'0' + u8::try_from(number / 10_u64.pow(place) % 10).unwrap_or_default()));
        }
        text.push(then);
    };
    push(year, year.checked_ilog10().map_or(4, |most| (most + 1).max(4)), '-');
    push(month, 2, '-');
    push(day, 2, 'T');
    push(second / 3600, 2, ':');
    push(second / 60 % 60, 2, ':');
    push(second % 60, 2, '.');
    push(millis, 3, 'Z');
    text
}

/// Parses a date, or a date and a time, in UTC: `2026-11-18`, `2026-11-18T20:05` or `2026-11-18 20:05:10Z`.
#[must_use]
pub fn parse_utc(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let (mut parts, mut times) = (date.split('-'), time.strip_suffix('Z').unwrap_or(time).split(':'));
    let number = |part: Option<&str>, digits: usize| -> Option<u64> {
        part.filter(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
    };
    let (year, month, day) = (number(parts.next(), 4)?, number(parts.next(), 2)?, number(parts.next(), 2)?);
    let (hour, minute) = (number(times.next(), 2)?, number(times.next(), 2)?);
    let second = times.next().map_or(Some(0), |second| number(Some(second), 2))?;
    let ends = parts.next().is_none() && times.next().is_none();
    // Years start in March, as in `date`.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let seconds = days.checked_sub(719_469)? * 86_400 + hour * 3600 + minute * 60 + second;
    let at = Timestamp(seconds * 1000);
    let (hour, minute, second) = (format!("T{hour:02}"), format!(":{minute:02}"), format!(":{second:02}"));
    (ends && rfc3339(at).starts_with(&format!("{date}{hour}{minute}{second}."))).then_some(at)
}

/// Returns year, month and day for a number of days since 1970. Years start in March, so that leap days come last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_rfc_3339_form() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_210_096_007, "2024-02-29T12:34:56.007Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(rfc3339(Timestamp(millis)), text);
        }
        assert!(rfc3339(Timestamp(u64::MAX)).ends_with('Z'));
    }

    #[test]
    fn utc_times_are_parsed_and_impossible_ones_are_not() {
        for (text, written) in [
            ("1970-01-01", "1970-01-01T00:00:00.000Z"),
            ("2000-02-29", "2000-02-29T00:00:00.000Z"),
            ("2026-11-18T20:05", "2026-11-18T20:05:00.000Z"),
            ("2026-11-18 20:05:10", "2026-11-18T20:05:10.000Z"),
            ("2100-03-01T23:59:59Z", "2100-03-01T23:59:59.000Z"),
        ] {
            assert_eq!(parse_utc(text).map(rfc3339).as_deref(), Some(written));
        }
        let impossible = [
            "",
            "yesterday",
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-1-1",
            "2026-01-00",
            "1969-12-31",
            "2026-11-18T24:00",
            "2026-11-18T20:60",
            "2026-11-18T20",
            "2026-11-18T",
            "2026-11-18-01",
            "+026-11-18",
            "2026-11-18T20:05:10:11",
            "0000-01-01",
            "2026-11-18T20:05:10.5Z",
        ];
        for text in impossible {
            assert_eq!(parse_utc(text), None, "{text}");
        }
    }

    #[test]
    fn sessions_of_one_moment_have_different_ids() {
        let now = Timestamp(1_709_210_096_007);
        let (one, two) = (SessionId::new(now), SessionId::new(now));
        assert!(one.as_str().starts_with("20240229T123456-"), "{one}");
        assert_ne!(one, two);
    }
}
