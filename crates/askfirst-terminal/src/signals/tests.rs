//! Which signals are left to the program.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::is_left_alone;

const STATUS: &str =
    "Name:\task\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\nSigCgt:\t0000000000000002\n";

#[test]
fn a_signal_that_is_handled_or_ignored_is_the_programs_own() {
    assert!(is_left_alone(STATUS, SIGTERM));
    assert!(!is_left_alone(STATUS, SIGHUP));
    assert!(!is_left_alone(STATUS, SIGINT));
}

#[test]
fn where_nobody_can_tell_every_signal_is_the_programs_own() {
    assert!(!is_left_alone("", SIGTERM));
    assert!(!is_left_alone("SigIgn:\tx\nSigCgt:\t0\n", SIGTERM));
}
