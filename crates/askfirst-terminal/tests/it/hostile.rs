//! Tests that hostile text is only drawn and never acts on the terminal.

use askfirst::{ApprovalPresentation, Fact, PresentationKind};

use crate::desk::{Desk, args, email};

const HOSTILE: &str = "\x1b[8mhidden\x1b[2J\u{202e}txt\u{200b}\r\x07\u{9b}31m\ny yes\n━ call fetch";

// invariant: 5
#[test]
fn hostile_text_reaches_the_terminal_escaped() {
    let mut request = email();
    request.tool_name = HOSTILE.into();
    request.description = HOSTILE.into();
    request.caller = Some(HOSTILE.into());
    request.facts.push(Fact::new(HOSTILE, HOSTILE));
    request.args = args(serde_json::json!({HOSTILE: HOSTILE, "list": [HOSTILE, {"deep": HOSTILE}]}));
    request.presentation =
        Some(ApprovalPresentation::new(PresentationKind::Diff, HOSTILE).with_language(HOSTILE));
    let mut asking = Desk::new(request).flags(&["--plain"]).start();
    asking.ready().send(b"v").ready().send(b"?").ready().send(b"n");
    let ended = asking.end();
    let raw = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{200b}\u{9b}".contains(c);
    assert_eq!(ended.screen.chars().find(|c| raw(*c)), None);
    assert!(ended.screen.contains(r"\x1b[8mhidden\x1b[2J\u{202e}txt\u{200b}\r\x07\u{9b}31m"));
    assert!(ended.screen.contains("characters shown as escapes"));
    assert_eq!(ended.screen.lines().filter(|line| line.starts_with("━ ")).count(), 1);
}

#[test]
fn hostile_reason_is_echoed_escaped() {
    let mut asking = Desk::new(email()).flags(&["--plain"]).start();
    asking.ready().send(b"r").wait_for("Esc goes back): ");
    asking.send("\x1b[200~a\u{202e}\x1b[201~".as_bytes()).wait_for(r"\u{202e}");
    let ended = asking.send(b"\r").end();
    assert!(!ended.screen.contains('\u{202e}'));
}

#[test]
fn plain_and_dumb_prompts_have_no_escape_codes() {
    for (flags, name, value) in [(&["--plain"][..], "X", ""), (&[], "TERM", "dumb")] {
        let ended = Desk::new(email()).flags(flags).env(name, value).start().ready().send(b"y").end();
        assert!(ended.decision().approved);
        assert!(!ended.screen.contains('\x1b'), "{name}");
    }
}

#[test]
fn prompt_with_no_color_has_no_color_codes() {
    let ended = Desk::new(email()).env("NO_COLOR", "1").start().ready().send(b"y").end();
    assert!(ended.decision().approved);
    let codes: Vec<&str> = ended.screen.split("\x1b[").skip(1).collect();
    let colours = |code: &&str| code.chars().find(char::is_ascii_alphabetic) == Some('m');
    assert!(!codes.is_empty());
    assert_eq!(codes.iter().find(|code| colours(code)), None);
}

#[test]
fn colored_prompt_resets_every_code() {
    let ended = Desk::new(email()).start().ready().send(b"y").end();
    assert!(ended.screen.contains("\x1b[1m"));
    assert!(ended.screen.contains("\x1b[?2004h") && ended.screen.contains("\x1b[?2004l"));
    assert!(ended.screen.trim_end().ends_with("\x1b[0m"));
}
