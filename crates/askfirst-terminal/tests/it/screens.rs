//! The plain screens, as they are.

use askfirst::{ApprovalPresentation, PresentationKind, Risk};

use crate::desk::{Desk, args, email};

/// The screen with every time of day made the same.
fn settled(screen: &str) -> String {
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
    settled(&asking.end().screen)
}

#[test]
fn a_simple_call() {
    insta::assert_snapshot!("simple_80", screen(email(), 80, &["y"]));
    insta::assert_snapshot!("simple_40", screen(email(), 40, &["y"]));
    insta::assert_snapshot!("simple_120", screen(email(), 120, &["y"]));
}

#[test]
fn a_diff_that_must_be_viewed() {
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
fn a_call_that_cannot_be_undone() {
    let mut request = email();
    request.risk = Risk::Irreversible;
    insta::assert_snapshot!("irreversible_80", screen(request.clone(), 80, &["q"]));
    insta::assert_snapshot!("irreversible_40", screen(request.clone(), 40, &["q"]));
    insta::assert_snapshot!("irreversible_120", screen(request, 120, &["q"]));
}
