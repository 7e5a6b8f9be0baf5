//! Tests of which keys decide on a real terminal.

use askfirst::{ApprovalScope, Cause, Loosen, OfferedPattern, Risk};

use crate::desk::{Desk, Seat, args, email};
use crate::fixtures;

// invariant: 6
#[test]
fn yes_typed_ahead_does_not_approve() {
    let mut asking = Desk::new(email()).typed_ahead(b"y\ny").start();
    let ended = asking.ready().send(b"n").end();
    assert!(!ended.decision().approved);
    assert_eq!(ended.decision().cause, Cause::Person);
}

#[test]
fn yes_before_the_ready_mark_does_not_approve() {
    let mut asking = Desk::new(email()).start();
    let ended = asking.wait_for("[not yet]").send(b"y").ready().send(b"n").end();
    assert!(!ended.decision().approved);
}

#[test]
fn yes_after_the_ready_mark_approves_once() {
    let ended = Desk::new(email()).start().ready().send(b"y").end();
    assert!(ended.decision().approved);
    assert_eq!(ended.decision().remember, ApprovalScope::None);
    assert!(
        ended.screen.contains("approved once: send_email (subject: Hi, to: bob@example.com), "),
        "{}",
        ended.screen
    );
    let seen = ended.answers[0].seen.unwrap();
    assert_eq!((seen.lines, seen.of), (3, 3));
    assert!(!ended.decision().rest_unseen);
}

// invariant: 6
#[test]
fn enter_and_space_never_approve() {
    let mut asking = Desk::new(email()).start();
    for key in [&b"\r"[..], b"\n", b" "] {
        asking.ready().send(key).wait_for("[not yet]");
    }
    assert!(!asking.ready().send(b"n").end().decision().approved);
}

// invariant: 6
#[test]
fn pasted_text_decides_nothing() {
    let mut asking = Desk::new(email()).start();
    for keys in [&b"\x1b[200~y\x1b[201~"[..], b"y\r", b"yes"] {
        asking.ready().send(keys).wait_for("[not yet]");
        assert!(asking.seen().contains("decide nothing"));
    }
    assert!(!asking.ready().send(b"n").end().decision().approved);
}

#[test]
fn escape_sequence_decides_nothing_but_escape_refuses() {
    let mut asking = Desk::new(email()).start();
    for sequence in [&b"\x1b[A"[..], b"\x1bOP", b"\x1by", b"\x1b]11;y\x07"] {
        asking.ready().send(sequence).wait_for("[not yet]");
    }
    let ended = asking.ready().send(b"\x1b").end();
    assert!(!ended.decision().approved);
    assert!(!ended.decision().stop);
}

#[test]
fn session_keys_are_remembered_for_the_session() {
    let mut asking = Desk::new(email()).start();
    asking.ready().send(b"s").wait_for("a yes for this session covers:").wait_for("the same arguments");
    let ended = asking.ready().send(b"s").end();
    assert!(ended.decision().approved);
    assert_eq!(ended.decision().remember, ApprovalScope::Session);
    let ended = Desk::new(email()).start().ready().send(b"N").end();
    assert!(!ended.decision().approved);
    assert_eq!(ended.decision().remember, ApprovalScope::Session);
}

#[test]
fn no_with_a_reason_carries_the_reason() {
    let mut asking = Desk::new(email()).start();
    asking.ready().send(b"r").wait_for("Esc goes back):").wait_for("│").type_slowly("not today");
    let ended = asking.send(b"\r").end();
    assert_eq!(ended.decision().note.as_deref(), Some("not today"));
    assert!(!ended.decision().approved);
}

#[test]
fn escape_in_the_reason_goes_back() {
    let mut asking = Desk::new(email()).start();
    asking.ready().send(b"r").wait_for("Esc goes back):").wait_for("│").type_slowly("no");
    asking.send(b"\x1b").wait_for("[not yet]");
    assert!(asking.ready().send(b"y").end().decision().approved);
}

#[test]
fn q_and_ctrl_c_stop_the_run() {
    for key in [b"q", b"\x03"] {
        let ended = Desk::new(email()).start().ready().send(key).end();
        assert!(!ended.decision().approved);
        assert!(ended.decision().stop);
    }
}

#[test]
fn controlling_terminal_is_asked_without_stdin() {
    let ended = Desk::new(email()).seat(Seat::Controlling).start().ready().send(b"y").end();
    assert!(ended.decision().approved);
}

#[test]
fn risky_call_past_the_preview_must_be_viewed_first() {
    let mut request = email();
    request.risk = Risk::High;
    request.args = args(serde_json::json!({"body": "line\n".repeat(40)}));
    let mut asking = Desk::new(request).flags(&["--preview", "10"]).start();
    asking.wait_for("more below").ready().send(b"y").wait_for("view all with v first");
    asking.ready().send(b"v").wait_for("full view");
    // The window shows most of it, and the next page the rest.
    let ended = asking.send(b" ").wait_for("not checked").send(b"v").ready().send(b"y").end();
    assert!(ended.decision().approved && !ended.decision().rest_unseen);
}

// invariant: 6
#[test]
fn diff_in_a_small_window_is_not_approved_unseen() {
    let of = |desk: Desk| desk.change(|there| *there = fixtures::long_edit()).columns(62).rows(18).start();
    let mut asking = of(Desk::new(email()));
    asking.wait_for("more below").ready().send(b"y").wait_for("yes, without seeing the rest");
    // A jump to the end leaves the middle unseen.
    asking.ready().send(b"\x1b[F").ready().send(b"y").wait_for("were not on screen yet");
    assert!(!asking.refuse().decision().approved);
    let mut asking = of(Desk::new(email()));
    for _ in 0..4 {
        asking.ready().send(b"\x1b[6~");
    }
    let ended = asking.ready().send(b"y").end();
    assert!(ended.decision().approved && !ended.decision().rest_unseen);
    let seen = ended.answers[0].seen.unwrap();
    assert_eq!(seen.lines, seen.of);
}

#[test]
fn yes_without_seeing_the_rest_is_marked_in_the_answer() {
    for (flags, first) in [(&[][..], "more below"), (&["--plain"], "more lines not shown")] {
        let desk = Desk::new(email()).change(|there| *there = fixtures::long_edit()).rows(18);
        let mut asking = desk.flags(flags).flags(&["--preview", "6"]).start();
        asking.wait_for(first).ready().send(b"y").wait_for("yes, without seeing the rest");
        let ended = asking.ready().send(b"w").end();
        assert!(ended.decision().approved && ended.decision().rest_unseen, "{flags:?}");
        assert!(ended.screen.contains("approved once, without seeing the rest: edit_file"), "{flags:?}");
        let seen = ended.answers[0].seen.unwrap();
        assert!(seen.lines < seen.of, "{seen:?}");
    }
}

#[test]
fn plain_page_that_was_printed_whole_needs_one_yes() {
    let desk = Desk::new(email()).change(|there| *there = fixtures::long_edit()).rows(18);
    let mut asking = desk.flags(&["--plain", "--preview", "6"]).start();
    asking.ready().send(b"v").wait_for("line 40 of the plan");
    let ended = asking.ready().send(b"y").end();
    assert!(ended.decision().approved && !ended.decision().rest_unseen);
}

#[test]
fn lines_past_the_preview_are_recorded_as_unseen() {
    let mut request = email();
    request.args = args(serde_json::json!({"body": "line\n".repeat(40)}));
    let ended = Desk::new(request).flags(&["--preview", "10"]).start().ready().send(b"n").end();
    let seen = ended.answers[0].seen.unwrap();
    assert!(seen.lines < seen.of, "{seen:?}");
}

#[test]
fn irreversible_call_needs_its_word() {
    let mut request = email();
    request.risk = Risk::Irreversible;
    let mut asking = Desk::new(request).start();
    asking.wait_for("type `bob@example.com`").ready().send(b"y").wait_for("[not yet]");
    asking.ready().send(b"bob@example.com").wait_for("decide nothing");
    asking.ready().type_slowly("bob@example.com");
    let ended = asking.end();
    assert!(ended.decision().approved);
}

#[test]
fn group_member_can_be_refused_and_the_rest_approved() {
    let mut asking = Desk::group(vec![email(), email(), email()]).start();
    asking.wait_for("3 calls with one answer").ready().send(b"2").wait_for("refused");
    let ended = asking.ready().send(b"y").end();
    let approved: Vec<bool> = ended.answers[0].decisions.iter().map(|decision| decision.approved).collect();
    assert_eq!(approved, [true, false, true]);
}

#[test]
fn session_yes_can_use_a_scope_the_tool_offers() {
    let mut request = email();
    let fields = args(serde_json::json!({"to": "bob@example.com", "subject": ""}));
    request.patterns.push(OfferedPattern::new("any mail to bob", fields, [("subject", Loosen::Any)]));
    let mut asking = Desk::new(request).start();
    asking.ready().send(b"s").wait_for("which calls?").wait_for("any mail to bob");
    asking.ready().send(b"2").wait_for("no earlier requests");
    let ended = asking.ready().send(b"s").end();
    assert_eq!(ended.decision().remember, ApprovalScope::Pattern);
    assert_eq!(ended.decision().pattern, Some(0));
}

#[test]
fn resize_asks_again() {
    let mut asking = Desk::new(email()).start();
    asking.ready().resize(60).send(b"y").wait_for("call send_email");
    assert!(!asking.ready().send(b"n").end().decision().approved);
}

#[test]
fn two_questions_are_asked_one_after_the_other() {
    let mut second = email();
    second.tool_name = "other_tool".into();
    let mut asking = Desk::new(email()).and_then(second).start();
    asking.ready();
    assert!(!asking.screen().contains("other_tool"));
    let ended = asking.send(b"y").wait_for("other_tool").ready().send(b"n").end();
    let approved: Vec<bool> = ended.answers.iter().map(|answer| answer.decisions[0].approved).collect();
    assert_eq!(approved, [true, false]);
}
