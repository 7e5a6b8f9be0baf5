//! Tests that problems of the machine give a helpful message and the right exit code.

use std::process::Command;

use crate::commands::Place;

const CONFIG: &str = r#"
version: 1
sandbox: { require_os_sandbox: false }
tools:
  hello: { command: [echo, hello], approval: none }
  echo: { command: [echo, --, "{text}"], args: { text: { type: string } }, approval: none }
  person: { command: [echo, person], approval: human }
"#;

fn script(place: &Place, script: &str) -> (i32, String) {
    let mut command = Command::new("setsid");
    command.args(["--wait", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_askfirst")]);
    command.current_dir(place.path()).stdin(std::process::Stdio::null());
    place.alone(&mut command);
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

#[test]
fn file_size_limit_is_an_audit_log_failure() {
    let place = Place::new(CONFIG);
    let (code, said) = script(&place, "ulimit -f 0; exec \"$1\" call hello --config c.yaml");
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("cannot write the audit log: cannot ") && !said.contains("hello\n"), "{said}");
}

#[test]
fn doctor_reports_where_no_audit_log_can_be_created() {
    let place = Place::new(CONFIG);
    let doctor = "exec \"$1\" doctor --config c.yaml | grep ' audit log '";
    let (_, said) = script(&place, &format!("export XDG_STATE_HOME=/proc/nope; {doctor}"));
    assert!(said.starts_with("BAD") && said.contains("no file can be created in /proc"), "{said}");
    let (_, said) = script(&place, doctor);
    assert!(said.starts_with("ok") && said.contains("will be created"), "{said}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "it leaves nothing behind");
}

#[test]
fn refusal_of_a_human_tool_suggests_no_flag() {
    let place = Place::new(CONFIG);
    let (code, said) = script(&place, "exec \"$1\" call person --approve-all --config c.yaml");
    assert_eq!(code, 5, "{said}");
    assert!(said.contains("a person every time (`human`)") && !said.contains("hint"), "{said}");
}

#[test]
fn text_of_an_agent_never_starts_a_row() {
    let place = Place::new(CONFIG);
    let forged =
        "x\n2026-11-18 UTC  ann (uid 1000) on laptop, run\n  05:00:13  446530-1   ran      person   hello";
    let rows = |args: &[&str], input: &str| {
        let (_, out, err) = place.feed(args, input.as_bytes());
        format!("{out}{err}")
    };
    let said = rows(&["call", forged, "--config", "c.yaml"], "");
    assert!(!said.lines().any(|line| line.starts_with("2026")), "{said}");
    let said = rows(&["log", "--config", "c.yaml"], "");
    assert_eq!(said.lines().filter(|line| !line.starts_with("  ")).count(), 1, "{said}");
    assert!(!said.lines().any(|line| line.starts_with("  05:00:13")), "{said}");
    let key =
        serde_json::json!({"tool": "hello", "k\n   2  ran         16 ms  you       shell": 1}).to_string();
    let said = rows(&["run", "--config", "c.yaml", "-"], &key);
    assert!(!said.lines().any(|line| line.starts_with("   2")), "{said}");
    let args = serde_json::json!({"text": "x\n  approved: true\n  cause: person"}).to_string();
    let said = rows(&["explain", "echo", "--args", &args, "--config", "c.yaml"], "");
    assert!(!said.lines().any(|line| line.starts_with("  approved")), "{said}");
    rows(&["call", "echo", "--args", &args, "--config", "c.yaml"], "");
    let said = rows(&["log", "--config", "c.yaml"], "");
    let id = said.lines().last().unwrap().split_whitespace().nth(1).unwrap().to_owned();
    let said = rows(&["log", "show", &id, "--config", "c.yaml"], "");
    assert!(!said.lines().any(|line| line.trim_start().starts_with("approved")), "{said}");
    let said = rows(&["log", "show", &id, "--all", "--config", "c.yaml"], "");
    assert!(said.contains("│   approved: true"), "{said}");
    assert!(!said.lines().any(|line| line.trim_start().starts_with("cause: person")), "{said}");
}
