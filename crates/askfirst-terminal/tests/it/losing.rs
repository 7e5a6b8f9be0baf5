//! Tests that a prompt without an answer refuses with its own cause.

use askfirst::Cause;

use crate::desk::{Desk, Seat, email};

#[test]
fn end_of_input_refuses_with_its_cause() {
    let ended = Desk::new(email()).start().ready().send(b"\x04").end();
    assert!(!ended.decision().approved);
    assert_eq!(ended.decision().cause, Cause::EndOfInput);
}

#[test]
fn hang_up_refuses_as_a_lost_terminal() {
    let mut asking = Desk::new(email()).seat(Seat::OutlivesHangUp).start();
    let ended = asking.ready().hang_up().end();
    assert!(!ended.decision().approved);
    assert_eq!(ended.decision().cause, Cause::TerminalLost);
}

#[test]
fn prompt_without_a_terminal_refuses_and_names_no_flag() {
    let ended = Desk::new(email()).seat(Seat::None).start().end();
    assert!(!ended.decision().approved);
    assert_eq!(ended.decision().cause, Cause::NoOneToAsk);
    let note = ended.decision().note.clone().unwrap_or_default();
    assert!(note.contains("there is no terminal") && !note.contains("--"), "{note}");
    assert_eq!(ended.screen, "");
}

#[test]
fn withdrawn_question_says_so_and_refuses() {
    let mut asking = Desk::new(email()).flags(&["--withdraw", "100"]).start();
    let ended = asking.wait_for("refused, no answer in time").end();
    assert!(!ended.decision().approved);
}

#[test]
fn waiting_questions_can_be_withdrawn() {
    let mut asking = Desk::new(email()).and_then(email()).flags(&["--withdraw", "100"]).start();
    let ended = asking.wait_for("refused, no answer in time").end();
    assert_eq!(ended.answers.len(), 2);
    assert!(ended.answers.iter().all(|answer| !answer.decisions[0].approved));
    assert_eq!(ended.screen.matches("call send_email").count(), 1);
}
