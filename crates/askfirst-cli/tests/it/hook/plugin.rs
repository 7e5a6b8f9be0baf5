//! Tests of the plugin for opencode, run by Node.

use super::*;

/// Installs the plugin for a program with this script, and reports how it treats one call.
fn outcome(script: &str) -> Value {
    let place = Place::new("version: 1");
    assert_eq!(run(&place, "install", "opencode").0, 0);
    let plugin = text(place.path().join("config/opencode/plugins/askfirst.js"));
    let program = place.path().join("askfirst");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let own = env!("CARGO_BIN_EXE_askfirst");
    assert!(plugin.contains(own));
    let plugin =
        plugin.replace(own, program.to_str().unwrap()).replace("TIME_LIMIT = 600000", "TIME_LIMIT = 2000");
    fs::write(place.path().join("plugin.mjs"), plugin).unwrap();
    let driver = "import { Askfirst } from './plugin.mjs';
        const hooks = await Askfirst({ directory: '/work' });
        const output = { args: { command: 'rm x', extra: 1 } };
        try {
            await hooks['tool.execute.before']({ tool: 'bash', sessionID: 's', callID: 'c' }, output);
            console.log(JSON.stringify({ ran: output.args }));
        } catch (error) {
            console.log(JSON.stringify({ denied: error.message }));
        }";
    fs::write(place.path().join("driver.mjs"), driver).unwrap();
    let output = Command::new("node").arg("driver.mjs").current_dir(place.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn plugin_runs_a_call_only_after_a_valid_allow() {
    let allow = r#"cat > /dev/null; echo '{"version":1,"decision":"allow"}'"#;
    assert_eq!(outcome(allow)["ran"], serde_json::json!({"command": "rm x", "extra": 1}));
    let rewritten = r#"cat > /dev/null; echo '{"version":1,"decision":"allow","args":{"command":"ls"}}'"#;
    assert_eq!(outcome(rewritten)["ran"], serde_json::json!({"command": "ls"}), "no old argument is left");
    let wanted = r#"{"version":1,"event":"tool.execute.before","session":"s","call":"c","cwd":"/work","tool":"bash","args":{"command":"rm x","extra":1}}"#;
    let checked = format!(
        "test \"$1 $2\" = 'hook opencode' && test \"$(cat)\" = '{wanted}' && echo '{{\"version\":1,\"decision\":\"allow\"}}'"
    );
    assert!(outcome(&checked).get("ran").is_some(), "the event has the form of the contract");
}

#[test]
fn plugin_denies_a_call_whatever_else_happens() {
    let denied = |script: &str| {
        let outcome = outcome(script);
        outcome["denied"].as_str().unwrap_or_else(|| panic!("`{script}` let it run: {outcome}")).to_owned()
    };
    assert_eq!(denied(r#"echo '{"version":1,"decision":"deny","reason":"no rm"}'"#), "no rm");
    assert_eq!(denied("echo broken >&2; exit 2"), "broken");
    for script in [
        "",
        "echo nonsense",
        "echo null",
        "kill -SEGV $$",
        r#"echo '{"version":1,"decision":"allow"}'; exit 1"#,
        r#"echo '{"version":2,"decision":"allow"}'"#,
        r#"echo '{"version":1,"decision":"ask"}'"#,
    ] {
        assert!(denied(script).contains("denied"), "{script}");
    }
    assert!(denied("exec sleep 20").contains("in time"));
}
