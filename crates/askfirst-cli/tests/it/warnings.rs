//! Tests of warnings and faults of a config, and that every command gives the same verdict.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::commands::Place;

const OLD: &str = "version: 1\ntools: { a: { allowed: false }, wc: { command: [wc], approval: none } }\n";

#[test]
fn warnings_are_printed_by_every_command_with_a_config() {
    let place = Place::new(OLD);
    for args in [&["decide"][..], &["explain", "a"], &["effective"], &["call", "wc", "--strict"]] {
        let args: Vec<&str> = args.iter().copied().chain(["--config", "c.yaml"]).collect();
        let (_, printed, complaint) = place.feed(&args, b"{\"tool\":\"a\"}\n");
        let told =
            "warning: c.yaml:2:15: `allowed: false` is an older spelling\nhint: write `approval: deny`";
        assert!(complaint.contains(told), "{args:?}: {complaint}");
        assert!(!printed.contains("older spelling"), "{args:?}: {printed}");
        let json: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let (_, _, complaint) = place.feed(&json, b"{\"tool\":\"a\"}\n");
        assert!(!complaint.contains("older spelling"), "{args:?}: {complaint}");
    }
}

#[test]
fn tool_that_is_not_offered_is_denied_by_every_command() {
    let place = Place::new(
        "version: 1\nsandbox: { require_os_sandbox: false }\nonly_tools: [other]\ntools: { wc: { command: [wc], approval: none } }\n",
    );
    let (_, decided, _) = place.feed(&["decide", "--config", "c.yaml"], b"{\"tool\":\"wc\"}\n");
    let decided: Value = serde_json::from_str(&decided).unwrap();
    assert_eq!((&decided["verdict"], &decided["because"][0]["rule"]), (&"deny".into(), &"only_tools".into()));
    let (_, explained, _) = place.run(&["explain", "wc", "--config", "c.yaml"]);
    assert!(
        explained.starts_with("wc: deny (deny)\n  decided  only_tools (c.yaml:3): [other]\n"),
        "{explained}"
    );
    assert_eq!(place.run(&["call", "wc", "--config", "c.yaml"]).0, 3);
}

#[test]
fn decide_answers_before_the_next_line_is_complete() {
    let place = Place::new(OLD);
    let mut child = place
        .command(&["decide", "--config", "c.yaml"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || stdout.lines().for_each(|line| drop(sender.send(line.unwrap()))));
    let soon = std::time::Duration::from_secs(20);
    stdin.write_all(b"{\"id\":1,\"tool\":\"a\"}\n{\"id\":2,").unwrap();
    assert!(receiver.recv_timeout(soon).is_ok_and(|line| line.starts_with("{\"id\":1,")));
    stdin.write_all(b"\"tool\":\"a\"}\n").unwrap();
    assert!(receiver.recv_timeout(soon).is_ok_and(|line| line.starts_with("{\"id\":2,")));
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn too_many_faults_are_counted_and_not_all_printed() {
    let lines: String = (0..1_000).map(|n| format!("key_{n}: 1\n")).collect();
    let place = Place::new(&format!("version: 1\n{lines}"));
    let (code, _, complaint) = place.run(&["effective", "--config", "c.yaml"]);
    assert_eq!((code, complaint.matches("unknown key").count()), (2, 200));
    assert!(complaint.contains("\n201 | key_199: 1\n"), "{complaint}");
    assert!(complaint.ends_with("and 800 more\n"), "{}", complaint.lines().last().unwrap());
}

#[test]
fn empty_tool_name_is_a_usage_error() {
    let place = Place::new(OLD);
    for command in ["explain", "call"] {
        assert_eq!(place.run(&[command, "", "--config", "c.yaml"]).0, 2, "{command}");
    }
}
