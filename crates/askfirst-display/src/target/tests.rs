//! Tests of the word that confirms a call.

use std::collections::BTreeSet;

use askfirst::simple_approval_request;
use serde_json::{Value, json};

use super::word;
use crate::offer::Choice;
use crate::redact::Redactor;

fn typed(args: Value) -> String {
    let request = simple_approval_request("delete", args.as_object().unwrap(), None, &[]);
    let keys = Choice::ALL.map(Choice::key);
    word(&request, &Redactor::default(), &keys)
}

#[test]
fn word_is_part_of_the_target() {
    for (args, word) in [
        (json!({"path": "/a/b/old.md"}), "old.md"),
        (json!({"url": "https://me@db.example/x"}), "db.example"),
        (json!({"to": ["bob@example.com"]}), "bob@example.com"),
        (json!({"path": "notes/nuke.md", "host": "db.example"}), "db.example"),
    ] {
        assert_eq!(typed(args), word);
    }
}

#[test]
fn digits_differ_by_arguments_and_start_with_no_key() {
    let targets = [
        "?x",
        "e",
        "y",
        "日本.example",
        "x y",
        "/",
        "nuke.example",
        "reset",
        "Nix",
        "quit",
        "vault",
        "env",
        "sys",
    ];
    let words: BTreeSet<String> = targets.iter().map(|target| typed(json!({"a": target}))).collect();
    assert_eq!(words.len(), targets.len(), "{words:?}");
    for word in words {
        assert_eq!(word.len(), 6, "{word}");
        assert!(word.chars().all(|c| c.is_ascii_hexdigit()) && !word.starts_with('e'), "{word}");
    }
    assert_ne!(typed(json!({})), typed(json!({"a": "e"})));
}
