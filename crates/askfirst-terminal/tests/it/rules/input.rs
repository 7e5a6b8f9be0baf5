//! Input, rules 1 to 4 and 6. The tests of the whole program show that tools have no terminal (5).

use std::time::{Duration, Instant};

use askfirst::{Approval, ApprovalPresentation, Cause, PresentationKind, Risk};
use rustix::process::Signal;

use crate::desk::{Desk, PromptRun, Seat, args, email};

fn mail() -> Desk {
    Desk::new(email())
}

#[test]
fn key_typed_before_the_question_is_discarded() {
    let ended = mail().left_raw().typed_ahead(b"\x03").start().refuse();
    assert!(!ended.decision().stop);
}

// invariant: 6
#[test]
fn yes_before_ready_is_discarded() {
    let mut asking = mail().start();
    asking.wait_for("[not yet]").send(b"y");
    assert!(!asking.refuse().decision().approved);
}

#[test]
fn second_yes_does_not_answer_the_next_question() {
    let mut asking = mail().and_then(email()).start();
    asking.ready().send(b"y").wait_for("approved once").wait_for("[not yet]").send(b"y");
    assert!(!asking.refuse().answers[1].decisions[0].approved);
}

#[test]
fn prompt_under_steady_typing_is_never_ready() {
    let mut asking = mail().start();
    asking.wait_for("[not yet]");
    // A key that is late makes it quiet: then it may be ready, and another try is made.
    let quiet = Duration::from_millis(200);
    let mut tries = 0..20;
    while tries.next().is_some() {
        let from = Instant::now();
        let mut last = from;
        let mut longest = Duration::ZERO;
        while from.elapsed() < Duration::from_secs(1) {
            asking.send(b"x");
            longest = longest.max(last.elapsed());
            last = Instant::now();
            std::thread::sleep(Duration::from_millis(40));
        }
        if longest < quiet {
            break;
        }
    }
    let ready = asking.screen().contains("ready:");
    asking.send(b"\x03").end();
    assert!(!ready);
}

#[test]
fn risky_prompt_in_its_first_second_is_not_ready() {
    let mut request = email();
    request.risk = Risk::High;
    // A slow machine makes a prompt late, never early: several tries find an early one.
    for _ in 0..8 {
        let start = Instant::now();
        let mut asking = Desk::new(request.clone()).start();
        asking.ready();
        let early = start.elapsed() < Duration::from_millis(1_000);
        asking.send(b"\x03").end();
        assert!(!early);
    }
}

#[test]
fn prompt_before_arming_shows_not_yet() {
    let mut asking = mail().start();
    let first = asking.which(&["[not yet]", "ready:"]);
    asking.send(b"\x03").end();
    assert_ne!(first, Some(1));
}

#[test]
fn yes_typed_during_a_resize_is_discarded() {
    let mut asking = mail().start();
    asking.ready().resize(60).send(b"y");
    assert!(!asking.refuse().decision().approved);
}

#[test]
fn pasted_or_chained_yes_approves_nothing() {
    for keys in [&b"\x1b[200~y\x1b[201~"[..], b"y\r"] {
        let mut asking = mail().start();
        asking.ready().send(keys);
        assert!(!asking.refuse().decision().approved, "{keys:?}");
    }
}

/// Presses a key twice, as a held key would: two reads, close together.
fn hold(asking: &mut PromptRun) -> bool {
    for _ in 0..20 {
        asking.ready();
        let start = Instant::now();
        asking.send(b"y");
        std::thread::sleep(Duration::from_millis(20));
        asking.send(b"y");
        if start.elapsed() < Duration::from_millis(90) {
            return true;
        }
        // Too slow to be a held key; had it approved, this would end below.
        if asking.which(&["[not yet]"]).is_none() {
            return false;
        }
    }
    false
}

// invariant: 6
#[test]
fn held_yes_key_approves_nothing() {
    loop {
        let mut asking = mail().start();
        if hold(&mut asking) {
            assert!(!asking.refuse().decision().approved);
            return;
        }
    }
}

#[test]
fn enter_and_space_approve_nothing() {
    for key in [b"\r", b" "] {
        let mut asking = mail().start();
        asking.ready().send(key);
        assert!(!asking.refuse().decision().approved, "{key:?}");
    }
}

#[test]
fn key_that_is_not_offered_approves_nothing() {
    let mut request = email();
    request.approval = Approval::Human;
    let mut asking = Desk::new(request).start();
    asking.ready().send(b"s");
    assert!(!asking.refuse().decision().approved);
}

#[test]
fn yes_to_a_call_partly_seen_approves_nothing() {
    let mut request = email();
    request.args = args(serde_json::json!({"body": "line\n".repeat(60)}));
    let mut asking = Desk::new(request).start();
    asking.ready().send(b"y");
    assert!(!asking.refuse().decision().approved);
}

#[test]
fn yes_to_a_risky_call_partly_seen_approves_nothing() {
    let mut request = email();
    request.risk = Risk::High;
    request.args = args(serde_json::json!({"body": "line\n".repeat(60)}));
    let mut asking = Desk::new(request).start();
    asking.ready().send(b"y");
    assert!(!asking.refuse().decision().approved);
}

// invariant: 6
#[test]
fn prompt_is_not_ready_before_its_content_is_shown() {
    let lines = |count: usize, word: &str| {
        (0..count).map(|n| format!("line {n} of a file, {word} {}\n", n % 9)).collect::<String>()
    };
    // How long a diff takes depends on the machine: one of these takes longer than keys must wait.
    for count in [60_000, 240_000] {
        let mut request = email();
        let mut shown = ApprovalPresentation::new(PresentationKind::Diff, "notes:a.txt");
        shown.metadata.insert("before".into(), lines(count, "old").into());
        shown.metadata.insert("after".into(), lines(count, "new").into());
        request.presentation = Some(shown);
        let mut asking = Desk::new(request).start();
        let first = asking.wait_for("being prepared").which(&["@@", "ready:"]);
        asking.send(b"\x03").end();
        assert_ne!(first, Some(1), "{count} lines");
    }
}

#[test]
fn escape_on_a_question_refuses() {
    let mut asking = mail().start();
    let goes_on = asking.ready().send(b"\x1b").which(&["[not yet]"]).is_some();
    asking.send(b"\x03").end();
    assert!(!goes_on);
}

#[test]
fn ctrl_c_on_a_question_stops_the_run() {
    assert!(mail().start().ready().send(b"\x03").end().decision().stop);
}

#[test]
fn end_of_input_and_hang_up_record_their_own_cause() {
    let ended = mail().start().ready().send(b"\x04").end();
    assert_eq!(ended.decision().cause, Cause::EndOfInput);
    let mut asking = mail().seat(Seat::OutlivesHangUp).start();
    assert_eq!(asking.ready().hang_up().end().decision().cause, Cause::TerminalLost);
}

#[test]
fn y_key_on_an_irreversible_call_approves_nothing() {
    let mut request = email();
    request.risk = Risk::Irreversible;
    let mut asking = Desk::new(request).start();
    asking.ready().send(b"y");
    assert!(!asking.refuse().decision().approved);
}

#[test]
fn keys_on_every_style_are_read_without_enter() {
    for flags in [&[][..], &["--plain"]] {
        let mut asking = mail().flags(flags).start();
        let reads_lines = asking.ready().is_restored();
        asking.signal(Signal::TERM);
        assert!(asking.ended().is_err());
        assert!(!reads_lines, "{flags:?}");
    }
}

#[test]
fn yes_typed_while_stopped_is_discarded() {
    // A slow machine may draw in between, which discards the key as well: several tries.
    for _ in 0..3 {
        let mut asking = mail().start();
        asking.ready().signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(1_500));
        asking.send(b"y").signal(Signal::CONT);
        assert!(!asking.refuse().decision().approved);
    }
}

#[test]
fn terminal_after_a_signal_is_restored() {
    let mut asking = mail().start();
    asking.ready().signal(Signal::TERM);
    assert!(asking.ended().is_err());
    assert!(asking.is_restored());
}

#[test]
fn prompt_without_stdin_asks_the_controlling_terminal() {
    let ended = mail().seat(Seat::Controlling).start().refuse();
    assert_ne!(ended.decision().cause, Cause::NoOneToAsk);
}

#[test]
fn refusal_without_a_terminal_names_no_flag() {
    let ended = mail().seat(Seat::None).start().end();
    let note = ended.decision().note.clone().unwrap_or_default();
    assert!(!ended.decision().approved);
    assert!(note.contains("there is no terminal") && !note.contains("--"), "{note}");
}
