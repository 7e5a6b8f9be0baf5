//! Display, rules 7 to 9: several questions at once, other terminals, the scope of a yes.

use crate::desk::{Desk, email};
use crate::fixtures;

fn named(tool: &str) -> askfirst::ApprovalRequest {
    let mut request = email();
    request.tool_name = tool.into();
    request
}

#[test]
fn questions_in_a_queue_appear_in_order() {
    let mut asking = Desk::new(named("first")).and_then(named("second")).and_then(named("third")).start();
    let order = [0, 1, 2].map(|_| {
        let shown = asking.wait_for("call ").which(&["first", "second", "third"]);
        asking.ready().send(b"n").wait_for("refused: ");
        shown
    });
    asking.end();
    assert_eq!(order, [Some(0), Some(1), Some(2)]);
}

#[test]
fn question_in_a_queue_shows_its_position() {
    let mut asking = Desk::new(email()).change(|there| (there.position, there.of) = (2, 5)).start();
    asking.ready();
    let seen = asking.seen();
    asking.send(b"n").end();
    assert!(seen.contains("━ 2 of 5 ━━"), "{seen}");
}

#[test]
fn group_question_lists_every_member() {
    let mut asking = Desk::group(vec![named("first"), named("second"), named("third")]).start();
    asking.ready();
    let seen = asking.seen();
    asking.send(b"\x03").end();
    for (number, tool) in [("1", "first"), ("2", "second"), ("3", "third")] {
        let listed = |row: &str| row.contains(&format!("{number} included")) && row.contains(tool);
        assert!(seen.lines().any(listed), "{tool}: {seen}");
    }
}

#[test]
fn group_member_left_out_is_not_approved() {
    let mut asking = Desk::group(vec![named("first"), named("second")]).rows(60).start();
    asking.ready().send(b"2").wait_for("refused").ready().send(b"y");
    let ended = asking.end();
    assert!(ended.answers[0].decisions[0].approved);
    assert!(!ended.answers[0].decisions[1].approved);
}

#[test]
fn prompt_with_no_color_has_no_styles() {
    let ended = Desk::new(email()).env("NO_COLOR", "1").start().ready().send(b"n").end();
    assert!(!ended.screen.contains("\x1b[1m"));
}

#[test]
fn prompt_on_a_dumb_terminal_has_no_escape_codes() {
    let ended = Desk::new(email()).env("TERM", "dumb").start().ready().send(b"n").end();
    assert!(!ended.screen.contains('\x1b'));
}

#[test]
fn full_view_in_plain_style_numbers_its_lines() {
    let mut asking = Desk::new(email()).flags(&["--plain"]).start();
    asking.ready().send(b"v").ready().send(b"n");
    let printed = asking.end().screen;
    for number in 1..4 {
        let prefix = format!("{number:>6} ");
        assert!(printed.lines().any(|line| line.starts_with(&prefix)), "{number}: {printed}");
    }
}

#[test]
fn session_yes_shows_what_it_covers_and_until_when() {
    let mut asking = Desk::new(email()).start();
    asking.ready().send(b"s").ready();
    let seen = asking.seen();
    asking.send(b"\x03").end();
    assert!(seen.contains("this tool with the same arguments"), "{seen}");
    assert!(seen.contains("forgotten when the session ends"), "{seen}");
}

#[test]
fn bell_on_a_focused_terminal_stays_silent() {
    let ended = Desk::new(email()).start().ready().send(b"n").end();
    assert!(!ended.screen.contains('\x07'));
}

#[test]
fn earlier_output_under_a_prompt_stays() {
    let mut asking = Desk::new(email()).flags(&["--say", "earlier output"]).start();
    asking.ready();
    let seen = asking.seen();
    asking.send(b"n").end();
    assert!(seen.contains("earlier output"), "{seen}");
}

#[test]
fn every_kind_of_question_refuses_on_ctrl_c() {
    for (name, question) in fixtures::all() {
        let mut asking = Desk::new(email()).change(|there| *there = question).rows(60).start();
        asking.ready();
        assert!(asking.seen().starts_with("━━ "), "{name}");
        assert!(!asking.send(b"\x03").end().answers[0].decisions[0].approved);
    }
}
