//! Tests of durations and sizes: each is parsed exactly or rejected.

use std::time::Duration;

use super::{parse_duration, parse_size};

#[test]
fn duration_without_a_valid_unit_is_rejected() {
    let millis = |text: &str| parse_duration(text).map(|time: Duration| time.as_millis());
    assert_eq!(millis("500ms"), Some(500));
    assert_eq!(millis("30s"), Some(30_000));
    assert_eq!(millis("10m"), Some(600_000));
    assert_eq!(millis("8h"), Some(28_800_000));
    assert_eq!(millis("1d"), Some(86_400_000));
    for text in
        ["", "10", "m", "-1m", "1.5h", "10 minutes", "99999999999999999999s", "999999999999999999d", "1m30s"]
    {
        assert_eq!(parse_duration(text), None, "{text}");
    }
}

#[test]
fn size_is_in_bytes_unless_it_has_a_unit() {
    assert_eq!(parse_size("512"), Some(512));
    assert_eq!(parse_size("1KiB"), Some(1_024));
    assert_eq!(parse_size("64MiB"), Some(64 << 20));
    assert_eq!(parse_size("4GiB"), Some(4 << 30));
    assert_eq!(parse_size("10MB"), Some(10_000_000));
    for text in ["", "MiB", "-1", "1.5MiB", "1mb", "99999999TiB", "1_000"] {
        assert_eq!(parse_size(text), None, "{text}");
    }
}
