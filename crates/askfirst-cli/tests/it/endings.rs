//! Tests that askfirst searches the new files of commands, however a session ends. The files are in a folder of build
//! output, which commands write directly.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::commands::Place;

const CONFIG: &str = r#"
version: 1
sandbox:
  paths:
    top: { root: ./top, mode: rw, approval: { write: none }, products: [out] }
ledger: { path: ./record.jsonl }
shell: { default: { approval: none } }
"#;

/// Creates a protected name, signals that it did, and keeps running.
const PLANT: &str = "echo evil > top/out/.envrc; touch top/out/ready; sleep 60";

fn place() -> Place {
    let place = Place::new(CONFIG);
    fs::create_dir_all(place.path().join("top/out")).unwrap();
    fs::write(place.path().join("top/out/plant.sh"), PLANT).unwrap();
    place
}

fn start(place: &Place, words: &[&str]) -> Child {
    // Under `nohup`, tests ignore hang-ups, and the program would inherit that.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(env!("CARGO_BIN_EXE_askfirst"));
    command.args(words).current_dir(place.path());
    place.alone(&mut command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for(path: &Path) {
    let until = Instant::now() + Duration::from_secs(30);
    while !path.exists() {
        assert!(Instant::now() < until, "`{}` does not appear", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Waits for the end. Returns the exit code and the standard error.
fn end(mut child: Child) -> (i32, String) {
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code().unwrap_or(-1), err)
}

fn is_moved(place: &Place) -> bool {
    let is_there = |name: &str| place.path().join(name).exists();
    !is_there("top/out/.envrc") && is_there("top/out/.envrc.quarantined-by-askfirst")
}

/// Starts a command in the background, makes these calls once the protected name exists, and closes the input.
fn run_with_background(place: &Place, calls: &str) -> (String, String) {
    let mut child = start(place, &["--config", "c.yaml", "--json", "run", "--approve-all", "-"]);
    let mut stdin = child.stdin.take().unwrap();
    let first = r#"{"tool":"shell","args":{"command":"bash top/out/plant.sh","background":true}}"#;
    stdin.write_all(format!("{first}\n").as_bytes()).unwrap();
    wait_for(&place.path().join("top/out/ready"));
    stdin.write_all(calls.as_bytes()).unwrap();
    drop(stdin);
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    (out, end(child).1)
}

// invariant: 4
#[test]
fn background_files_are_quarantined_when_the_session_ends() {
    let place = place();
    let (out, err) = run_with_background(&place, "");
    assert!(is_moved(&place), "{out}{err}");
    assert!(err.contains("sandbox: ") && err.contains("top/out/.envrc` appeared"), "{err}");
}

#[test]
fn background_command_is_stopped_in_the_sandbox() {
    let place = place();
    let (out, err) = run_with_background(&place, r#"{"tool":"shell_stop","args":{"id":"job-1"}}"#);
    let stopped: serde_json::Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(stopped["error"], "the command was stopped", "{out}{err}");
    assert!(stopped["result"]["stderr"].as_str().unwrap().contains("top/out/.envrc` appeared"), "{out}");
}

#[test]
fn sandbox_ends_its_program_and_quarantines_on_a_signal() {
    use rustix::process::Signal;
    for (told, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let place = place();
        let child = start(&place, &["--config", "c.yaml", "sandbox", "--", "bash", "top/out/plant.sh"]);
        wait_for(&place.path().join("top/out/ready"));
        signal(&child, told);
        let (ended, err) = end(child);
        assert_eq!(ended, code, "{err}");
        assert!(is_moved(&place) && err.contains("top/out/.envrc` appeared"), "{err}");
    }
}

#[test]
fn command_of_a_client_that_left_is_ended_and_quarantined() {
    for told in [None, Some(rustix::process::Signal::TERM)] {
        let place = place();
        let mut child = start(&place, &["--config", "c.yaml", "serve", "--approve-all"]);
        let mut stdin = child.stdin.take().unwrap();
        let mut say = |line: &str| stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        say(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#,
        );
        say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        say(
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shell","arguments":{"command":"bash top/out/plant.sh"}}}"#,
        );
        wait_for(&place.path().join("top/out/ready"));
        match told {
            None => drop(stdin),
            Some(told) => signal(&child, told),
        }
        let (_, err) = end(child);
        assert!(is_moved(&place) && err.contains("top/out/.envrc` appeared"), "{err}");
    }
}

// invariant: 11
#[test]
fn command_that_is_ended_on_a_view_changes_nothing() {
    let place = place();
    fs::write(place.path().join("top/leave.sh"), "echo evil > top/.envrc; touch top/out/ready; sleep 60")
        .unwrap();
    let mut child = start(&place, &["--config", "c.yaml", "run", "--approve-all", "-"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"tool\":\"shell\",\"args\":{\"command\":\"bash top/leave.sh\"}}\n").unwrap();
    wait_for(&place.path().join("top/out/ready"));
    signal(&child, rustix::process::Signal::KILL);
    end(child);
    assert!(!place.path().join("top/.envrc").exists());
}
