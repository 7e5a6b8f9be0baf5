//! `hook AGENT` answers the events of agents: real processes, real logs, and a person at a real terminal.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::AGENT_VARIABLES;
use crate::commands::{Place, feed};
use crate::person::Terminal;

pub(super) const CONFIG: &str = "
version: 1
sandbox:
  require_os_sandbox: false
  paths: { work: { root: ~/proj, mode: rw, approval: { read: none } } }
shell:
  known_read_only: none
  rules: [{ pattern: rm, approval: deny }]
tools: { WebSearch: { approval: none } }
";

/// A home folder with a config of the user and an empty project.
pub(super) fn place() -> Place {
    let place = Place::new("version: 1");
    fs::create_dir_all(place.path().join("config/askfirst")).unwrap();
    fs::create_dir(place.path().join("proj")).unwrap();
    fs::write(place.path().join("config/askfirst/askfirst.yaml"), CONFIG).unwrap();
    place
}

pub(super) fn event(place: &Place, name: &str, tool: &str, input: &Value, id: &str) -> Value {
    json!({
        "session_id": "s1", "transcript_path": "/x", "cwd": place.path().join("proj"), "permission_mode": "default",
        "hook_event_name": name, "tool_name": tool, "tool_input": input, "tool_use_id": id,
    })
}

pub(super) fn hook(place: &Place, agent: &str) -> Command {
    let mut command = place.command(&["hook", agent]);
    for name in AGENT_VARIABLES {
        command.env_remove(name);
    }
    command
}

/// Sends an event. Returns the exit code, the decision and the reason.
pub(super) fn answer(place: &Place, agent: &str, event: &Value) -> (i32, String, String) {
    let (code, out, err) = feed(hook(place, agent), event.to_string().as_bytes());
    let said: Value = serde_json::from_str(&out).unwrap_or(Value::Null);
    let said = &said["hookSpecificOutput"];
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    (code, text("permissionDecision"), format!("{}{err}", text("permissionDecisionReason")))
}

/// Asks Claude's hook about a call.
pub(super) fn claude(place: &Place, tool: &str, input: &Value, id: &str) -> (String, String) {
    let (code, decision, reason) = answer(place, "claude", &event(place, "PreToolUse", tool, input, id));
    assert_eq!(code, 0, "{decision} {reason}");
    (decision, reason)
}

pub(super) fn log(place: &Place) -> String {
    let (code, out, err) = place.run(&["log", "-n", "100", "--json"]);
    assert_eq!(code, 0, "{err}");
    out
}

#[test]
fn policy_decides_about_calls_of_an_agent() {
    let place = place();
    let home = place.path().display().to_string();
    for (tool, input, expected, words) in [
        ("Bash", json!({"command": "ls"}), "allow", ""),
        ("Bash", json!({"command": "rm -rf x"}), "deny", "the rule `rm` denies this command"),
        ("Bash", json!({"command": "npm test"}), "ask", "askfirst: `shell` needs approval"),
        ("WebSearch", json!({"query": "x"}), "allow", ""),
        ("WebFetch", json!({"url": "https://example.com/", "prompt": "x"}), "ask", "`web_fetch`"),
        ("Unheard", json!({}), "ask", "`Unheard`"),
        ("Write", json!({"file_path": format!("{home}/proj/a"), "content": "x"}), "ask", "`write_file`"),
        ("Write", json!({"file_path": format!("{home}/other/a"), "content": "x"}), "ask", "`Write`"),
        ("Write", json!({"file_path": format!("{home}/.bashrc"), "content": "x"}), "deny", ".bashrc"),
        (
            "Write",
            json!({"file_path": format!("{home}/proj/.git/config"), "content": "x"}),
            "deny",
            "never written",
        ),
        (
            "Write",
            json!({"file_path": format!("{home}/proj/.claude/settings.json"), "content": "{}"}),
            "deny",
            ".claude",
        ),
    ] {
        let (decision, reason) = claude(&place, tool, &input, "t1");
        assert_eq!(decision, expected, "{tool} {input}: {reason}");
        assert!(reason.contains(words), "{tool} {input}: {reason}");
    }
    assert!(log(&place).contains("\"ended\":\"handed_over\""));
}

#[test]
fn agent_that_cannot_ask_gets_a_denial() {
    let place = place();
    let mut asked = event(&place, "PreToolUse", "Bash", &json!({"command": "npm test"}), "c1");
    asked["turn_id"] = "t".into();
    asked["model"] = "m".into();
    let (_, decision, reason) = answer(&place, "codex", &asked);
    assert_eq!(decision, "deny", "{reason}");
    assert!(reason.contains("askfirst watch"), "{reason}");
}

// invariant: 1
#[test]
fn fault_of_the_hook_is_a_denial() {
    let place = place();
    let call = event(&place, "PreToolUse", "Bash", &json!({"command": "ls"}), "t1");
    assert_eq!(answer(&place, "claude", &call).1, "allow");
    // An event that cannot be read: exit code 2 blocks in every agent.
    for bytes in [&b""[..], b"{", b"[]", b"\xff", b"{\"hook_event_name\":\"New\"}"] {
        let (code, out, err) = feed(hook(&place, "claude"), bytes);
        assert!(code == 2 && out.is_empty() && !err.is_empty(), "{code} {out} {err}");
    }
    let (code, _, _) = feed(hook(&place, "unknown"), call.to_string().as_bytes());
    assert_eq!(code, 2);
    // A folder that does not exist, an invalid config, a state folder and an audit log that cannot be written.
    let mut elsewhere = call.clone();
    elsewhere["cwd"] = "/nonexistent".into();
    assert_eq!(answer(&place, "claude", &elsewhere).1, "deny");
    let config = place.path().join("config/askfirst/askfirst.yaml");
    fs::write(&config, "version: 1\nshel: {}\n").unwrap();
    let (_, decision, reason) = answer(&place, "claude", &call);
    assert!(
        decision == "deny" && reason.contains("the config of askfirst is invalid"),
        "{decision} {reason}"
    );
    fs::write(&config, format!("{CONFIG}ledger: {{ path: ~/log.jsonl }}\n")).unwrap();
    fs::create_dir(place.path().join("log.jsonl")).unwrap();
    assert_eq!(answer(&place, "claude", &call).1, "deny");
    fs::write(&config, CONFIG).unwrap();
    fs::remove_dir_all(place.path().join("state")).unwrap();
    fs::write(place.path().join("state"), "").unwrap();
    assert_eq!(answer(&place, "claude", &call).1, "deny");
}

// invariant: 8
#[test]
fn answer_in_the_prompt_of_the_agent_is_logged() {
    let place = place();
    let input = json!({"command": "npm test"});
    assert_eq!(claude(&place, "Bash", &input, "t1").0, "ask");
    // The agent is about to ask, so askfirst must not answer for the person.
    let (code, out, _) = feed(
        hook(&place, "claude"),
        event(&place, "PermissionRequest", "Bash", &input, "t1").to_string().as_bytes(),
    );
    assert!(code == 0 && !out.contains("allow"), "{out}");
    let mut after = event(&place, "PostToolUse", "Bash", &input, "t1");
    after["tool_response"] = json!({"stdout": "ok"});
    for _ in 0..2 {
        assert_eq!(feed(hook(&place, "claude"), after.to_string().as_bytes()).0, 0);
    }
    let entries: Vec<Value> = log(&place).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let decided = |approved: bool| {
        let all = entries.iter().filter(|entry| entry["kind"] == "decided" && entry["approved"] == approved);
        all.filter(|entry| entry["cause"] == "agent_prompt").count()
    };
    assert_eq!((decided(false), decided(true)), (1, 1), "{entries:#?}");
}

#[test]
fn call_that_askfirst_allowed_is_not_asked_about_again() {
    let place = place();
    let codex = |name: &str, command: &str| {
        let mut event = event(&place, name, "Bash", &json!({"command": command}), "c1");
        event["turn_id"] = "t".into();
        event["model"] = "m".into();
        if name == "PermissionRequest" {
            event.as_object_mut().unwrap().remove("tool_use_id");
            event["tool_input"]["description"] = "why".into();
        }
        feed(hook(&place, "codex"), event.to_string().as_bytes()).1
    };
    assert!(!codex("PermissionRequest", "ls").contains("allow"));
    codex("PreToolUse", "ls");
    assert!(codex("PermissionRequest", "ls").contains("allow"));
    assert!(!codex("PermissionRequest", "ls /").contains("allow"));
}

/// Starts a hook on a terminal, with an event from a file.
fn at_a_terminal(place: &Place, event: &Value) -> Terminal {
    fs::write(place.path().join("event"), event.to_string()).unwrap();
    let script = format!("{} hook claude < event > answer", env!("CARGO_BIN_EXE_askfirst"));
    Terminal::program(place, "sh", &["-c", &script], &[])
}

#[test]
fn answer_for_the_session_covers_later_processes_until_its_end() {
    let place = place();
    let input = json!({"command": "npm test"});
    let first = event(&place, "PreToolUse", "Bash", &input, "t1");
    let mut terminal = at_a_terminal(&place, &first);
    terminal.wait_for("npm test");
    terminal.approve_for_session();
    terminal.end();
    let said = fs::read_to_string(place.path().join("answer")).unwrap();
    assert!(said.contains("\"allow\""), "{said}");
    assert_eq!(claude(&place, "Bash", &input, "t2").0, "allow");
    let mut other = first.clone();
    other["session_id"] = "s2".into();
    assert_eq!(answer(&place, "claude", &other).1, "ask");
    let end = json!({"session_id": "s1", "transcript_path": "/x", "cwd": place.path(), "hook_event_name": "SessionEnd", "reason": "other"});
    assert_eq!(feed(hook(&place, "claude"), end.to_string().as_bytes()).0, 0);
    assert_eq!(claude(&place, "Bash", &input, "t3").0, "ask");
    assert_eq!(fs::read_dir(place.path().join("state/askfirst/agents")).unwrap().count(), 2);
}

pub(super) fn start(place: &Place, event: &Value) -> Child {
    let mut command = hook(place, "claude");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), event.to_string().as_bytes()).unwrap();
    child
}

#[test]
fn equal_requests_of_two_processes_share_one_prompt() {
    let place = place();
    let mut watcher = Terminal::start(&place, &["watch"]);
    watcher.wait_for("waiting");
    let call = |id: &str, command: &str| {
        start(&place, &event(&place, "PreToolUse", "Bash", &json!({"command": command}), id))
    };
    let (one, two, other) = (call("t1", "npm test"), call("t2", "npm test"), call("t3", "npm audit"));
    // Two questions for three calls, in an order that the processes decide.
    for _ in 0..2 {
        watcher.press("y");
    }
    for child in [one, two, other] {
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        assert!(said.contains("\"allow\""), "{said}");
    }
    let person = log(&place).lines().filter(|line| line.contains("\"kind\":\"requested\"")).count();
    assert_eq!(person, 3);
}

#[test]
fn killed_process_does_not_block_the_next_question() {
    let place = place();
    let mut watcher = Terminal::start(&place, &["watch"]);
    watcher.wait_for("waiting");
    let call = event(&place, "PreToolUse", "Bash", &json!({"command": "npm test"}), "t1");
    let mut first = start(&place, &call);
    watcher.wait_for("ready:");
    first.kill().unwrap();
    first.wait().unwrap();
    let second = start(&place, &call);
    watcher.press("y");
    let said = String::from_utf8(second.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains("\"allow\""), "{said}");
}

#[test]
fn edit_by_an_agent_can_be_undone() {
    let place = place();
    let config = CONFIG.replace("read: none", "read: none, write: none");
    fs::write(place.path().join("config/askfirst/askfirst.yaml"), config).unwrap();
    let file = place.path().join("proj/notes.txt");
    fs::write(&file, "one\n").unwrap();
    let input = json!({"file_path": file, "old_string": "one", "new_string": "two"});
    assert_eq!(claude(&place, "Edit", &input, "t1").0, "allow");
    // The agent makes the change itself.
    fs::write(&file, "two\n").unwrap();
    let mut after = event(&place, "PostToolUse", "Edit", &input, "t1");
    after["tool_response"] = json!({});
    assert_eq!(feed(hook(&place, "claude"), after.to_string().as_bytes()).0, 0);
    assert!(log(&place).contains("\"kind\":\"committed\""));
    let (code, out, err) = place.run(&["undo", "--list"]);
    assert!(code == 0 && out.contains("Edit by Claude Code"), "{out}{err}");
    let (code, out, err) = place.run(&["undo"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n");
}
