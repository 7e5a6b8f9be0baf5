//! Tests that no command succeeds if its output could not be written.

use std::fs::File;
use std::process::Stdio;

use crate::commands::Place;

const CONFIG: &str = r#"
version: 1
ledger: { path: ./record.jsonl }
tools:
  hello: { command: [echo, hello], approval: none }
  denied: { command: [echo, denied], approval: deny }
"#;

const PRINT: &[&[&str]] = &[
    &["call", "hello"],
    &["call", "hello", "--json"],
    &["run", "calls.jsonl"],
    &["run", "calls.jsonl", "--json"],
    &["explain", "hello"],
    &["explain", "hello", "--json"],
    &["effective"],
    &["schema"],
    &["man"],
    &["completions", "bash"],
    &["migrate", "c.yaml"],
    &["migrate", "c.yaml", "--json"],
    &["memory"],
    &["doctor"],
    &["log"],
    &["log", "--json"],
    &["log", "verify"],
];

fn place() -> Place {
    let place = Place::new(CONFIG);
    std::fs::write(place.path().join("calls.jsonl"), "{\"tool\":\"hello\"}\n").unwrap();
    assert_eq!(place.run(&["call", "hello", "--config", "c.yaml"]).0, 0);
    place
}

#[test]
fn full_standard_output_is_reported_and_fails() {
    let place = place();
    for words in PRINT {
        let args = [words, &["--config", "c.yaml"][..]].concat();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (code, err) = place.writing_into(&args, full.into());
        assert_eq!(code, 1, "{words:?}: {err}");
        let said = "error: cannot write standard output: ";
        assert_eq!(err.matches(said).count(), 1, "{words:?}: {err}");
    }
}

#[test]
fn higher_exit_code_stays_when_standard_output_is_full() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let args = ["call", "denied", "--json", "--config", "c.yaml"];
    let (code, err) = place().writing_into(&args, full.into());
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("cannot write standard output"), "{err}");
}

#[test]
fn closed_pipe_is_not_a_failure() {
    let place = place();
    for words in PRINT {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let args = [words, &["--config", "c.yaml"][..]].concat();
        let (code, err) = place.writing_into(&args, Stdio::from(writer));
        assert_eq!((code, err.contains("error:")), (0, false), "{words:?}: {err}");
    }
}
