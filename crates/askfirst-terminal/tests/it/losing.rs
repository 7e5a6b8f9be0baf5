//! Everything that ends a prompt without a person's answer refuses, with its own cause.

use askfirst::Cause;

use crate::desk::{Desk, Seat, email};

#[test]
fn the_end_of_input_refuses() {
    let ended = Desk::new(email()).start().ready().send(b"\x04").end();
    assert!(!ended.decision().approved);
    assert_eq!(ended.decision().cause, Cause::EndOfInput);
}

#[test]
fn a_hang_up_refuses_as_a_lost_terminal() {
    let mut asking = Desk::new(email()).seat(Seat::OutlivesHangUp).start();
    let ended = asking.ready().hang_up().end();
    assert!(!ended.decision().approved);
    assert_eq!(ended.decision().cause, Cause::TerminalLost);
}

#[test]
fn without_a_terminal_it_refuses_at_once_and_names_both_flags() {
    let ended = Desk::new(email()).seat(Seat::None).start().end();
    assert!(!ended.decision().approved);
    assert_eq!(ended.decision().cause, Cause::NobodyToAsk);
    let note = ended.decision().note.clone().unwrap_or_default();
    assert!(note.contains("`--approve-all`") && note.contains("`--strict`"), "{note}");
    assert_eq!(ended.screen, "");
}

#[test]
fn a_question_that_is_taken_back_says_so_and_never_approves() {
    let mut asking = Desk::new(email()).flags(&["--withdraw", "100"]).start();
    let ended = asking.wait_for("refused: nobody answered in time").end();
    assert!(!ended.decision().approved);
}

#[test]
fn questions_that_wait_can_be_taken_back_too() {
    let mut asking = Desk::new(email()).and_then(email()).flags(&["--withdraw", "100"]).start();
    let ended = asking.wait_for("refused: nobody answered in time").end();
    assert_eq!(ended.answers.len(), 2);
    assert!(ended.answers.iter().all(|answer| !answer.decisions[0].approved));
    assert_eq!(ended.screen.matches("approval needed").count(), 1);
}
