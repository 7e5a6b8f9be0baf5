//! Calls with which a model could try to evade the policy.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::events::{CONFIG, answer, claude, event, hook, place, start};
use crate::commands::{Place, feed};
use crate::person::Terminal;

/// A place whose policy allows each call that no rule is about.
fn open_place(more: &str) -> Place {
    let place = place();
    let config = format!("{}default_approval: none\n{more}", CONFIG.replace("read: none", "write: none"));
    fs::write(place.path().join("config/askfirst/askfirst.yaml"), config).unwrap();
    place
}

#[test]
fn id_of_an_allowed_call_permits_no_other_input() {
    let place = place();
    let permission = |command: &str| {
        let event = event(&place, "PermissionRequest", "Bash", &json!({"command": command}), "t1");
        feed(hook(&place, "claude"), event.to_string().as_bytes()).1
    };
    assert_eq!(claude(&place, "Bash", &json!({"command": "ls"}), "t1").0, "allow");
    assert_eq!(permission("rm -rf /"), "");
    assert!(permission("ls").contains("allow"));
}

// invariant: 1
#[test]
fn unknown_form_of_a_known_tool_needs_approval() {
    let place = open_place("");
    assert_eq!(claude(&place, "Unheard", &json!({}), "t1").0, "allow");
    for (tool, input) in [
        ("Bash", json!({"command": "rm -rf x", "new": 1})),
        ("Bash", json!({"command": "rm -rf x", "timeout": -1})),
        ("Write", json!({"file_path": "~/.bashrc", "content": "x"})),
        ("Write", json!({"file_path": "\u{feff}/etc/passwd", "content": "x"})),
        ("Edit", json!({"file_path": place.path().join(".bashrc"), "old_string": "x"})),
        ("Read", json!({"file_path": [place.path()]})),
        ("WebFetch", json!({"url": "https://user@example.com/", "prompt": "x"})),
    ] {
        let (decision, reason) = claude(&place, tool, &input, "t1");
        assert_eq!(decision, "ask", "{tool} {input}: {reason}");
    }
    // The user may decide otherwise, about exactly this tool.
    let config = place.path().join("config/askfirst/askfirst.yaml");
    let text = fs::read_to_string(&config).unwrap();
    for (entry, expected) in [("'B*'", "ask"), ("Bash", "allow")] {
        let tools = format!("tools: {{ {entry}: {{ approval: none }}, ");
        fs::write(&config, text.replace("tools: {", &tools)).unwrap();
        let (decision, reason) = claude(&place, "Bash", &json!({"command": "ls", "new": 1}), "t1");
        assert_eq!(decision, expected, "{entry}: {reason}");
    }
}

#[test]
fn change_without_a_known_result_keeps_protected_files() {
    let place = open_place("");
    let proj = place.path().join("proj");
    fs::create_dir(proj.join(".git")).unwrap();
    fs::write(proj.join(".git/config"), "a\n").unwrap();
    fs::write(place.path().join(".bashrc"), "a\n").unwrap();
    symlink(proj.join(".git/config"), proj.join("link")).unwrap();
    fs::write(proj.join("free"), "a\n").unwrap();
    let edits = json!([{"old_string": "missing", "new_string": "x"}]);
    for (file, expected) in
        [("proj/.git/config", "deny"), ("proj/link", "deny"), (".bashrc", "deny"), ("proj/free", "ask")]
    {
        let input = json!({"file_path": place.path().join(file), "edits": edits});
        let (decision, reason) = claude(&place, "MultiEdit", &input, "t1");
        assert_eq!(decision, expected, "{file}: {reason}");
    }
}

#[test]
fn patch_that_leaves_a_root_is_judged_in_the_root_too() {
    let place = open_place("");
    let config = place.path().join("config/askfirst/askfirst.yaml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("paths: {", "paths: { fixed: { root: ~/proj/fixed }, ")).unwrap();
    fs::create_dir(place.path().join("proj/fixed")).unwrap();
    fs::write(place.path().join("proj/fixed/old"), "a\n").unwrap();
    let home = place.path().display().to_string();
    let decide = |parts: &str| {
        let patch = format!("*** Begin Patch\n{parts}*** End Patch\n");
        let mut event = event(&place, "PreToolUse", "apply_patch", &json!({"command": patch}), "t1");
        event["turn_id"] = "t".into();
        event["model"] = "m".into();
        let (code, decision, reason) = answer(&place, "codex", &event);
        assert_eq!(code, 0, "{reason}");
        (decision, reason)
    };
    let outside = format!("*** Add File: {home}/outside\n+x\n");
    let (decision, reason) = decide(&outside);
    assert_eq!(decision, "", "{reason}");
    for parts in [
        format!("*** Add File: {home}/proj/fixed/new\n+x\n{outside}"),
        format!("{outside}*** Add File: {home}/proj/.git/config\n+x\n"),
        format!("*** Update File: {home}/proj/fixed/old\n*** Move to: {home}/outside\n@@\n-a\n+x\n"),
        format!("*** Update File: {home}/proj/fixed/old\n@@\n-missing\n+x\n"),
    ] {
        let (decision, reason) = decide(&parts);
        assert_eq!(decision, "deny", "{parts}{reason}");
        assert!(reason.contains("read-only") || reason.contains("never written"), "{parts}{reason}");
    }
}

#[test]
fn state_of_askfirst_is_closed_to_the_tools_of_an_agent() {
    let place = open_place("");
    let state = place.path().join("state/askfirst/agents/x/state.json");
    for (tool, input) in
        [("Write", json!({"file_path": state, "content": "{}"})), ("Read", json!({"file_path": state}))]
    {
        let (decision, reason) = claude(&place, tool, &input, "t1");
        assert!(decision == "deny" && reason.contains("keeps its state"), "{decision} {reason}");
    }
    symlink(place.path().join("state"), place.path().join("proj/link")).unwrap();
    let input = json!({"file_path": place.path().join("proj/link/askfirst/x"), "content": "{}"});
    assert_eq!(claude(&place, "Write", &input, "t1").0, "deny");
}

// invariant: 9
#[test]
fn state_of_a_session_has_no_secret_of_a_call() {
    let place = place();
    let secret = ["ghp", "_aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"].concat();
    for input in [
        json!({"command": format!("curl -H 'Authorization: Bearer {secret}' https://example.com")}),
        json!({"command": format!("TOKEN={secret} npm test")}),
    ] {
        assert_eq!(claude(&place, "Bash", &input, "t1").0, "ask");
    }
    assert_eq!(claude(&place, "Unheard", &json!({"password": secret}), "t2").0, "ask");
    let sessions = fs::read_dir(place.path().join("state/askfirst/agents")).unwrap();
    let texts: Vec<String> = sessions
        .map(|session| fs::read_to_string(session.unwrap().path().join("state.json")).unwrap())
        .collect();
    assert_eq!(texts.len(), 1);
    assert!(texts[0].contains("npm test") && !texts[0].contains(&secret), "{}", texts[0]);
}

// invariant: 1
#[test]
fn answer_that_cannot_be_written_is_a_denial_with_a_reason() {
    let place = place();
    for agent in ["claude", "codex"] {
        let denied = event(&place, "PreToolUse", "Bash", &json!({"command": "rm x"}), "t1");
        fs::write(place.path().join("event"), denied.to_string()).unwrap();
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = hook(&place, agent);
        command
            .stdin(fs::File::open(place.path().join("event")).unwrap())
            .stdout(full)
            .stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(2), "askfirst: cannot write the answer\n"));
    }
}

#[test]
fn tool_of_a_server_is_never_one_of_the_agent() {
    let place = open_place("");
    let mut call = event(&place, "BeforeTool", "run_shell_command", &json!({"command": "ls"}), "t1");
    call["mcp_context"] = json!({"server_name": "a__b", "tool_name": "run_shell_command"});
    assert_eq!(answer(&place, "gemini", &call).0, 0);
    let (_, out, _) = place.run(&["log", "-n", "100", "--json"]);
    assert!(out.contains("\"tool_name\":\"run_shell_command\"") && !out.contains("\"shell\""), "{out}");
}

// invariant: 1
#[test]
fn signal_before_an_answer_is_a_denial_with_a_reason() {
    let place = place();
    let mut watcher = Terminal::start(&place, &["watch"]);
    watcher.wait_for("waiting");
    for (signal, command) in
        [(Signal::HUP, "npm test"), (Signal::INT, "npm audit"), (Signal::TERM, "npm outdated")]
    {
        let asked = event(&place, "PreToolUse", "Bash", &json!({"command": command}), "t1");
        fs::write(place.path().join("event"), asked.to_string()).unwrap();
        // Without `setsid`, so that the signal hits the program itself.
        let mut program = Command::new(env!("CARGO_BIN_EXE_askfirst"));
        place.alone(program.args(["hook", "codex"]).current_dir(place.path()));
        program.stdin(fs::File::open(place.path().join("event")).unwrap());
        let hook = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        watcher.wait_for(command);
        kill_process(Pid::from_child(&hook), signal).unwrap();
        let output = hook.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains("a signal"), "{:?} {said}", output.status);
    }
}

// invariant: 3
#[test]
fn answer_for_the_session_covers_one_working_directory() {
    let place = place();
    let mut watcher = Terminal::start(&place, &["watch"]);
    watcher.wait_for("waiting");
    let search = event(&place, "PreToolUse", "Grep", &json!({"pattern": "key"}), "t1");
    let first = start(&place, &search);
    let folder = format!("in     {}", place.path().join("proj").display());
    watcher.wait_for(&folder);
    watcher.approve_for_session();
    let said = String::from_utf8(first.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains("\"allow\""), "{said}");
    drop(watcher);
    assert_eq!(answer(&place, "claude", &search).1, "allow");
    let mut elsewhere = search.clone();
    elsewhere["cwd"] = place.path().to_str().into();
    assert_eq!(answer(&place, "claude", &elsewhere).1, "ask");
}

// invariant: 1
#[test]
fn edit_that_would_use_up_the_memory_is_answered() {
    let place = open_place("");
    let file = place.path().join("proj/long");
    fs::write(&file, "a".repeat(4 << 20)).unwrap();
    let new = "b".repeat(1 << 20);
    let one = json!({"old_string": "a", "new_string": new, "replace_all": true});
    let mut single = one.clone();
    single["file_path"] = file.to_str().into();
    // Writing in this root is free, whatever the text is.
    assert_eq!(claude(&place, "Edit", &single, "t1").0, "allow");
    let several = json!({"file_path": file, "edits": [one]});
    assert_eq!(claude(&place, "MultiEdit", &several, "t2").0, "ask");
}

// invariant: 1
#[test]
fn other_working_directory_does_not_replace_the_config() {
    let place = place();
    for folder in ["proj/sub", "other"] {
        fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    let denies = "version: 1\nshell: { rules: [{ pattern: npm publish, approval: deny }] }\n";
    fs::write(place.path().join("proj/askfirst.yaml"), denies).unwrap();
    fs::write(place.path().join("proj/sub/askfirst.yaml"), "version: 1\n").unwrap();
    for folder in ["proj", "proj/sub", "other"] {
        let mut call = event(&place, "PreToolUse", "Bash", &json!({"command": "npm publish"}), "t1");
        call["cwd"] = place.path().join(folder).to_str().into();
        let (_, decision, reason) = answer(&place, "claude", &call);
        assert_eq!(decision, "deny", "{folder}: {reason}");
    }
}
