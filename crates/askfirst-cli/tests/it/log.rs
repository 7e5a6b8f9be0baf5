//! Tests of `log`: who did what and when, filters, CSV, following, and a log that was cut or emptied.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::commands::Place;

const CONFIG: &str = r#"
version: 1
sandbox:
  require_os_sandbox: false
  paths: { r: { root: ., mode: rw, approval: { write: none } } }
ledger: { path: ./record.jsonl, rotate: 2KiB }
shell: { default: { approval: none } }
tools:
  hello: { command: [echo, hello], approval: none }
  denied: { command: [echo, denied], approval: deny }
  fails: { command: ["false"], approval: none }
  echo: { command: [echo, --, "{text}"], args: { text: { type: string } }, approval: none }
"#;

const LOG: [&str; 3] = ["log", "--config", "c.yaml"];

/// Runs calls in one session.
fn run(place: &Place, calls: &[Value]) {
    let lines: Vec<String> = calls.iter().map(Value::to_string).collect();
    place.feed(&["run", "-", "--config", "c.yaml"], lines.join("\n").as_bytes());
}

fn call(tool: &str, args: Value) -> Value {
    serde_json::json!({"tool": tool, "args": args})
}

fn log(place: &Place, more: &[&str]) -> String {
    let (code, printed, complaint) = place.run(&[&LOG, more].concat());
    assert_eq!((code, complaint.as_str()), (0, ""), "{more:?}: {printed}");
    printed
}

fn place() -> Place {
    let place = Place::new(CONFIG);
    run(
        &place,
        &[
            call("shell", serde_json::json!({"command": "echo one two", "background": false})),
            call("write_file", serde_json::json!({"content": "x".repeat(300), "path": "notes.md"})),
            call("denied", serde_json::json!({})),
            call("fails", serde_json::json!({})),
        ],
    );
    place
}

/// Returns the files of the audit log.
fn files(place: &Place) -> Vec<PathBuf> {
    let files = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|suffix| suffix == "jsonl")).collect()
}

#[test]
fn log_names_commands_paths_and_people_in_80_columns() {
    let place = place();
    let printed = log(&place, &[]);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let name = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    let uid = rustix::process::getuid().as_raw();
    let mut lines = printed.lines();
    let header = lines.next().unwrap();
    assert!(header.ends_with(&format!(" UTC  {} (uid {uid}) on {host}, run", name.trim())), "{header}");
    let rows: Vec<&str> = lines.collect();
    for (row, wanted) in rows.iter().zip([
        "ran      rule      shell (command: echo one two, b",
        "ran      rule      write_file (path: notes.md)",
        "refused  rule      denied",
    ]) {
        let (head, rest) = row.split_at(23);
        assert!(rest.starts_with(wanted), "{row}");
        assert!(head.starts_with("  ") && head.matches(':').count() == 2, "{row}");
    }
    assert!(rows.iter().any(|row| row.contains("failed   rule      fails")), "{printed}");
    assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
}

#[test]
fn log_filters_rows_and_entries_alike() {
    let place = place();
    let session = log(&place, &["--json"]).lines().map(parsed).next().unwrap()["session"].clone();
    let session = session.as_str().unwrap();
    run(&place, &[call("hello", serde_json::json!({}))]);
    let tools = |more: &[&str]| -> Vec<String> {
        let cells = csv(&log(&place, &[&["--csv"], more].concat()));
        cells.iter().skip(1).map(|row| row[9].clone()).collect()
    };
    let kinds = |more: &[&str]| -> Vec<String> {
        let printed = log(&place, &[&["--json", "-n", "1000"], more].concat());
        printed.lines().map(|line| parsed(line)["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(tools(&[]), ["shell", "write_file", "denied", "fails", "hello"]);
    assert_eq!(tools(&["--tool", "hello"]), ["hello"]);
    assert_eq!(tools(&["--tool", "*e*"]), ["shell", "write_file", "denied", "hello"]);
    assert_eq!(tools(&["--refused"]), ["denied"]);
    assert_eq!(tools(&["--session", session]), ["shell", "write_file", "denied", "fails"]);
    assert_eq!(tools(&["--session", session, "--tool", "f*"]), ["fails"]);
    assert_eq!(tools(&["--since", "2h"]).len(), 5);
    assert_eq!(tools(&["--since", "2020-01-01"]).len(), 5);
    assert_eq!(tools(&["--since", "2999-01-01T10:00"]), Vec::<String>::new());
    assert_eq!(tools(&["-n", "2"]), ["fails", "hello"]);
    assert_eq!(kinds(&["--tool", "hello"]), ["decided", "executed"]);
    assert_eq!(kinds(&["--refused"]), ["decided"]);
    assert_eq!(kinds(&["--since", "2999-01-01"]), Vec::<String>::new());
    let last = &session[session.len() - 6..];
    assert!(kinds(&["--session", last]).contains(&"session".to_owned()));
    assert_eq!(log(&place, &["--refused"]).lines().filter(|line| line.contains("refused")).count(), 1);
    for bad in
        [&["--since", "yesterday"][..], &["--since", "2026-02-30"], &["--tool", "["], &["--csv", "--json"]]
    {
        assert_eq!(place.run(&[&LOG, bad].concat()).0, 2, "{bad:?}");
    }
    assert_eq!(place.run(&["log", "--refused", "verify", "--config", "c.yaml"]).0, 2);
    let nothing = (0, String::new(), "the audit log has no such calls\n".to_owned());
    assert_eq!(place.run(&[&LOG[..], &["--tool", "helo"]].concat()), nothing);
    assert_eq!(log(&place, &["--tool", "helo", "--json"]), "");
}

#[test]
fn json_entries_name_user_host_and_front_end() {
    let place = place();
    let printed = log(&place, &["--json", "--tool", "shell"]);
    let entries: Vec<Value> = printed.lines().map(parsed).collect();
    assert_eq!(entries.len(), 2, "{printed}");
    for entry in entries {
        let origin = &entry["origin"];
        assert_eq!(
            (&origin["front_end"], &origin["uid"]),
            (&"run".into(), &rustix::process::getuid().as_raw().into())
        );
        assert!(origin["host"].is_string() && origin["user"].is_string(), "{entry}");
    }
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))
}

/// Reads CSV as another program does.
fn csv(text: &str) -> Vec<Vec<String>> {
    let script = "import csv, json, sys; print(json.dumps(list(csv.reader(sys.stdin, strict=True))))";
    let mut child = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn csv_has_one_row_for_each_call_and_no_formula() {
    let place = Place::new(CONFIG);
    let texts = ["=1+1", "@SUM(A1)", "a,b \"c\"\r\n=2", "\u{202e};=cmd|' /C calc'!A0;", "-1+1"];
    let mut calls: Vec<Value> = texts.map(|text| call("echo", serde_json::json!({ "text": text }))).into();
    calls.push(call("=HYPERLINK(\"http://evil\")", serde_json::json!({})));
    calls.push(call("+x;=1", serde_json::json!({})));
    run(&place, &calls);
    let printed = log(&place, &["--csv"]);
    assert!(printed.ends_with("\r\n") && printed.matches("\r\n").count() == calls.len() + 1, "{printed}");
    assert_eq!(printed.matches('\n').count(), calls.len() + 1);
    let rows = csv(&printed);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
    assert_eq!(rows[0][..4], ["kind", "time", "session", "call_id"]);
    // Some spreadsheets split at semicolons and do not know the quotes of a cell that does not start there.
    let split = printed.split("\r\n").flat_map(|line| line.split(';'));
    for cell in rows.iter().flatten().map(String::as_str).chain(split) {
        let begins = cell.trim_start_matches(|c: char| c == '"' || c.is_whitespace());
        assert!(!begins.starts_with(['=', '+', '-', '@']), "`{cell}` in {printed}");
    }
    assert_eq!(rows[1][10], "echo (text: =1+1)");
    assert_eq!(rows[6][9], "'=HYPERLINK(\"http://evil\")");
}

#[test]
fn session_that_approves_everything_is_a_row_of_its_own() {
    let place = Place::new(CONFIG);
    place.run(&["call", "hello", "--approve-all", "--config", "c.yaml"]);
    let printed = log(&place, &[]);
    assert!(printed.contains("started  mode      call: approves every request"), "{printed}");
    assert_eq!(csv(&log(&place, &["--csv"]))[1][0], "session");
    let place = self::place();
    assert!(!log(&place, &[]).contains("started"));
}

#[test]
fn show_summarizes_a_call_in_at_most_ten_lines() {
    let place = place();
    for tool in ["shell", "denied", "fails"] {
        let id = csv(&log(&place, &["--csv", "--tool", tool]))[1][3].clone();
        let short = &id[id.len() - 8..];
        let show = |more: &[&str]| place.run(&[&["log", "show", short, "--config", "c.yaml"], more].concat());
        let (code, printed, complaint) = show(&[]);
        assert_eq!(code, 0, "{complaint}");
        assert!(printed.lines().count() <= 10, "{printed}");
        let line = |label: &str| {
            let found = printed.lines().find(|line| line.split("  ").next() == Some(label));
            found.unwrap_or_else(|| panic!("no `{label}` in {printed}"))
        };
        assert!(line("call").ends_with(&id) && line("what").contains(tool), "{printed}");
        assert!(printed.contains("asked by  ") && printed.contains(", run, 20"), "{printed}");
        let (verdict, answer, end) = match tool {
            // The rule, and not only that the tool called it harmless.
            "shell" => ("allow: shell.known_read_only: none", "yes by policy", "done, "),
            "fails" => ("allow: tools.fails", "yes by policy", "failed, "),
            _ => ("deny: tools.denied", "no by policy", "it did not run"),
        };
        assert!(line("verdict").contains(verdict) && line("answer").contains(answer), "{printed}");
        assert!(line("ended").contains(end) && line("more").ends_with("--all"), "{printed}");
        let (_, all, _) = show(&["--all"]);
        assert!(all.starts_with(printed.rsplit_once("more").unwrap().0), "{all}");
        assert_eq!(all.matches("decided (").count(), 1, "{all}");
        assert!(all.contains("  because:") && !printed.contains("because:"), "{all}");
    }
}

/// A `log --follow` and its output.
struct Follower {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Follower {
    fn start(place: &Place, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_askfirst"));
        command.args([&LOG[..], &["--follow"][..], more].concat()).current_dir(place.path());
        place.alone(&mut command);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn follow_prints_each_call_as_it_ends_across_rotation() {
    let place = Place::new(CONFIG);
    run(&place, &[call("echo", serde_json::json!({"text": "first"}))]);
    let mut csv = Follower::start(&place, &["--csv", "--tool", "echo"]);
    let mut json = Follower::start(&place, &["--json", "--tool", "echo"]);
    assert!(csv.line().starts_with("kind,time"));
    assert!(csv.line().contains("echo (text: first)"));
    assert!(json.line().contains("decided") && json.line().contains("executed"));
    for round in 0..8 {
        run(
            &place,
            &[
                call("hello", serde_json::json!({})),
                call("echo", serde_json::json!({"text": format!("{round}")})),
            ],
        );
        let line = csv.line();
        assert!(line.contains(&format!("echo (text: {round})")) && line.contains(",ran,"), "{line}");
        assert_eq!(parsed(&json.line())["call"]["args"]["text"], format!("{round}"));
        assert_eq!(parsed(&json.line())["kind"], "executed");
    }
    assert!(files(&place).len() > 3, "the log has started new files");
}

#[test]
fn follow_waits_for_a_log_and_ends_with_its_reader() {
    let place = Place::new(CONFIG);
    let mut follower = Follower::start(&place, &[]);
    let mut said = String::new();
    let mut complaint = BufReader::new(follower.child.stderr.take().unwrap());
    complaint.read_line(&mut said).unwrap();
    assert!(said.starts_with("no audit log yet"), "{said}");
    run(&place, &[call("hello", serde_json::json!({}))]);
    assert!(follower.line().contains(" UTC  ") && follower.line().contains("hello"));
    // Nothing more is written: the follower notices on its own that no one reads.
    follower.lines = BufReader::new({
        let mut other = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
        other.wait().unwrap();
        other.stdout.take().unwrap()
    });
    assert_eq!(follower.child.wait().unwrap().code(), Some(0));
    complaint.read_to_string(&mut said).unwrap();
    assert!(!said.contains("error"), "{said}");
}

#[test]
fn log_that_was_emptied_or_removed_is_detected() {
    let place = Place::new(&CONFIG.replace(", rotate: 2KiB", ""));
    run(&place, &[call("hello", serde_json::json!({}))]);
    let verify = || place.run(&["log", "verify", "--config", "c.yaml"]);
    let (code, printed, _) = verify();
    assert!(code == 0 && printed.contains("the stored head covers everything up to entry 3;"), "{printed}");
    let log = place.path().join("record.jsonl");
    let good = std::fs::read(&log).unwrap();
    let (code, _, complaint) = place.run(&LOG);
    assert_eq!((code, complaint.as_str()), (0, ""));
    for left in [&b""[..], &good[..good.len() - 2], &good[..good.len() / 2]] {
        std::fs::write(&log, left).unwrap();
        let (code, _, complaint) = place.run(&LOG);
        assert!(code == 1 && complaint.contains("its entry 3 is missing"), "{complaint}");
        assert!(complaint.contains("hint: `askfirst log verify`"), "{complaint}");
    }
    for left in [&b""[..], &good[..good.iter().position(|byte| *byte == b'\n').unwrap() + 1]] {
        std::fs::write(&log, left).unwrap();
        let (code, printed, _) = verify();
        assert!(code == 1 && printed.contains("THE AUDIT LOG IS NOT INTACT"), "{printed}");
        assert!(printed.contains("to 3 are missing at the end"), "{printed}");
    }
    std::fs::remove_file(&log).unwrap();
    let (code, printed, _) = verify();
    assert!(code == 1 && printed.contains("the log is missing"), "{printed}");
    let (code, _, complaint) = place.run(&LOG);
    assert!(code == 1 && complaint.contains("the log is missing"), "{complaint}");
    // The next session starts a new file, and that does not hide what happened.
    run(&place, &[call("hello", serde_json::json!({}))]);
    assert_eq!(verify().0, 1);
    std::fs::remove_dir_all(place.path().join("state/askfirst/heads")).unwrap();
    let (code, printed, _) = verify();
    assert!(code == 1 && printed.contains("entries 1 to 3 are missing"), "{printed}");
}

#[test]
fn log_without_a_stored_head_is_no_fault() {
    let place = place();
    std::fs::remove_dir_all(place.path().join("state/askfirst/heads")).unwrap();
    let (code, printed, _) = place.run(&["log", "verify", "--config", "c.yaml"]);
    assert!(code == 0 && printed.contains("no head of this log is stored"), "{printed}");
    let (code, printed, complaint) = place.run(&["log", "verify", "--json", "--config", "c.yaml"]);
    assert!(code == 0 && parsed(&printed)["stored_head"].is_null(), "{complaint}");
}
