//! An argument stays one word.

use std::collections::BTreeMap;

use askfirst::{Args, Because};
use askfirst_config::{ArgKind, ArgSpec, CommandTool};
use serde_json::{Value, json};

use super::{quoted, words};

fn tool(command: &[&str], args: &[(&str, ArgKind)]) -> CommandTool {
    let spec = |kind| ArgSpec { kind, optional: false, one_of: Vec::new() };
    CommandTool {
        name: "t".to_owned(),
        command: command.iter().map(ToString::to_string).collect(),
        description: String::new(),
        args: args.iter().map(|(name, kind)| (name.to_string(), spec(*kind))).collect(),
        schema: Args::new(),
        folder: "/".into(),
        origin: Because::built_in("tools.t", ""),
    }
}

fn run(tool: &CommandTool, args: Value) -> Result<Vec<String>, String> {
    words(tool, args.as_object().unwrap())
}

#[test]
fn value_is_one_word_whatever_it_contains() {
    let wc = tool(&["wc", "-w", "{path}"], &[("path", ArgKind::String)]);
    assert_eq!(
        run(&wc, json!({"path": "a b; rm -rf $(x) '\n{path}"})).unwrap(),
        ["wc", "-w", "a b; rm -rf $(x) '\n{path}"]
    );
    let joined = tool(&["x", "--file={path}"], &[("path", ArgKind::String)]);
    assert_eq!(run(&joined, json!({"path": "-y z"})).unwrap(), ["x", "--file=-y z"]);
}

// invariant: 7
#[test]
fn value_cannot_become_an_option() {
    let wc = tool(&["wc", "{path}"], &[("path", ArgKind::String)]);
    assert!(run(&wc, json!({"path": "--files0-from=/etc/passwd"})).unwrap_err().contains("as an option"));
    let many = tool(&["cat", "{files}"], &[("files", ArgKind::Strings)]);
    assert!(run(&many, json!({"files": ["a", "-n"]})).is_err());
    let pair = tool(&["x", "{a}{b}"], &[("a", ArgKind::String), ("b", ArgKind::String)]);
    assert!(run(&pair, json!({"a": "", "b": "-x"})).is_err());
    let ended = tool(&["wc", "--", "{path}"], &[("path", ArgKind::String)]);
    assert_eq!(run(&ended, json!({"path": "-x"})).unwrap(), ["wc", "--", "-x"]);
    let number = tool(&["x", "{n}"], &[("n", ArgKind::Integer)]);
    assert!(run(&number, json!({"n": -1})).is_err());
}

#[test]
fn arguments_must_be_known_complete_and_of_their_type() {
    let wc = tool(&["wc", "{path}"], &[("path", ArgKind::String)]);
    for args in [
        json!({}),
        json!({"path": 1}),
        json!({"path": null}),
        json!({"path": "a\u{0}b"}),
        json!({"path": "a", "x": 1}),
    ] {
        assert!(run(&wc, args.clone()).is_err(), "{args}");
    }
}

#[test]
fn word_without_its_argument_is_left_out() {
    let mut grep = tool(&["grep", "--max-count={n}", "x"], &[("n", ArgKind::Integer)]);
    grep.args = BTreeMap::from([(
        "n".to_owned(),
        ArgSpec { kind: ArgKind::Integer, optional: true, one_of: Vec::new() },
    )]);
    assert_eq!(run(&grep, json!({})).unwrap(), ["grep", "x"]);
    assert_eq!(run(&grep, json!({"n": 3})).unwrap(), ["grep", "--max-count=3", "x"]);
}

#[test]
fn quoting_reads_back_in_a_shell() {
    assert_eq!(quoted(&["a".into(), String::new(), "it's".into()]), r"a '' 'it'\''s'");
}
