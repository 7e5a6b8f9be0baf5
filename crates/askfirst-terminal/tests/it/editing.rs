//! Tests of editing the arguments of a call.

use std::fs::write;

use crate::desk::{Desk, email};

/// An editor that writes the content of the file `1`, then `2`, … into the edited file.
fn editor(texts: &[&str]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for (at, text) in texts.iter().enumerate() {
        write(folder.path().join((at + 1).to_string()), text).unwrap();
    }
    let path = folder.path().display();
    let script =
        format!("stat -c %a \"$1\" >> {path}/modes\nn=$(wc -l < {path}/modes)\ncp {path}/$n \"$1\"\n");
    write(folder.path().join("editor.sh"), script).unwrap();
    let command = format!("sh {path}/editor.sh");
    (folder, command)
}

#[test]
fn edited_arguments_are_sent_with_the_answer() {
    let (folder, editor) = editor(&["{\"to\": 1, \"to\": 2}", "[]", "{\"to\": \"eve@example.com\"}"]);
    let mut asking = Desk::new(email()).env("EDITOR", "false").env("VISUAL", &editor).start();
    asking.ready().send(b"e").wait_for("duplicate key `to`");
    asking.ready().send(b"e").wait_for("expected an object");
    let ended = asking.ready().send(b"e").end();
    let edited = ended.decision().edited_args.clone().unwrap_or_default();
    assert_eq!(serde_json::Value::Object(edited), serde_json::json!({"to": "eve@example.com"}));
    assert!(ended.screen.contains("edited, to be checked again: send_email"));
    assert_eq!(std::fs::read_to_string(folder.path().join("modes")).unwrap(), "600\n600\n600\n");
}

#[test]
fn editor_that_changes_nothing_or_fails_decides_nothing() {
    let mut asking = Desk::new(email()).env("EDITOR", "true").start();
    asking.ready().send(b"e").wait_for("nothing was changed");
    assert!(!asking.ready().send(b"n").end().decision().approved);
    let mut asking = Desk::new(email()).env("EDITOR", "false").start();
    asking.ready().send(b"e").wait_for("the editor failed");
    assert!(!asking.ready().send(b"n").end().decision().approved);
}

#[test]
fn arguments_without_an_editor_are_typed_into_a_field() {
    let mut asking = Desk::new(email()).start();
    asking.ready().send(b"e").wait_for("Enter sends them").wait_for("bob@example.com\"}");
    // The cursor is after the closing quote and brace. The edit adds an `s` to the recipient.
    asking.send(b"\x1b[D\x1b[D").send(b"s\r").wait_for("coms \"}");
    asking.send(b"\x7f").wait_for("coms\"}");
    let ended = asking.send(b"\r").end();
    let edited = ended.decision().edited_args.clone().unwrap_or_default();
    assert_eq!(edited.get("to"), Some(&serde_json::json!("bob@example.coms")));
}

#[test]
fn edited_arguments_must_match_the_schema() {
    let schema = r#"{"properties": {"to": {"type": "string", "maxLength": 15}}}"#;
    let mut asking = Desk::new(email()).flags(&["--schema", schema]).start();
    asking.ready().send(b"e").wait_for("bob@example.com\"}").send(b"\x1b[D\x1b[D");
    asking.send(b"s").wait_for("coms").send(b"\r").wait_for("`to` must have at most 15 characters");
    asking.send(b"\x1b");
    assert!(!asking.ready().send(b"n").end().decision().approved);
}

#[test]
fn plain_prompt_without_an_editor_offers_no_edit() {
    let mut asking = Desk::new(email()).flags(&["--plain"]).start();
    asking.ready().send(b"e").wait_for("[not yet]").ready().send(b"?").ready().send(b"n");
    let ended = asking.end();
    assert!(!ended.screen.contains("edit the arguments"), "{}", ended.screen);
    let desk = Desk::new(email()).flags(&["--plain"]).env("EDITOR", "true");
    let ended = desk.start().ready().send(b"?").ready().send(b"n").end();
    assert!(ended.screen.contains("e      edit the arguments"), "{}", ended.screen);
}

#[test]
fn choice_that_would_do_nothing_is_not_offered() {
    for flags in [&[][..], &["--plain"]] {
        let mut asking = Desk::new(email()).flags(&["--without", "sNeq"]).flags(flags).start();
        for key in [b"s", b"N", b"e", b"q"] {
            asking.ready().send(key).wait_for("[not yet]");
        }
        let ended = asking.ready().send(b"?").wait_for("keys:").send(b"?").ready().send(b"y").end();
        assert!(ended.decision().approved);
        assert!(!ended.screen.contains("this session") && !ended.screen.contains("edit the"), "{flags:?}");
    }
}

#[test]
fn editor_ends_when_the_question_is_withdrawn() {
    let mut asking = Desk::new(email()).env("EDITOR", "tail -f").flags(&["--withdraw", "3000"]).start();
    asking.ready().send(b"e");
    let ended = asking.wait_for("no answer in time").end();
    assert!(!ended.decision().approved);
}
