//! Display, rules 7 to 9: several at once, other terminals, how far a yes reaches. And what else is ours to keep.

use askfirst_display::Rule;

use super::only;
use crate::desk::{Desk, email};
use crate::fixtures;

fn named(tool: &str) -> askfirst::ApprovalRequest {
    let mut request = email();
    request.tool_name = tool.into();
    request
}

#[test]
fn who_comes_first_is_shown_first() {
    only(Rule::Queue, |office| {
        let mut asking =
            office.asks(named("first")).and_then(named("second")).and_then(named("third")).start();
        let order = [0, 1, 2].map(|_| {
            let shown = asking.wait_for("tool: ").which(&["first", "second", "third"]);
            asking.ready().send(b"n").wait_for("refused: ");
            shown
        });
        asking.end();
        order != [Some(0), Some(1), Some(2)]
    });
}

#[test]
fn how_many_wait_is_said() {
    only(Rule::Position, |office| {
        let mut asking = office.mail().change(|there| (there.position, there.of) = (2, 5)).start();
        asking.ready();
        let silent = !asking.seen().contains("question 2 of 5");
        asking.send(b"n").end();
        silent
    });
}

#[test]
fn a_group_lists_every_member() {
    only(Rule::Members, |office| {
        let desk = Desk::group(vec![named("first"), named("second"), named("third")]);
        let mut asking = office.set_up(desk).start();
        asking.ready();
        let seen = asking.seen();
        asking.send(b"\x03").end();
        let listed = |number: &str, tool: &str| {
            seen.lines().any(|row| row.contains(&format!("{number} as answered")) && row.contains(tool))
        };
        !(listed("1", "first") && listed("2", "second") && listed("3", "third"))
    });
}

#[test]
fn a_member_that_was_left_out_is_not_approved() {
    only(Rule::LeftOut, |office| {
        let desk = Desk::group(vec![named("first"), named("second")]).rows(60);
        let mut asking = office.set_up(desk).start();
        asking.ready().send(b"2").wait_for("refused").ready().send(b"y");
        let ended = asking.end();
        assert!(ended.answers[0].decisions[0].approved);
        ended.answers[0].decisions[1].approved
    });
}

#[test]
fn no_color_takes_the_colours_away() {
    only(Rule::NoColour, |office| {
        let ended = office.mail().env("NO_COLOR", "1").start().ready().send(b"n").end();
        ended.screen.contains("\x1b[1m")
    });
}

#[test]
fn a_dumb_terminal_gets_no_escape_code() {
    only(Rule::Dumb, |office| {
        let ended = office.mail().env("TERM", "dumb").start().ready().send(b"n").end();
        ended.screen.contains('\x1b')
    });
}

#[test]
fn all_of_it_in_lines_is_numbered() {
    only(Rule::Numbered, |office| {
        let mut asking = office.mail().flags(&["--plain"]).start();
        asking.ready().send(b"v").ready().send(b"n");
        let printed = asking.end().screen;
        !(1..5).all(|number| printed.lines().any(|line| line.starts_with(&format!("{number:>6} "))))
    });
}

#[test]
fn a_yes_for_the_session_says_what_it_covers_and_until_when() {
    only(Rule::Scope, |office| {
        let mut asking = office.mail().start();
        asking.ready();
        let seen = asking.seen();
        asking.send(b"n").end();
        !(seen.contains("this tool with the same arguments")
            && seen.contains("forgotten when the session ends"))
    });
}

#[test]
fn nobody_who_looks_is_rung_for() {
    only(Rule::Bell, |office| {
        let ended = office.mail().start().ready().send(b"n").end();
        ended.screen.contains('\x07')
    });
}

#[test]
fn what_stood_there_before_stays() {
    only(Rule::Inline, |office| {
        let mut asking = office.mail().flags(&["--say", "earlier output"]).start();
        asking.ready();
        let gone = !asking.seen().contains("earlier output");
        asking.send(b"n").end();
        gone
    });
}

#[test]
fn the_rules_are_shown_on_more_than_one_kind_of_question() {
    for (name, question) in fixtures::all() {
        let mut asking = Desk::new(email()).change(|there| *there = question).rows(60).start();
        asking.ready();
        assert!(asking.seen().contains("approval needed"), "{name}");
        assert!(!asking.send(b"\x03").end().answers[0].decisions[0].approved);
    }
}
