//! Tests of signals and stops: the terminal is restored, and keys typed in between answer nothing.

use std::time::Duration;

use rustix::process::Signal;

use crate::desk::{Desk, PromptRun, Seat, email};

/// Sends a signal and checks that the program ends by it with the terminal restored.
fn ends_by(asking: &mut PromptRun, signal: Signal) {
    asking.signal(signal);
    assert_eq!(asking.ended(), Err(signal.as_raw()), "{}", asking.screen());
    assert!(asking.is_restored(), "{signal:?} left the terminal raw");
    let screen = asking.screen();
    for mode in ["2004", "1004"] {
        let [on, off] = ["h", "l"].map(|end| screen.rfind(&format!("\x1b[?{mode}{end}")));
        assert!(on < off, "{signal:?} left mode {mode} on");
    }
}

// invariant: 6
#[test]
fn signal_that_ends_the_program_restores_the_terminal() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::USR1] {
        let mut asking = Desk::new(email()).start();
        asking.ready();
        ends_by(&mut asking, signal);
        assert!(asking.screen().contains("withdrawn, the call was canceled"));
    }
}

#[test]
fn signal_in_the_full_view_leaves_the_alternate_screen() {
    let mut asking = Desk::new(email()).flags(&["--say", "earlier output"]).start();
    asking.ready().send(b"v").wait_for("full view");
    ends_by(&mut asking, Signal::TERM);
    assert!(!asking.terminal().screen().alternate_screen());
    assert!(asking.seen().starts_with("earlier output"), "{}", asking.seen());
}

#[test]
fn signal_during_an_edit_ends_the_editor() {
    let mut asking = Desk::new(email()).env("EDITOR", "tail -f").start();
    asking.ready().send(b"e").wait_for("bob@example.com");
    ends_by(&mut asking, Signal::TERM);
}

#[test]
fn killed_program_leaves_the_terminal_raw() {
    let mut asking = Desk::new(email()).start();
    asking.ready().signal(Signal::KILL);
    assert_eq!(asking.ended(), Err(9));
    assert!(!asking.is_restored());
}

#[test]
fn signal_the_program_ignores_stays_ignored() {
    let mut asking = Desk::new(email()).seat(Seat::OutlivesHangUp).start();
    asking.ready().signal(Signal::HUP).send(b"v").wait_for("full view").send(b"v");
    assert!(asking.ready().send(b"y").end().decision().approved);
}

#[test]
fn exiting_program_can_restore_the_terminal_first() {
    let mut asking = Desk::new(email()).flags(&["--exit-after", "700"]).start();
    asking.ready();
    assert_eq!(asking.ended(), Ok(3));
    assert!(asking.is_restored());
}

// invariant: 6
#[test]
fn yes_typed_while_stopped_approves_nothing() {
    for flags in [&[][..], &["--plain"]] {
        let mut asking = Desk::new(email()).flags(flags).start();
        asking.ready().signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(1_500));
        asking.send(b"y").signal(Signal::CONT).wait_for("[not yet]");
        assert!(!asking.refuse().decision().approved);
    }
}

#[test]
fn question_is_asked_again_after_another_program_read() {
    for flags in [&[][..], &["--plain"]] {
        let mut asking = Desk::new(email()).flags(flags).start();
        asking.ready();
        // Ctrl-D sends the line without a newline, so the program reads a single key.
        asking.read_lines().send(b"y\x04").wait_for("call send_email");
        assert!(!asking.is_restored(), "the terminal still reads lines");
        assert!(!asking.refuse().decision().approved);
    }
}
