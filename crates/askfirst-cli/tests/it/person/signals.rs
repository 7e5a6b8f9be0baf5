//! Tests of signals and closed terminals: the audit log and the exit code report them.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::Terminal;
use super::stories::{list, place, write};
use crate::commands::Place;

const SLOW: &str = r#"
version: 1
sandbox:
  require_os_sandbox: false
  paths: { work: { root: ./work, mode: rw, approval: { write: none } } }
ledger: { path: ./record.jsonl }
tools:
  slow: { command: [sh, -c, "sleep 20"], approval: none }
  asks: { command: [echo, asked] }
"#;

fn slow() -> Place {
    let place = Place::new(SLOW);
    std::fs::create_dir(place.path().join("work")).unwrap();
    place
}

fn entries(place: &Place, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(place.path().join("record.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["kind"] == kind).collect()
}

fn wait_until(what: &str, so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn signal_during_a_prompt_sets_the_exit_code_and_is_logged() {
    for (told, code, cause) in
        [(Signal::TERM, 143, "cancelled"), (Signal::INT, 130, "cancelled"), (Signal::HUP, 5, "terminal_lost")]
    {
        let place = slow();
        let mut terminal = Terminal::start(&place, &["call", "asks", "--config", "c.yaml"]);
        terminal.wait_for("ready:");
        terminal.signal(told);
        let (ended, said) = terminal.end();
        assert_eq!(ended, code, "{said}");
        assert_eq!(entries(&place, "decided")[0]["cause"], cause, "{said}");
        assert!(entries(&place, "executed").is_empty());
    }
}

#[test]
fn closing_terminal_with_two_signals_loses_no_outcome() {
    let place = slow();
    let terminal = Terminal::start(&place, &["call", "slow", "--config", "c.yaml"]);
    // The program runs on a view, so nothing in the folder says that it has begun.
    wait_until("it was decided", || {
        place.path().join("record.jsonl").exists() && !entries(&place, "decided").is_empty()
    });
    std::thread::sleep(Duration::from_millis(500));
    terminal.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(2));
    terminal.signal(Signal::HUP);
    let (code, said) = terminal.end();
    assert_eq!(code, 129, "{said}");
    assert_eq!(entries(&place, "executed").len(), 1, "{said}");
}

#[test]
fn run_that_waits_for_lines_ends_on_a_signal() {
    let place = slow();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_askfirst"));
    command.args(["run", "--strict", "--config", "c.yaml", "-"]).current_dir(place.path());
    place.alone(&mut command);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", json!({"tool": "asks"})).unwrap();
    wait_until("it was decided", || {
        place.path().join("record.jsonl").exists() && !entries(&place, "decided").is_empty()
    });
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("refused") && said.contains("stopped"), "{said}");
    drop(stdin);
}

#[test]
fn run_refuses_to_read_calls_from_a_terminal() {
    let place = slow();
    let (code, said) = Terminal::start(&place, &["run", "--config", "c.yaml", "-"]).end();
    assert_eq!(code, 2);
    assert!(said.contains("cannot read calls from a terminal") && said.contains("hint: "), "{said}");
}

#[test]
fn group_with_one_refused_call_runs_the_rest_before_the_stop() {
    let place = place();
    let config = std::fs::read_to_string(place.path().join("c.yaml")).unwrap();
    std::fs::write(place.path().join("c.yaml"), format!("{config}on_denial: stop\n")).unwrap();
    let grouped = |path: &str| {
        let mut call = write(path, "x\n");
        call["metadata"] = json!({"batch_id": "b"});
        call
    };
    list(
        &place,
        &[grouped("notes:1.md"), grouped("notes:2.md"), grouped("notes:3.md"), write("notes:4.md", "x\n")],
    );
    let mut terminal = Terminal::start(&place, &["run", "calls.jsonl", "--config", "c.yaml"]);
    terminal.press("1");
    terminal.wait_for("refused");
    terminal.press("\u{1b}[F");
    terminal.press("y");
    let (_, said) = terminal.end();
    let is_there = |name: &str| place.path().join("notes").join(name).exists();
    assert_eq!(
        [is_there("1.md"), is_there("2.md"), is_there("3.md"), is_there("4.md")],
        [false, true, true, false],
        "{said}"
    );
    assert!(said.contains("not run"), "{said}");
}
