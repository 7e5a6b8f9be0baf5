//! Signals and stops: the terminal is put back, and what was typed meanwhile answers nothing.

use std::time::Duration;

use rustix::process::Signal;

use crate::desk::{Asking, Desk, Seat, email};

/// How a program ends that a signal ended, as a shell would tell it.
fn ends_by(asking: &mut Asking, signal: Signal) {
    asking.signal(signal);
    assert_eq!(asking.ended(), Err(signal.as_raw()), "{}", asking.screen());
    assert!(asking.is_put_back(), "{signal:?} left it raw");
    let screen = asking.screen();
    for mode in ["2004", "1004"] {
        let [on, off] = ["h", "l"].map(|end| screen.rfind(&format!("\x1b[?{mode}{end}")));
        assert!(on < off, "{signal:?} left mode {mode} on");
    }
}

#[test]
fn a_signal_that_ends_the_program_finds_the_terminal_put_back() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::USR1] {
        let mut asking = Desk::new(email()).start();
        asking.ready();
        ends_by(&mut asking, signal);
        assert!(asking.screen().contains("taken back: the call was given up"));
    }
}

#[test]
fn a_signal_while_all_of_it_is_viewed_gives_the_whole_screen_back_too() {
    let mut asking = Desk::new(email()).flags(&["--say", "earlier output"]).start();
    asking.ready().send(b"v").wait_for("all of it");
    ends_by(&mut asking, Signal::TERM);
    assert!(!asking.terminal().screen().alternate_screen());
    assert!(asking.seen().starts_with("earlier output"), "{}", asking.seen());
}

#[test]
fn a_signal_ends_an_editor_too() {
    let mut asking = Desk::new(email()).env("EDITOR", "tail -f").start();
    asking.ready().send(b"e").wait_for("bob@example.com");
    ends_by(&mut asking, Signal::TERM);
}

#[test]
fn a_terminal_that_was_not_put_back_is_noticed() {
    let mut asking = Desk::new(email()).start();
    asking.ready().signal(Signal::KILL);
    assert_eq!(asking.ended(), Err(9));
    assert!(!asking.is_put_back());
}

#[test]
fn a_signal_that_the_program_ignores_stays_ignored() {
    let mut asking = Desk::new(email()).seat(Seat::OutlivesHangUp).start();
    asking.ready().signal(Signal::HUP).send(b"v").wait_for("all of it").send(b"v");
    assert!(asking.ready().send(b"y").end().decision().approved);
}

#[test]
fn a_program_that_exits_by_itself_can_put_the_terminal_back_first() {
    let mut asking = Desk::new(email()).flags(&["--exit-after", "700"]).start();
    asking.ready();
    assert_eq!(asking.ended(), Ok(3));
    assert!(asking.is_put_back());
}

#[test]
fn a_yes_that_was_typed_while_the_program_was_stopped_approves_nothing() {
    for flags in [&[][..], &["--plain"]] {
        let mut asking = Desk::new(email()).flags(flags).start();
        asking.ready().signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(1_500));
        asking.send(b"y").signal(Signal::CONT).wait_for("[not yet]");
        assert!(!asking.refuse().decision().approved);
    }
}

#[test]
fn after_another_program_read_lines_the_question_is_asked_anew() {
    for flags in [&[][..], &["--plain"]] {
        let mut asking = Desk::new(email()).flags(flags).start();
        asking.ready();
        // What a line without its line feed gives is a single key.
        asking.read_lines().send(b"y\x04").wait_for("approval needed");
        assert!(!asking.is_put_back(), "it reads lines still");
        assert!(!asking.refuse().decision().approved);
    }
}
