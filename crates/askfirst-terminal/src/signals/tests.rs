//! Tests of which signals are watched.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::has_default_action;

const STATUS: &str =
    "Name:\task\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\nSigCgt:\t0000000000000002\n";

#[test]
fn handled_or_ignored_signal_is_not_watched() {
    assert!(has_default_action(STATUS, SIGTERM));
    assert!(!has_default_action(STATUS, SIGHUP));
    assert!(!has_default_action(STATUS, SIGINT));
}

#[test]
fn signals_of_an_unreadable_status_are_not_watched() {
    assert!(!has_default_action("", SIGTERM));
    assert!(!has_default_action("SigIgn:\tx\nSigCgt:\t0\n", SIGTERM));
}
