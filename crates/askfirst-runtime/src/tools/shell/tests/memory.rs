//! Which calls a remembered approval covers, and what a person sees.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Masked, ShellToolset, World, world};

#[test]
fn only_equal_lines_have_equal_payloads() {
    let world = world("");
    assert_eq!(world.request("npm  test").payload, world.request("npm 'test'").payload);
    for other in [
        "npm test x",
        "npm test > x",
        "CI=1 npm test",
        "cd src && npm test",
        "npm test; npm test",
        "npm test &",
    ] {
        assert_ne!(world.request("npm test").payload, world.request(other).payload, "{other}");
    }
    assert_ne!(world.request("a x && b").payload, world.request("a x || b").payload);
}

#[test]
fn wider_approval_covers_only_requests_with_equal_reasons() {
    let world = world("");
    let request = world.request("git commit -m x");
    let [pattern] = request.patterns.as_slice() else { panic!("{:?}", request.patterns) };
    assert!(pattern.matches(&request.payload));
    assert!(pattern.matches(&world.request("git commit -m y --amend").payload));
    for other in [
        "git push",
        "git -c a=b commit -m x",
        "git commit -m x > y",
        "FOO=1 git commit -m x",
        "cd / && git commit -m x",
        "git commit -F /etc/passwd",
        "git commit -m x; rm -rf /",
        "git commit -m \"$(evil)\"",
    ] {
        assert!(!pattern.matches(&world.request(other).payload), "{other}");
    }
}

#[test]
fn payload_is_described_in_words() {
    let world = world("");
    let folder = world.folder.path().canonicalize().unwrap().display().to_string();
    let reasons = "when askfirst asks for the same reasons and with the same access";
    for (command, what) in [
        ("touch a", format!("`touch a` in {folder}")),
        ("touch a; touch b", format!("exactly this command in {folder}")),
        ("cd src && touch b", format!("exactly this command in {folder}")),
        (&format!("touch {}", "a ".repeat(40)), format!("exactly this command in {folder}")),
    ] {
        assert_eq!(world.request(command).same, Some(format!("{what}, {reasons}")), "{command}");
    }
}

#[test]
fn open_ended_or_doubtful_command_gets_no_wider_offer() {
    let world = world("");
    for command in [
        "bash x.sh",
        "python3 x.py",
        "env ls x",
        "xargs touch x",
        "git -c a=b log x",
        "touch x; touch y",
        "unknown x",
        "cat /etc/passwd",
    ] {
        assert!(world.request(command).patterns.is_empty(), "{command}");
    }
}

#[test]
fn every_program_has_its_row_and_warnings_are_marked() {
    let world = world(
        "  known_read_only: none\n  rules: [ { pattern: 'rm', risk: high, description: 'Remove files' } ]\n",
    );
    let command = "ls | head -3; rm -rf build > log";
    let shown = world.shown(command).presentation.unwrap();
    assert_eq!(shown.content, command);
    let rows = shown.metadata["rows"].as_array().unwrap();
    let programs: Vec<&Value> = rows.iter().map(|row| &row["program"]).collect();
    assert_eq!(programs, [&json!("ls"), &json!("head"), &json!("rm")]);
    let verdicts: Vec<&Value> = rows.iter().map(|row| &row["verdict"]).collect();
    assert_eq!(verdicts, [&json!("allow"), &json!("allow"), &json!("ask")]);
    let span = |row: &Value| (row["start"].as_u64().unwrap() as usize, row["end"].as_u64().unwrap() as usize);
    let (start, end) = span(&rows[2]);
    assert!(command.get(start..end).unwrap().starts_with("rm -rf build"));
    assert_eq!(shown.metadata["redirections"][0]["text"], "> log");
    assert!(!shown.metadata["must_see"].as_array().unwrap().is_empty());
    let request = world.request(command);
    assert_eq!((request.description.as_str(), request.risk), ("Remove files", askfirst::Risk::High));
}

#[test]
fn assessment_names_the_rule_and_its_line() {
    let world = world("  rules:\n    - { pattern: 'ls', approval: none }\n");
    let assessment = world.assess(json!({"command": "ls"}));
    let because = assessment.because.first().unwrap();
    assert_eq!((&*because.rule, because.line), ("shell.rules[0]", Some(8)));
}

/// Changes the config of a project, and returns the request for a command.
fn request_after(world: &mut World, from: &str, to: &str, command: &str) -> askfirst::ApprovalRequest {
    let file = world.folder.path().join("askfirst.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(&file, text.replace(from, to)).unwrap();
    let (config, launcher) = (super::config(&world.folder), Arc::clone(&world.book) as _);
    world.tools = ShellToolset::with_sandbox(&config, launcher, Box::new(Masked::No)).unwrap();
    world.request(command)
}

#[test]
fn payload_does_not_depend_on_the_line_of_the_rule() {
    let mut world = world("  rules:\n    - { pattern: \"npm test\" }\n");
    let before = world.request("npm test");
    let more = "  rules:\n    - { pattern: other }\n";
    let after = request_after(&mut world, "  rules:\n", more, "npm test");
    assert_eq!(before.payload, after.payload);
    assert_ne!(before.facts, after.facts, "the line is a fact");
    let changed = request_after(&mut world, "npm test", "npm", "npm test");
    assert_ne!(before.payload, changed.payload, "another rule is another reason");
}

#[test]
fn rules_with_the_same_text_are_different_reasons() {
    let world = world("  rules:\n    - { pattern: npm, exact: true }\n    - { pattern: npm }\n");
    let why = |command: &str| world.request(command).payload["why"].clone();
    assert_eq!(why("npm"), why("npm"));
    assert_ne!(why("npm"), why("npm test"));
}
