//! Tests of whole stories with a person at a real terminal.

use askfirst::{
    ApprovalPresentation, ApprovalRequest, ApprovalScope, Cause, PresentationKind, Risk, Timestamp,
};

use crate::desk::{Desk, Seat, args, email};
use crate::fixtures;

fn of(question: askfirst::machine::Question) -> Desk {
    Desk::new(email()).change(|there| *there = question)
}

#[test]
fn earlier_output_stays_and_the_decision_is_printed() {
    let mut asking = Desk::new(email()).flags(&["--say", "earlier output"]).start();
    asking.ready();
    let seen = asking.seen();
    assert!(seen.starts_with("earlier output\n━━ call send_email"), "{seen}");
    asking.send(b"y").end();
    let seen = asking.seen();
    assert!(seen.starts_with("earlier output\napproved once: send_email"), "{seen}");
}

#[test]
fn earlier_output_without_a_newline_is_not_overwritten() {
    let mut asking = Desk::new(email()).flags(&["--say-part", "no line feed"]).start();
    asking.ready();
    let rows: Vec<String> = asking.terminal().screen().rows(0, 80).take(2).collect();
    assert_eq!(rows[0].trim_end(), "no line feed");
    assert!(rows[1].starts_with("━━ call send_email"), "{rows:?}");
}

#[test]
fn small_edit_shows_a_numbered_diff_and_its_caller() {
    let mut asking = of(fixtures::edit()).start();
    asking.ready();
    let seen = asking.seen();
    for part in [
        "· 2 lines added, 1 removed ",
        " 2 of 5 · ",
        "who    writer",
        "3   - Ship the old",
        "  3 + Ship the new",
    ] {
        assert!(seen.contains(part), "{part}\n{seen}");
    }
    assert!(!asking.send(b"n").end().decision().approved);
}

#[test]
fn command_shows_every_program_folder_and_warning() {
    let mut asking = of(fixtures::command()).start();
    asking.ready();
    let seen = asking.seen();
    for part in [
        "━━ run in build · 3 programs ━",
        "$ cd build",
        "│   make -j4 ",
        "│ ▲ tee log.txt",
        "│ ▲ > out.txt ",
        "│ ▲ sudo ",
        "runs as another user",
    ] {
        assert!(seen.contains(part), "{part}\n{seen}");
    }
    assert!(asking.send(b"y").end().decision().approved);
}

#[test]
fn huge_text_shows_its_size_scrolls_and_opens_in_full() {
    let mut request = email();
    let content: String = (1..=9_000).map(|n| format!("row {n}\n")).collect();
    request.presentation = Some(ApprovalPresentation::new(PresentationKind::Text, content));
    let mut asking = Desk::new(request).start();
    asking.wait_for("of 9003: more below").ready();
    asking.send(b"?").wait_for("text, 79893 bytes, 9000 lines").send(b"?").ready();
    asking.send(b"\x1b[6~").wait_for("row 40").ready().send(b"v").wait_for("full view").send(b"G");
    asking.wait_for("row 9000").send(b"\x1b").ready().send(b"y").wait_for("were not on screen yet");
    let ended = asking.ready().send(b"w").end();
    let seen = ended.answers[0].seen.unwrap();
    assert!(ended.decision().rest_unseen && seen.lines < seen.of && seen.of == 9_004, "{seen:?}");
}

#[test]
fn long_program_in_plain_style_is_printed_in_full() {
    let code: String = (1..=20_000).map(|n| format!("fn f{n}() -> usize {{ \"{n}\".len() }}\n")).collect();
    let mut request = email();
    let shown = ApprovalPresentation::new(PresentationKind::FileContent, code).with_language("rust");
    request.presentation = Some(shown);
    let mut asking = Desk::new(request).flags(&["--plain"]).start();
    asking.ready().send(b"v").wait_for("fn f20000()");
    assert!(!asking.ready().send(b"n").end().decision().approved);
}

#[test]
fn wider_scope_shows_the_earlier_requests_it_covers() {
    let mut again = fixtures::edit();
    again.id = askfirst::machine::QuestionId(2);
    let second = (*again.members[0].request).clone();
    let mut asking = of(fixtures::edit()).and_then(second).start();
    asking.ready().send(b"n").wait_for("refused").ready().send(b"s").wait_for("which calls?");
    asking.ready().send(b"2").wait_for("would have covered the earlier request");
    let ended = asking.ready().send(b"s").end();
    assert_eq!(ended.answers[1].decisions[0].remember, ApprovalScope::Pattern);
}

#[test]
fn remaining_time_is_shown() {
    let later =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() + 600_000;
    let deadline = Timestamp(u64::try_from(later).unwrap());
    let mut asking = Desk::new(ApprovalRequest { deadline: Some(deadline), ..email() }).start();
    asking.wait_for("9:5").ready();
    assert!(!asking.send(b"n").end().decision().approved);
}

#[test]
fn question_without_an_answer_is_a_timeout() {
    let mut asking = Desk::new(email()).flags(&["--withdraw", "500"]).start();
    let ended = asking.wait_for("no answer in time").end();
    assert_ne!(ended.decision().cause, Cause::Person);
}

#[test]
fn bell_rings_only_without_focus() {
    let mut asking = Desk::new(email()).start();
    asking.ready();
    assert!(!asking.screen().contains('\x07'));
    asking.send(b"n").end();
    let mut asking = Desk::new(email()).start();
    asking.wait_for("[not yet]").send(b"\x1b[O").wait_for("\x07");
    assert!(asking.ready().send(b"y").end().decision().approved);
}

/// Many terminals report only changes of the focus, or nothing.
#[test]
fn bell_rings_after_a_wait_without_a_key_or_a_report() {
    for (flags, notification) in [(&[][..], 1), (&["--plain"][..], 0), (&["--notify", "bell"][..], 0)] {
        let mut asking = Desk::new(email()).env("TERM", "xterm-256color").flags(flags).start();
        asking.ready();
        assert!(!asking.screen().contains('\x07'));
        // Once, however long the question waits.
        asking.wait_for("\x07");
        std::thread::sleep(std::time::Duration::from_millis(600));
        let screen = asking.send(b"n").end().screen;
        assert_eq!(screen.matches('\x07').count(), 1, "{screen:?}");
        assert_eq!(screen.matches("\x1b]9;").count(), notification, "{screen:?}");
    }
    let still = |flags: &[&str], keys: &[u8]| {
        let mut asking = Desk::new(email()).flags(flags).start();
        asking.ready().send(keys);
        std::thread::sleep(std::time::Duration::from_millis(5_600));
        let screen = asking.send(b"\x03").end().screen;
        assert!(!screen.contains('\x07'), "{flags:?}: {screen:?}");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| still(&["--notify", "off"], b""));
        scope.spawn(|| still(&["--plain", "--notify", "off"], b""));
        scope.spawn(|| still(&[], b"\x1b[I"));
        scope.spawn(|| still(&[], b"\x1b[B"));
    });
}

#[test]
fn prompt_without_focus_sends_a_fixed_notification() {
    let mut hostile = email();
    hostile.tool_name = "x\x07\x1b]0;owned".into();
    hostile.caller = Some("\x1b\\ agent".into());
    let notified = |term: &str, flags: &[&str]| {
        let mut asking = Desk::new(hostile.clone()).env("TERM", term).flags(flags).start();
        asking.wait_for("[not yet]").send(b"\x1b[O");
        asking.ready().send(b"n").end().screen
    };
    let text = "askfirst ask: a call waits for your answer";
    let screen = notified("xterm-256color", &[]);
    assert_eq!(screen.matches(&format!("\x07\x1b]9;{text}\x1b\\")).count(), 1, "{screen:?}");
    assert_eq!((screen.matches('\x07').count(), screen.matches("\x1b]").count()), (1, 1), "{screen:?}");
    assert!(notified("foot", &[]).contains(&format!("\x07\x1b]777;notify;askfirst;{text}\x1b\\")));
    let rung = notified("xterm-256color", &["--notify", "bell"]);
    assert!(rung.contains('\x07') && !rung.contains("\x1b]"), "{rung:?}");
    let silent = notified("xterm-256color", &["--notify", "off"]);
    assert!(!silent.contains('\x07') && !silent.contains("\x1b]"), "{silent:?}");
}

#[test]
fn small_window_uses_the_plain_prompt() {
    let mut asking = Desk::new(email()).rows(6).start();
    asking.wait_for("━ \u{1b}[0m\u{1b}[1mcall ").wait_for("send_email");
    assert!(asking.ready().send(b"y").end().decision().approved);
}

#[test]
fn tiny_window_repeats_the_question_next_to_the_keys() {
    for (columns, rows, keys_first) in [(80, 6, false), (20, 6, true)] {
        let mut asking = Desk::new(email()).columns(columns).rows(rows).start();
        asking.wait_for("subject: Hi");
        if keys_first {
            asking.wait_for("? more");
        }
        asking.wait_for("send_email").wait_for("[not yet]");
        assert!(asking.ready().send(b"y").end().decision().approved);
    }
}

#[test]
fn shrunk_window_says_so_and_approves_nothing() {
    let mut asking = of(fixtures::command()).columns(40).start();
    asking.ready().resize(20).wait_for("the window is too");
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    asking.send(b"y");
    std::thread::sleep(std::time::Duration::from_millis(300));
    asking.resize(80).wait_for("run in build").ready();
    assert!(!asking.send(b"n").end().decision().approved);
}

#[test]
fn yes_waits_until_all_must_see_parts_were_seen() {
    let mut request = email();
    request.facts = (0..60).map(|n| askfirst::Fact::new("host", format!("h{n}.example.com"))).collect();
    let mut asking = Desk::new(request).start();
    asking.ready().send(b"y").wait_for("you must see");
    asking.ready().send(b"\x1b[6~").ready().send(b"\x1b[6~").ready().send(b"\x1b[6~");
    assert!(asking.ready().send(b"y").end().decision().approved);
}

#[test]
fn reason_for_a_risky_call_is_in_the_answer() {
    let mut request = email();
    request.risk = Risk::High;
    request.args = args(serde_json::json!({"to": "x"}));
    let mut asking = Desk::new(request).seat(Seat::Controlling).start();
    asking.ready().send(b"r").wait_for("Esc goes back):").wait_for("│").type_slowly("later");
    assert_eq!(asking.send(b"\r").end().decision().note.as_deref(), Some("later"));
}
