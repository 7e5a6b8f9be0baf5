//! Strict parsers for scalars: numbers, booleans, durations and sizes.

use std::time::Duration;

use serde_json::Number;

use super::node::Value;

/// Parses a scalar that is written without quotes.
///
/// Only `true` and `false` are booleans, and only decimal numbers are numbers. YAML parsers disagree about words
/// such as `yes` and `010`. They stay text here, so a key that needs another type rejects them.
pub(crate) fn parse_plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" => return Value::Null,
        "true" => return Value::Bool(true),
        "false" => return Value::Bool(false),
        _ => {}
    }
    parse_number(text).map_or_else(|| Value::Text(text.to_owned()), Value::Number)
}

fn parse_number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_at_checked(digits.find(['.', 'e', 'E']).unwrap_or(digits.len()))?;
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    if whole.is_empty() || leading_zero || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if rest.is_empty() {
        let positive = text.parse::<u64>().map(Number::from).ok();
        return positive.or_else(|| text.parse::<i64>().map(Number::from).ok());
    }
    let exact = rest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    exact.then(|| text.parse::<f64>().ok().and_then(Number::from_f64)).flatten()
}

/// Parses a duration such as `10m`, `8h`, `30s`, `1d` or `500ms`.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (count, unit) = split_unit(text)?;
    match unit {
        "ms" => Some(Duration::from_millis(count)),
        "s" => Some(Duration::from_secs(count)),
        "m" => count.checked_mul(60).map(Duration::from_secs),
        "h" => count.checked_mul(3_600).map(Duration::from_secs),
        "d" => count.checked_mul(86_400).map(Duration::from_secs),
        _ => None,
    }
}

/// Parses a size in bytes such as `64MiB`, `10MB`, `4GiB` or `512B`.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let (count, unit) = split_unit(text)?;
    let factor: u64 = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    };
    count.checked_mul(factor)
}

fn split_unit(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at_checked(end)?;
    Some((count.parse().ok()?, unit.trim_start_matches(' ')))
}

#[cfg(test)]
#[path = "scalar/tests.rs"]
mod tests;
