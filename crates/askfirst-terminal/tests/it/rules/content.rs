//! Display, rules 1 to 6: what somebody else wrote.

use askfirst::{ApprovalPresentation, Fact, Loosen, OfferedPattern, PresentationKind};
use askfirst_display::Rule;

use super::{Office, only};
use crate::desk::{Asking, args, email};
use crate::fixtures;

/// The screen once it is ready. The question is then refused.
fn seen(asking: &mut Asking) -> String {
    asking.ready();
    let seen = asking.seen();
    asking.send(b"\x03").end();
    seen
}

fn shows(office: Office, kind: PresentationKind, content: &str) -> String {
    let mut request = email();
    request.presentation = Some(ApprovalPresentation::new(kind, content));
    seen(&mut office.asks(request).start())
}

#[test]
fn what_a_terminal_acts_upon_is_drawn_as_an_escape() {
    only(Rule::Visible, |office| {
        let mut request = email();
        request.description = "harmless \x1b[8m\u{202e}".into();
        let mut asking = office.asks(request).flags(&["--plain"]).start();
        asking.ready().send(b"n");
        asking.end().screen.contains("\x1b[8m\u{202e}")
    });
}

#[test]
fn how_much_is_drawn_otherwise_is_said() {
    only(Rule::Counts, |office| {
        !shows(office, PresentationKind::Text, "a\u{200b}b").contains("1 character shown as an escape")
    });
}

#[test]
fn content_cannot_draw_a_frame_or_a_mark_of_ours() {
    only(Rule::Gutter, |office| {
        let content = "━━ approval needed ━━\nready: \n";
        let seen = shows(office, PresentationKind::Text, content);
        seen.lines().filter(|line| line.starts_with("ready:") || line.starts_with("━━ approval")).count() > 2
    });
}

#[test]
fn what_the_agent_says_stands_apart_from_the_facts() {
    only(Rule::Apart, |office| {
        let seen = seen(&mut office.mail().start());
        let (before, _) = seen.split_once("Send email to bob").unwrap();
        !before.trim_end_matches(['│', ' ', '\n']).ends_with("agent says (not checked):")
    });
}

#[test]
fn letters_that_look_like_others_are_warned_of() {
    only(Rule::Letters, |office| {
        let mut request = email();
        request.facts.push(Fact::new("host", "ex\u{430}mple.com"));
        !seen(&mut office.asks(request).start()).contains("warning: the host's name has letters")
    });
}

#[test]
fn what_does_not_fit_is_said_to_be_there() {
    only(Rule::Uncut, |office| {
        !shows(office, PresentationKind::Text, &"line\n".repeat(200)).contains("more below")
    });
    only(Rule::Uncut, |office| {
        let mut request = email();
        request.presentation = Some(ApprovalPresentation::new(PresentationKind::Text, "line\n".repeat(200)));
        let mut asking = office.asks(request).flags(&["--plain"]).start();
        asking.ready().send(b"n");
        !asking.end().screen.contains("150 more lines not shown")
    });
}

#[test]
fn how_far_a_yes_reaches_is_not_cut_off_unseen() {
    only(Rule::Uncut, |office| {
        let mut request = email();
        request.payload = serde_json::json!({"to": "bob@example.com", "words": (1..=40).collect::<Vec<_>>()});
        let fields = request.payload.as_object().cloned().unwrap();
        request.patterns = vec![OfferedPattern::new("to anybody", fields, [("to", Loosen::Any)])];
        let mut asking = office.asks(request).start();
        asking.ready().send(b"s").wait_for("how far?").ready();
        let page = asking.seen();
        asking.send(b"\x03").end();
        assert!(!page.contains("to anybody"), "it fits: {page}");
        !page.contains("how far? lines 1 to")
    });
}

#[test]
fn blanks_cannot_push_the_rest_out_of_sight() {
    only(Rule::Collapse, |office| {
        let content = format!("echo hello{}; rm -rf /srv", " ".repeat(1_900));
        let seen = shows(office, PresentationKind::Command, &content);
        !seen.contains("·×1900; rm -rf /srv")
    });
    only(Rule::Collapse, |office| {
        let content = format!("hello{}the end", "\n".repeat(60));
        !shows(office, PresentationKind::Text, &content).contains("the end")
    });
}

#[test]
fn how_much_was_on_screen_is_recorded() {
    only(Rule::Seen, |office| {
        let mut request = email();
        request.args = args(serde_json::json!({"body": "line\n".repeat(90)}));
        let ended = office.asks(request).start().ready().send(b"y").end();
        let seen = ended.answers[0].seen.unwrap();
        seen.lines == seen.of
    });
}

#[test]
fn what_must_be_seen_was_on_screen_before_a_yes() {
    only(Rule::MustSee, |office| {
        let mut request = email();
        request.facts = (0..60).map(|n| Fact::new("host", format!("h{n}.example.com"))).collect();
        let mut asking = office.asks(request).start();
        asking.ready().send(b"y");
        asking.refuse().decision().approved
    });
}

#[test]
fn what_a_diff_comes_to_is_said_in_words() {
    let diff = "--- a\n+++ b\n@@ -1,1 +1,1 @@\n-one\r\n+one\n\\ No newline at end of file\n";
    only(Rule::DiffWords, |office| {
        let seen = shows(office, PresentationKind::Diff, diff);
        !(seen.contains("only line ends change (LF, CRLF)")
            && seen.contains("the line feed at the end is taken away"))
    });
}

#[test]
fn the_words_that_differ_stand_out() {
    only(Rule::Emphasis, |office| {
        let mut asking = office.mail().change(|there| *there = fixtures::edit()).start();
        asking.ready();
        let terminal = asking.terminal();
        let row = terminal.screen().rows(0, 80).position(|row| row.contains("Ship the new parser")).unwrap();
        let row = u16::try_from(row).unwrap();
        let underlined =
            |column: u16| terminal.screen().cell(row, column).is_some_and(vt100::Cell::underline);
        let stands_out = (0..80).any(underlined) && !(0..80).all(underlined);
        asking.send(b"\x03").end();
        !stands_out
    });
}
