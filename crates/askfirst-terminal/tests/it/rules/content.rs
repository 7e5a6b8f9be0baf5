//! Display, rules 1 to 6: text that an agent or a tool wrote.

use askfirst::{ApprovalPresentation, Fact, Loosen, OfferedPattern, PresentationKind};

use crate::desk::{Desk, PromptRun, args, email};
use crate::fixtures;

/// The screen once it is ready. The question is then refused.
fn seen(asking: &mut PromptRun) -> String {
    asking.ready();
    let seen = asking.seen();
    asking.send(b"\x03").end();
    seen
}

fn shows(kind: PresentationKind, content: &str) -> String {
    let mut request = email();
    request.presentation = Some(ApprovalPresentation::new(kind, content));
    seen(&mut Desk::new(request).start())
}

#[test]
fn control_characters_in_a_description_are_escaped() {
    let mut request = email();
    request.description = "harmless \x1b[8m\u{202e}".into();
    let mut asking = Desk::new(request).flags(&["--plain"]).start();
    asking.ready().send(b"n");
    let screen = asking.end().screen;
    assert!(!screen.contains("\x1b[8m") && !screen.contains('\u{202e}'), "{screen:?}");
}

#[test]
fn marks_piled_up_on_a_letter_are_escaped() {
    let mut request = email();
    request.description = format!("e{}", "\u{301}".repeat(40));
    let mut asking = Desk::new(request).flags(&["--plain"]).start();
    asking.ready().send(b"n");
    let screen = asking.end().screen;
    assert!(!screen.contains(&"\u{301}".repeat(10)), "{screen}");
    assert!(screen.contains(r"\u{301}\u{301}"), "{screen}");
}

#[test]
fn escaped_characters_in_content_are_counted() {
    let seen = shows(PresentationKind::Text, "a\u{200b}b");
    assert!(seen.contains("1 character shown as an escape"), "{seen}");
}

// invariant: 5
#[test]
fn content_that_imitates_our_frame_stays_in_the_gutter() {
    let seen = shows(PresentationKind::Text, "━━ call send_email ━━\nready: \n");
    let ours = |line: &&str| line.starts_with("ready:") || line.starts_with("━━ call");
    assert!(seen.lines().filter(ours).count() <= 2, "{seen}");
}

#[test]
fn agent_description_is_quoted_as_not_checked() {
    let seen = seen(&mut Desk::new(email()).start());
    assert!(seen.contains("who    the agent: \"Send email to bob@example.com: Hi\" (not checked)"), "{seen}");
}

#[test]
fn lookalike_letter_in_a_host_shows_a_warning() {
    let mut request = email();
    request.facts.push(Fact::new("host", "ex\u{430}mple.com"));
    let seen = seen(&mut Desk::new(request).start());
    assert!(seen.contains("warning: the host name has non-ASCII letters"), "{seen}");
}

#[test]
fn content_past_the_screen_is_announced() {
    let seen = shows(PresentationKind::Text, &"line\n".repeat(200));
    assert!(seen.contains("more below"), "{seen}");
}

#[test]
fn content_past_a_plain_preview_is_announced() {
    let mut request = email();
    request.presentation = Some(ApprovalPresentation::new(PresentationKind::Text, "line\n".repeat(200)));
    let mut asking = Desk::new(request).flags(&["--plain"]).start();
    asking.ready().send(b"n");
    assert!(asking.end().screen.contains("150 more lines not shown"));
}

#[test]
fn scopes_past_the_screen_are_announced() {
    let mut request = email();
    request.payload = serde_json::json!({"to": "bob@example.com", "words": (1..=40).collect::<Vec<_>>()});
    let fields = request.payload.as_object().cloned().unwrap();
    request.patterns = vec![OfferedPattern::new("to anybody", fields, [("to", Loosen::Any)])];
    let mut asking = Desk::new(request).start();
    asking.ready().send(b"s").wait_for("which calls?").ready();
    let page = asking.seen();
    asking.send(b"\x03").end();
    assert!(!page.contains("to anybody"), "it fits: {page}");
    assert!(page.contains("lines 1 to"), "{page}");
}

#[test]
fn long_runs_of_spaces_are_shown_as_their_count() {
    let content = format!("echo hello{}; rm -rf /srv", " ".repeat(1_900));
    let seen = shows(PresentationKind::Command, &content);
    assert!(seen.contains("·×1900; rm -rf /srv"), "{seen}");
}

#[test]
fn blank_lines_in_content_leave_the_end_on_screen() {
    let seen = shows(PresentationKind::Text, &format!("hello{}the end", "\n".repeat(60)));
    assert!(seen.contains("the end"), "{seen}");
}

#[test]
fn blank_lines_in_a_description_are_counted() {
    let mut request = email();
    request.description = format!("hello{}the end", "\n".repeat(61));
    let seen = seen(&mut Desk::new(request).start());
    assert!(seen.contains("·×60 blank lines"), "{seen}");
}

#[test]
fn answer_after_one_screen_records_the_lines_seen() {
    let mut request = email();
    request.args = args(serde_json::json!({"body": "line\n".repeat(90)}));
    let ended = Desk::new(request).start().ready().send(b"n").end();
    let seen = ended.answers[0].seen.unwrap();
    assert_ne!(seen.lines, seen.of);
}

#[test]
fn yes_before_all_facts_were_seen_approves_nothing() {
    let mut request = email();
    request.facts = (0..60).map(|n| Fact::new("host", format!("h{n}.example.com"))).collect();
    let mut asking = Desk::new(request).start();
    asking.ready().send(b"y");
    assert!(!asking.refuse().decision().approved);
}

#[test]
fn diff_that_changes_line_ends_says_so_in_words() {
    let diff = "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-one\r\n+one\n\\ No newline at end of file\n";
    let seen = shows(PresentationKind::Diff, diff);
    assert!(seen.contains("only line endings change (LF, CRLF)"), "{seen}");
    assert!(seen.contains("the newline at end of file is removed"), "{seen}");
}

#[test]
fn changed_words_in_a_diff_are_underlined() {
    let mut asking = Desk::new(email()).change(|there| *there = fixtures::edit()).start();
    asking.ready();
    let terminal = asking.terminal();
    let row = terminal.screen().rows(0, 80).position(|row| row.contains("Ship the new parser")).unwrap();
    let row = u16::try_from(row).unwrap();
    let underlined = |column: u16| terminal.screen().cell(row, column).is_some_and(vt100::Cell::underline);
    let stands_out = (0..80).any(underlined) && !(0..80).all(underlined);
    asking.send(b"\x03").end();
    assert!(stands_out);
}
