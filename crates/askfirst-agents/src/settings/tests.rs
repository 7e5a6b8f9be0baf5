//! Tests of editing configs.

use serde_json::{Value, json};

use super::*;

const OWN: &str = r#"{
    // My settings.
    "model": "x", /* the best */
    "hooks": {
        "PreToolUse": [
            { "matcher": "Bash", "hooks": [{ "type": "command", "command": "own" }] } // mine
        ]
    },
    "last": true
}
"#;

fn hook() -> HookCommand {
    HookCommand { program: "/usr/bin/askfirst".to_owned(), time_limit: TIME_LIMIT }
}

fn value(text: &str) -> Value {
    json::read(text, json::Comments::Allowed).unwrap()
}

#[test]
fn install_keeps_comments_order_and_indent() {
    let new = install(Agent::Claude, OWN, &hook()).unwrap();
    let kept: Vec<&str> = OWN.lines().filter(|line| line.contains("//") || line.contains("/*")).collect();
    assert_eq!(kept.len(), 3);
    for line in kept {
        let line = line.trim_end_matches("// mine").trim_end();
        assert!(new.contains(line), "{line}\n{new}");
    }
    assert!(new.contains("// mine") && new.find("\"model\"") < new.find("\"last\""), "{new}");
    assert!(new.contains("\n            {\n                \"hooks\": ["), "the indent of the file: {new}");
    assert_eq!(value(&new)["hooks"]["PreToolUse"][0], value(OWN)["hooks"]["PreToolUse"][0]);
}

#[test]
fn uninstall_returns_the_text_before_the_install() {
    for (agent, text) in [
        (Agent::Claude, OWN),
        (Agent::Claude, "{\n  \"a\": 1\n}\n"),
        (Agent::Qwen, "{\n\t\"a\": [1, 2]\n}"),
        (Agent::Gemini, "// first\n{\n  \"hooks\": {\n    \"Stop\": [ { \"hooks\": [] } ]\n  }\n}\n"),
        (Agent::Cursor, "{\n  \"version\": 1,\n  \"other\": {}\n}\n"),
    ] {
        let new = install(agent, text, &hook()).unwrap();
        assert_ne!(new, text);
        assert_eq!(uninstall(agent, &new, &hook()).unwrap().as_deref(), Some(text), "{agent:?}");
    }
}

#[test]
fn second_install_changes_nothing_for_every_agent() {
    for agent in Agent::ALL {
        assert_eq!(installed(agent, "", &hook()).unwrap(), HookState::No);
        let new = install(agent, "", &hook()).unwrap();
        assert_eq!(installed(agent, &new, &hook()).unwrap(), HookState::Yes, "{new}");
        assert_eq!(install(agent, &new, &hook()).unwrap(), new);
        assert_eq!(uninstall(agent, &new, &hook()).unwrap(), None, "nothing else was in it");
    }
}

#[test]
fn every_hook_is_for_an_event_of_the_contract() {
    for agent in Agent::ALL {
        let Some(form) = json::hook_form(agent) else { continue };
        for event in form.events {
            let bytes = json!({"hook_event_name": event, "toolArgs": {}}).to_string();
            let read = crate::read(agent, bytes.as_bytes());
            let is_copilot_name = agent == Agent::Copilot && *event == "preToolUse";
            let is_known = !matches!(read, Err(crate::ContractError::UnknownEvent(_)));
            assert!(is_known || is_copilot_name, "{agent:?} {event}");
        }
    }
}

#[test]
fn files_that_switch_a_hook_off_are_never_written() {
    use askfirst_shell::{FileLevel, level_of};
    for agent in Agent::ALL {
        let files = files(agent);
        let of_user = [files.user].into_iter().chain(files.user_settings.iter().copied());
        let of_user = of_user.map(|name| format!("{}/{name}", files.in_home));
        let of_project = [files.project].into_iter().chain(files.project_settings.iter().copied());
        for path in of_user.chain(of_project.map(str::to_owned)) {
            let path = if path.ends_with('/') { format!("{path}own") } else { path };
            assert_eq!(level_of(path.as_ref()), FileLevel::Never, "{path}");
        }
    }
    for path in
        [".claude/settings.local.json", ".claude.json", ".gemini/trusted_hooks.json", ".copilot/config.json"]
    {
        assert_eq!(level_of(path.as_ref()), FileLevel::Never, "{path}");
    }
}

#[test]
fn hooks_fail_closed_where_the_agent_can() {
    let of = |agent| value(&install(agent, "", &hook()).unwrap());
    let claude = of(Agent::Claude);
    for event in ["PreToolUse", "PermissionRequest"] {
        assert_eq!(claude["hooks"][event][0]["hooks"][0]["onFailure"], "block", "{event}");
    }
    assert_eq!(claude["hooks"]["PreToolUse"][0]["hooks"][0]["args"], json!(["hook", "claude"]));
    let cursor = of(Agent::Cursor);
    assert!(cursor["hooks"].as_object().unwrap().values().all(|hooks| hooks[0]["failClosed"] == true));
    assert_eq!(of(Agent::Gemini)["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 600_000);
    assert_eq!(of(Agent::Copilot)["hooks"]["preToolUse"][0]["timeoutSec"], 600);
}

#[test]
fn hook_of_another_path_is_replaced_in_place() {
    let old = HookCommand { program: "/old path/askfirst".to_owned(), ..hook() };
    for agent in Agent::ALL {
        let text = install(agent, "", &old).unwrap();
        assert!(text.contains("/old path/askfirst"), "{text}");
        assert_eq!(installed(agent, &text, &hook()).unwrap(), HookState::Outdated);
        let new = install(agent, &text, &hook()).unwrap();
        assert_eq!(new, install(agent, "", &hook()).unwrap());
    }
    let program = "'/old path/askfirst' hook codex";
    let text = format!(
        r#"{{"hooks":{{"PreToolUse":[{{"hooks":[{{"command":"{program}"}}]}},{{"hooks":[{{"command":"own"}}]}}]}}}}"#
    );
    let new = value(&install(Agent::Codex, &text, &hook()).unwrap());
    let line = new["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(line.ends_with("' /usr/bin/askfirst"), "{line}");
    assert_eq!(
        new["hooks"]["PreToolUse"][1]["hooks"][0]["command"], "own",
        "Codex trusts it by its position"
    );
}

// invariant: 1
#[test]
fn hook_that_is_missing_or_fails_is_a_denial() {
    for (agent, event) in
        [(Agent::Codex, "PreToolUse"), (Agent::Gemini, "BeforeTool"), (Agent::Qwen, "PreToolUse")]
    {
        for (program, code) in [("/bin/true", 0), ("/bin/false", 2), ("/missing/askfirst", 2)] {
            let hook = HookCommand { program: program.to_owned(), ..hook() };
            let config = value(&install(agent, "", &hook).unwrap());
            let line = config["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
            let done = std::process::Command::new("sh").args(["-c", line]).output().unwrap();
            let told = String::from_utf8(done.stderr).unwrap();
            assert_eq!(
                (done.status.code(), told.contains("denied")),
                (Some(code), code == 2),
                "{line}: {told}"
            );
        }
    }
}

#[test]
fn hook_that_covers_only_some_calls_is_outdated() {
    let text = install(Agent::Claude, "", &hook()).unwrap();
    let narrow =
        text.replacen("{\n        \"hooks\"", "{\n        \"matcher\": \"Bash\",\n        \"hooks\"", 1);
    assert_ne!(narrow, text);
    assert_eq!(installed(Agent::Claude, &narrow, &hook()).unwrap(), HookState::Outdated);
    assert_eq!(value(&install(Agent::Claude, &narrow, &hook()).unwrap()), value(&text));
    let open = text.replacen(",\n            \"onFailure\": \"block\"", "", 1);
    assert_ne!(open, text);
    assert_eq!(installed(Agent::Claude, &open, &hook()).unwrap(), HookState::Outdated);
    let shared = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"command":"own"},
        {"command":"askfirst hook claude"}]}]}}"#;
    let new = value(&install(Agent::Claude, shared, &hook()).unwrap());
    assert_eq!(new["hooks"]["PreToolUse"][0], json!({"matcher": "Bash", "hooks": [{"command": "own"}]}));
    assert!(new["hooks"]["PreToolUse"][1].get("matcher").is_none(), "{new}");
}

#[test]
fn malformed_config_is_an_error_with_its_line() {
    let error = |agent, text: &str| install(agent, text, &hook()).unwrap_err().to_string();
    for (agent, text, wanted) in [
        (Agent::Claude, "{\n  \"a\": 1,\n}", "line 2: trailing commas are not allowed"),
        (Agent::Claude, "{\n  \"a\": 1,\n  \"a\": 2\n}", "line 3: the key `a` is here twice"),
        (Agent::Claude, "\n[]", "line 2: expected an object"),
        (Agent::Claude, "{\n\"hooks\": 1}", "line 2: expected `hooks` to be an object"),
        (
            Agent::Claude,
            "{\"hooks\": {\n\n\"PreToolUse\": {}}}",
            "line 3: expected `hooks.PreToolUse` to be a list",
        ),
        (
            Agent::Gemini,
            "{\"hooks\": {\"BeforeTool\": [\n{}]}}",
            "line 2: expected `hooks.BeforeTool` to be a list of objects with a list `hooks`",
        ),
        (
            Agent::Cursor,
            "{\"hooks\": {\"preToolUse\": [\n1]}}",
            "line 2: expected `hooks.preToolUse` to be a list of objects",
        ),
        (Agent::Codex, "{\n// Codex ignores this file.\n}", "line 2: comments are not allowed"),
        (Agent::Opencode, "export const Other = 1;", "line 1: this file is another plugin"),
    ] {
        assert_eq!(error(agent, text), wanted);
        assert!(agent == Agent::Opencode || uninstall(agent, text, &hook()).is_err(), "{text}");
    }
    for text in ["{", "{\"a\"", "\u{0}", "{} {}", "{a: 1}", "{\"a\": 'x'}"] {
        assert!(error(Agent::Claude, text).starts_with("line 1: "), "{text}");
    }
}

#[test]
fn other_programs_are_no_hooks_of_ours() {
    for command in
        ["askfirst hook claude && true", "askfirst2 hook claude", "x; askfirst hook codex", "hook claude"]
    {
        let text = json!({"hooks": {"PreToolUse": [{"hooks": [{"command": command}]}]}}).to_string();
        assert_eq!(installed(Agent::Claude, &text, &hook()).unwrap(), HookState::No, "{command}");
        assert_eq!(uninstall(Agent::Claude, &text, &hook()).unwrap(), Some(text), "{command}");
    }
}

#[test]
fn switches_that_turn_hooks_off_are_found() {
    for (agent, text, wanted) in [
        (Agent::Claude, r#"{"disableAllHooks": true}"#, vec!["disableAllHooks: true"]),
        (Agent::Claude, r#"{"disableAllHooks": false}"#, vec![]),
        (Agent::Gemini, r#"{"hooksConfig": {"enabled": false}}"#, vec!["hooksConfig.enabled: false"]),
        (
            Agent::Gemini,
            r#"{"hooksConfig": {"disabled": ["other", "askfirst"]}}"#,
            vec!["hooksConfig.disabled: [\"askfirst\"]"],
        ),
        (Agent::Codex, "[features]\nhooks = false\n", vec!["features.hooks = false"]),
        (Agent::Codex, "[features]\nhooks = true\n", vec![]),
    ] {
        assert_eq!(switches(agent, text).unwrap(), wanted, "{text}");
    }
    assert_eq!(switches(Agent::Codex, "a = 1\nb = = 2\n").unwrap_err().line, 2);
}

#[test]
fn rules_that_see_only_the_command_are_floors() {
    let found = |agent, file, text: &str| {
        let floors = floors(agent, file, text).unwrap().into_iter();
        floors.map(|floor| format!("{:?} {}({})", floor.kind, floor.tool, floor.pattern)).collect::<Vec<_>>()
    };
    let claude = r#"{"permissions": {"deny": ["Bash(git push:*)", "Read(./.env)", "Bash", "Bash(*)"],
        "ask": ["Bash(rm (x) *)"], "allow": ["Bash(ls)"]}}"#;
    assert_eq!(
        found(Agent::Claude, "settings.json", claude),
        ["Deny Bash(git push:*)", "Ask Bash(rm (x) *)"]
    );
    let gemini = r#"{"tools": {"exclude": ["run_shell_command(rm)", "web_fetch"]}}"#;
    assert_eq!(found(Agent::Gemini, "settings.json", gemini), ["Deny run_shell_command(rm)"]);
    let policy = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\"git\", \"rm\"]\ndecision = \"ask_user\"\n\
                  [[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \"x\"\ndecision = \"allow\"\n";
    let wanted = ["Ask run_shell_command(git)", "Ask run_shell_command(rm)"];
    assert_eq!(found(Agent::Gemini, "own.toml", policy), wanted);
    let codex = "prefix_rule(pattern = [\"git\"], decision = \"forbidden\")";
    assert_eq!(found(Agent::Codex, "default.rules", codex), ["Deny shell(the rules in default.rules)"]);
    assert!(
        found(Agent::Codex, "default.rules", "prefix_rule(pattern = [\"ls\"], decision = \"allow\")")
            .is_empty()
    );
}

#[test]
fn digest_of_a_codex_hook_is_the_one_of_codex() {
    // Published with a test of another program, as Codex computes it.
    let command = "'/Applications/GWT.app/Contents/MacOS/gwtd' hook event PostToolUse";
    let hash = codex::hash("post_tool_use", &json!({"matcher": "*"}), &json!({"command": command}));
    assert_eq!(hash, "sha256:9c3ce103f03f0b27a28bc4a30883f7e98a80b5df566b4572fcbb2955ebf5ba62");
}

#[test]
fn trust_in_codex_hooks_is_added_and_removed() {
    let own = r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "own"}]}]}}"#;
    let hooks =
        hooks_to_trust(&install(Agent::Codex, own, &hook()).unwrap(), "/h/hooks.json", &hook()).unwrap();
    let keys: Vec<&str> = hooks.iter().map(|hook| hook.key.as_str()).collect();
    let wanted = ["pre_tool_use:1:0", "permission_request:0:0", "post_tool_use:0:0"];
    assert_eq!(keys, wanted.map(|key| format!("/h/hooks.json:{key}")));
    for text in [
        "",
        "# mine\nmodel = \"x\" # keep\n\n[hooks.state.\"/h/hooks.json:stop:0:0\"]\ntrusted_hash = \"y\"\n",
    ] {
        assert!(!is_trusted(text, &hooks).unwrap());
        let new = trust(text, &hooks).unwrap();
        assert!(is_trusted(&new, &hooks).unwrap() && new.starts_with(text), "{new}");
        assert_eq!(trust(&new, &hooks).unwrap(), new);
        assert!(!is_trusted(&new.replacen("sha256:", "sha256:0", 1), &hooks).unwrap());
        assert_eq!(distrust(&new, &hooks).unwrap().unwrap_or_default(), text);
        let off = new.replacen("trusted_hash", "enabled = false\ntrusted_hash", 4);
        assert!(!is_trusted(&off, &hooks).unwrap(), "{off}");
        assert!(is_trusted(&trust(&off, &hooks).unwrap(), &hooks).unwrap());
    }
    assert_eq!(trust("a = 1\n[b\n", &hooks).unwrap_err().line, 2);
    assert!(trust("hooks = 1\n", &hooks).is_err());
}
