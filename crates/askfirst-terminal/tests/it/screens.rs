//! Snapshots of the plain prompt.

use askfirst::{ApprovalPresentation, PresentationKind, Risk};

use crate::desk::{Desk, Seat, args, email};
use crate::fixtures;

/// The screen with every time of day replaced.
fn without_times(screen: &str) -> String {
    let mut lines = Vec::new();
    for line in screen.lines() {
        let line = match line.strip_suffix(" UTC").and_then(|rest| rest.rsplit_once(", ")) {
            Some((what, _)) => format!("{what}, HH:MM:SS UTC"),
            None => line.to_owned(),
        };
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

fn screen(request: askfirst::ApprovalRequest, columns: u16, keys: &[&str]) -> String {
    let mut asking = Desk::new(request).columns(columns).flags(&["--plain", "--preview", "6"]).start();
    for key in keys {
        asking.ready().send(key.as_bytes());
    }
    without_times(&asking.end().screen)
}

#[test]
fn simple_call_matches_its_snapshot() {
    insta::assert_snapshot!("simple_80", screen(email(), 80, &["y"]));
    insta::assert_snapshot!("simple_40", screen(email(), 40, &["y"]));
    insta::assert_snapshot!("simple_120", screen(email(), 120, &["y"]));
}

#[test]
fn risky_diff_matches_its_snapshot() {
    let diff: String =
        (1..=9).map(|n| format!("+added line number {n} with some more words in it\n")).collect();
    let diff = format!("--- a/notes.md\n+++ b/notes.md\n@@ -1,0 +1,9 @@\n{diff}");
    let mut request = email();
    request.risk = Risk::High;
    request.tool_name = "edit_file".into();
    request.description = "Change notes.md".into();
    request.args = args(serde_json::json!({"path": "notes.md"}));
    request.presentation = Some(ApprovalPresentation::new(PresentationKind::Diff, diff));
    insta::assert_snapshot!("diff_80", screen(request.clone(), 80, &["y", "v", "?", "y"]));
    insta::assert_snapshot!("diff_40", screen(request.clone(), 40, &["v", "n"]));
    insta::assert_snapshot!("diff_120", screen(request, 120, &["v", "n"]));
}

#[test]
fn irreversible_call_matches_its_snapshot() {
    let mut request = email();
    request.risk = Risk::Irreversible;
    insta::assert_snapshot!("irreversible_80", screen(request.clone(), 80, &["q"]));
    insta::assert_snapshot!("irreversible_40", screen(request.clone(), 40, &["q"]));
    insta::assert_snapshot!("irreversible_120", screen(request, 120, &["q"]));
}

#[test]
fn plain_prompt_of_every_kind_matches_its_snapshot() {
    for (name, question) in fixtures::more() {
        for columns in [80, 120, 40] {
            let deadline = |member: &mut askfirst::machine::Member| {
                std::sync::Arc::make_mut(&mut member.request).deadline = None;
            };
            let desk = Desk::new(email()).change(|there| *there = question.clone());
            let desk = desk.change(|there| there.members.iter_mut().for_each(deadline));
            let mut asking = desk.columns(columns).flags(&["--plain", "--preview", "6"]).start();
            asking.wait_for("[not yet]").wait_for("\nready:").send(b"n");
            insta::assert_snapshot!(format!("lines_{name}_{columns}"), without_times(&asking.end().screen));
        }
    }
}

#[test]
fn plain_reason_and_scopes_match_their_snapshots() {
    for columns in [80, 120, 40] {
        let start = |keys: &[&str]| {
            let desk = Desk::new(email()).change(|there| *there = fixtures::group());
            let mut asking = desk.columns(columns).flags(&["--plain", "--preview", "6"]).start();
            for key in keys {
                asking.ready().send(key.as_bytes());
            }
            asking
        };
        let mut asking = start(&["2", "r"]);
        asking.wait_for("Esc goes back): ").send(b"later").wait_for("later").send(b"\r");
        insta::assert_snapshot!(format!("lines_reason_{columns}"), without_times(&asking.end().screen));
        let desk = Desk::new(email()).change(|there| {
            *there = fixtures::edit();
            std::sync::Arc::make_mut(&mut there.members[0].request).deadline = None;
        });
        let mut asking = desk.columns(columns).flags(&["--plain", "--preview", "6"]).start();
        asking.ready().send(b"v").ready().send(b"s").wait_for("which calls?");
        asking.ready().send(b"2").wait_for("is chosen");
        asking.ready().send(b"s");
        insta::assert_snapshot!(format!("lines_scope_{columns}"), without_times(&asking.end().screen));
    }
}

#[test]
fn screen_after_a_timeout_matches_its_snapshot() {
    for columns in [80, 120, 40] {
        for flags in [&["--withdraw", "400"][..], &["--withdraw", "400", "--plain"]] {
            let mut asking = Desk::new(email()).columns(columns).flags(flags).start();
            asking.end();
            let seen = without_times(&asking.seen());
            insta::assert_snapshot!(format!("time_out_{}_{columns}", flags.len()), seen);
        }
    }
}

#[test]
fn note_without_a_terminal_matches_its_snapshot() {
    let ended = Desk::new(email()).seat(Seat::None).start().end();
    insta::assert_snapshot!("no_terminal", ended.decision().note.clone().unwrap_or_default());
}
