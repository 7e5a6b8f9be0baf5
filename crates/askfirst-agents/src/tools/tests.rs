//! Tests of the mapping.

use askfirst::{ApprovalContext, Args, Fact};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::event::{Caller, McpTool, Moment};

fn object(value: Value) -> Args {
    value.as_object().unwrap().clone()
}

fn event(agent: Agent, tool: &str, input: Value) -> HookEvent {
    HookEvent {
        agent,
        moment: Moment::BeforeCall,
        session: "s1".to_owned(),
        use_id: Some("u1".to_owned()),
        cwd: "/home/ada/shop".to_owned(),
        tool: tool.to_owned(),
        input: object(input),
        caller: None,
        mcp: None,
        output: None,
    }
}

fn mapped(agent: Agent, tool: &str, input: Value) -> Mapping {
    map(&event(agent, tool, input))
}

/// The tool and the arguments of the only call.
fn only(mapping: Mapping) -> (String, Value) {
    match mapping {
        Mapping::Known(steps) => match steps.as_slice() {
            [Step::Call(call, _)] => (call.tool_name.clone(), call.args.clone().into()),
            other => panic!("{other:?}"),
        },
        Mapping::Unknown(call) => panic!("unknown: {call:?}"),
    }
}

fn assert_only(agent: Agent, tool: &str, input: Value, name: &str, args: Value) {
    assert_eq!(only(mapped(agent, tool, input)), (name.to_owned(), args), "{agent} {tool}");
}

/// Checks that a call keeps its whole input, under this name.
fn assert_unknown(agent: Agent, tool: &str, input: Value, name: &str) {
    let Mapping::Unknown(call) = mapped(agent, tool, input.clone()) else { panic!("{agent} {tool} {input}") };
    assert_eq!((call.tool_name.as_str(), Value::from(call.args)), (name, input), "{agent} {tool}");
    assert_eq!(call.metadata["cwd"], "/home/ada/shop");
}

#[test]
fn shell_command_of_every_agent_runs_in_its_folder() {
    for (agent, tool) in [
        (Agent::Claude, "Bash"),
        (Agent::Codex, "Bash"),
        (Agent::Gemini, "run_shell_command"),
        (Agent::Copilot, "bash"),
        (Agent::Qwen, "run_shell_command"),
        (Agent::Opencode, "bash"),
        (Agent::Cursor, "Shell"),
    ] {
        let input = json!({"command": "npm test", "description": "Run the tests"});
        let args = json!({"command": "npm test", "cwd": "/home/ada/shop"});
        assert_only(agent, tool, input, "shell", args);
    }
    for (agent, tool, key) in [
        (Agent::Gemini, "run_shell_command", "dir_path"),
        (Agent::Qwen, "run_shell_command", "directory"),
        (Agent::Opencode, "bash", "workdir"),
        (Agent::Cursor, "Shell", "working_directory"),
    ] {
        for (folder, cwd) in [("web", "/home/ada/shop/web"), ("/tmp", "/tmp"), ("", "/home/ada/shop")] {
            let args = json!({"command": "ls", "cwd": cwd});
            assert_only(agent, tool, json!({"command": "ls", key: folder}), "shell", args);
        }
        assert_unknown(agent, tool, json!({"command": "ls", key: "~/x"}), tool);
        assert_unknown(agent, tool, json!({"command": "ls", key: 7}), tool);
    }
}

#[test]
fn background_and_time_limit_of_a_command_stay() {
    assert_only(
        Agent::Claude,
        "Bash",
        json!({"command": "npm start", "run_in_background": true, "timeout": 90_000}),
        "shell",
        json!({"command": "npm start", "cwd": "/home/ada/shop", "timeout": 90.0, "background": true}),
    );
    let late = json!({"command": "a", "is_background": false, "delay_ms": 500});
    let args = || json!({"command": "a", "cwd": "/home/ada/shop"});
    assert_only(Agent::Gemini, "run_shell_command", late, "shell", args());
    let mode = |mode: &str| json!({"command": "a", "mode": mode, "initial_wait": 60});
    assert_only(Agent::Copilot, "bash", mode("sync"), "shell", args());
    let args = json!({"command": "a", "cwd": "/home/ada/shop", "background": true});
    assert_only(Agent::Copilot, "bash", mode("async"), "shell", args);
    for input in [mode("later"), json!({"command": "a", "detach": true})] {
        assert_unknown(Agent::Copilot, "bash", input, "bash");
    }
    for input in [json!({"command": "a", "timeout": "9"}), json!({"command": "a", "timeout": -1})] {
        assert_unknown(Agent::Claude, "Bash", input, "Bash");
    }
}

// invariant: 3
#[test]
fn command_with_a_field_that_could_matter_keeps_its_input() {
    for extra in [
        json!({"dangerouslyDisableSandbox": true}),
        json!({"dangerouslyDisableSandbox": "false"}),
        json!({"sandbox_permissions": "require_escalated"}),
        json!({"run_in_background": 1}),
        json!({"shell": "zsh"}),
        json!({"command": ["ls"]}),
        json!({"command": "a\0b"}),
    ] {
        let mut input = object(json!({"command": "ls"}));
        input.extend(object(extra));
        assert_unknown(Agent::Claude, "Bash", input.into(), "Bash");
    }
    let plain = json!({"command": "ls", "dangerouslyDisableSandbox": false});
    assert_only(Agent::Claude, "Bash", plain, "shell", json!({"command": "ls", "cwd": "/home/ada/shop"}));
    assert_unknown(Agent::Copilot, "bash", json!({"command": "ls", "shellId": "main"}), "bash");
    assert_unknown(Agent::Codex, "Bash", json!({"command": "ls", "timeout": 1}), "Bash");
}

#[test]
fn network_request_of_codex_is_no_command() {
    let input = json!({"command": "npm install", "description": "network-access registry.npmjs.org:443"});
    let mut request = event(Agent::Codex, "Bash", input);
    request.moment = Moment::PermissionRequest;
    assert!(matches!(map(&request), Mapping::Unknown(call) if call.tool_name == "Bash"));
}

#[test]
fn changed_command_is_the_only_change_that_goes_back() {
    let bash =
        event(Agent::Claude, "Bash", json!({"command": "npm test", "description": "Tests", "timeout": 1000}));
    let args = json!({"command": "true", "cwd": "/home/ada/shop", "timeout": 1.0});
    let back = rewritten(&bash, &object(args.clone())).unwrap();
    assert_eq!(Value::from(back), json!({"command": "true", "description": "Tests", "timeout": 1000}));
    for (key, value) in
        [("cwd", json!("/tmp")), ("timeout", json!(2.0)), ("command", json!(1)), ("env", json!(1))]
    {
        let mut args = object(args.clone());
        args.insert(key.to_owned(), value);
        assert_eq!(rewritten(&bash, &args), None, "{key}");
    }
    let read = event(Agent::Claude, "Read", json!({"file_path": "/a"}));
    assert_eq!(rewritten(&read, &object(json!({"path": "/a", "command": "b"}))), None);
}

#[test]
fn file_tools_of_every_agent_are_the_file_tools() {
    for (agent, read, write, edit, [path, content, old, new]) in [
        (Agent::Claude, "Read", "Write", "Edit", ["file_path", "content", "old_string", "new_string"]),
        (
            Agent::Gemini,
            "read_file",
            "write_file",
            "replace",
            ["file_path", "content", "old_string", "new_string"],
        ),
        (
            Agent::Qwen,
            "read_file",
            "write_file",
            "edit",
            ["file_path", "content", "old_string", "new_string"],
        ),
        (Agent::Copilot, "view", "create", "edit", ["path", "file_text", "old_str", "new_str"]),
        (Agent::Opencode, "read", "write", "edit", ["filePath", "content", "oldString", "newString"]),
    ] {
        let at = "/home/ada/shop/a.ts";
        assert_only(agent, read, json!({path: "a.ts"}), "read_file", json!({"path": at}));
        let args = json!({"path": at, "content": "x"});
        assert_only(agent, write, json!({path: "a.ts", content: "x"}), "write_file", args);
        let args = json!({"path": at, "old": "x", "new": "y"});
        assert_only(agent, edit, json!({path: at, old: "x", new: "y"}), "edit_file", args);
        let args = json!({"path": at, "content": "y"});
        assert_only(agent, edit, json!({path: at, old: "", new: "y"}), "write_file", args);
        for (tool, input) in [
            (read, json!({path: at, "as": "root"})),
            (write, json!({path: at, content: "x", "mode": 511})),
            (edit, json!({path: at, old: "x", new: "y", "mode": 511})),
            (edit, json!({path: at, old: "x"})),
            (write, json!({path: at, content: ["x"]})),
        ] {
            let Mapping::Unknown(call) = mapped(agent, tool, input.clone()) else {
                panic!("{agent} {input}")
            };
            assert_eq!(Value::from(call.args), input);
        }
    }
    let read = json!({"file_path": "/a", "offset": 10, "limit": 20, "allow_large": true});
    assert_only(Agent::Claude, "Read", read, "read_file", json!({"path": "/a"}));
    let read = json!({"path": "/a", "view_range": [1, 20], "forceReadLargeFiles": true});
    assert_only(Agent::Copilot, "view", read, "read_file", json!({"path": "/a"}));
    let read = json!({"file_path": "/a", "attachments": []});
    assert_only(Agent::Cursor, "Read", read, "read_file", json!({"path": "/a"}));
    assert_unknown(
        Agent::Cursor,
        "Read",
        json!({"file_path": "/a", "attachments": [{"file_path": "/b"}]}),
        "Read",
    );
}

#[test]
fn edit_of_all_occurrences_says_so() {
    let all = json!({"path": "/a", "old": "x", "new": "y", "all": true});
    for (agent, tool, extra) in [
        (Agent::Claude, "Edit", json!({"replace_all": true})),
        (Agent::Gemini, "replace", json!({"allow_multiple": true, "instruction": "Why"})),
        (Agent::Gemini, "replace", json!({"expected_replacements": 3})),
    ] {
        let mut input = object(json!({"file_path": "/a", "old_string": "x", "new_string": "y"}));
        input.extend(object(extra));
        assert_only(agent, tool, input.into(), "edit_file", all.clone());
    }
}

#[test]
fn path_that_agents_read_differently_is_not_mapped() {
    for path in ["~/a", "~ada/a", " a", "a ", "@a", "file:///a", "https://a/b", "a\nb", "", "cafe\u{301}"] {
        assert_unknown(Agent::Claude, "Read", json!({"file_path": path}), "Read");
    }
    // In askfirst, `w:a` names the root `w`. The agent means a file.
    assert_only(
        Agent::Claude,
        "Read",
        json!({"file_path": "w:a"}),
        "read_file",
        json!({"path": "/home/ada/shop/w:a"}),
    );
}

/// The calls of a mapping, for a file with this content.
fn calls(mapping: Mapping, current: &str) -> Vec<(String, Value)> {
    let Mapping::Known(steps) = mapping else { panic!("{mapping:?}") };
    let calls = steps.into_iter().flat_map(|step| match step {
        Step::Call(call, _) => vec![call],
        Step::Update(update) => update.calls(current).unwrap(),
    });
    calls.map(|call| (call.tool_name, call.args.into())).collect()
}

#[test]
fn several_edits_of_a_file_are_one_write() {
    let edits = json!([
        {"old_string": "a", "new_string": "b"},
        {"old_string": "b", "new_string": "c", "replace_all": true},
    ]);
    let edit = || mapped(Agent::Claude, "MultiEdit", json!({"file_path": "/f", "edits": edits}));
    let write = ("write_file".to_owned(), json!({"path": "/f", "content": "c c\n"}));
    assert_eq!(calls(edit(), "a b\n"), [write]);
    let Mapping::Known(steps) = edit() else { panic!() };
    let [Step::Update(update)] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!((update.path(), update.calls("x")), ("/f", Err(UpdateError::NotFound)));
    assert_eq!(update.calls("a a"), Err(UpdateError::Several));
    for edits in
        [json!([]), json!([{"old_string": "", "new_string": "b"}]), json!([{"old_string": "a"}]), json!(7)]
    {
        assert_unknown(Agent::Claude, "MultiEdit", json!({"file_path": "/f", "edits": edits}), "MultiEdit");
    }
}

#[test]
fn fetch_names_its_host() {
    let fetch = map(&event(
        Agent::Claude,
        "WebFetch",
        json!({"url": "https://Docs.rs/serde", "prompt": "Summarize"}),
    ));
    let Mapping::Known(steps) = fetch else { panic!("{fetch:?}") };
    let [Step::Call(call, facts)] = steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!(facts, &[Fact::new("host", "docs.rs")]);
    assert_eq!(Value::from(call.args.clone()), json!({"url": "https://Docs.rs/serde", "host": "docs.rs"}));
    let fetch = json!({"url": "https://a/", "prompt": "Summarize", "format": "html"});
    assert_only(Agent::Qwen, "web_fetch", fetch, "web_fetch", json!({"url": "https://a/", "host": "a"}));
    assert_unknown(Agent::Claude, "WebFetch", json!({"url": "https://a/", "method": "POST"}), "WebFetch");
    assert_unknown(Agent::Gemini, "web_fetch", json!({"prompt": "Read https://a/"}), "gemini__web_fetch");
}

#[test]
fn host_is_found_only_in_a_clear_address() {
    for (url, found) in [
        ("https://example.org", "example.org"),
        ("http://EXAMPLE.org:8080/a?b@c", "example.org"),
        ("https://127.0.0.1/", "127.0.0.1"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
    ] {
        assert_eq!(fetch::host(url).as_deref(), Some(found), "{url}");
    }
    for url in [
        "ftp://example.org/",
        "https://good.example@evil.example/",
        "https://evil.example\\@good.example/",
        "https://exa mple.org/",
        "https://b\u{fc}cher.example/",
        "https://example.org./",
        "https://0x7f.1/",
        "https://127.1/",
        "https://127.0.0.01/",
        "https://[::1]/",
        "https://example.org:80a/",
        "https://ex%61mple.org/",
        "https:///a",
        "HTTPS://example.org",
    ] {
        assert_eq!(fetch::host(url), None, "{url}");
    }
}

#[test]
fn tools_of_mcp_servers_have_one_name_in_all_agents() {
    for agent in [Agent::Claude, Agent::Codex, Agent::Qwen] {
        let args = json!({"title": "x"});
        assert_only(agent, "mcp__github__create_issue", args.clone(), "mcp__github__create_issue", args);
        assert_unknown(agent, "mcp__github", json!({}), &format!("{agent}__mcp__github"));
    }
    let named = |server: &str, tool: &str| {
        let mut event = event(Agent::Gemini, "mcp_x", json!({}));
        event.mcp = Some(McpTool { server: server.to_owned(), tool: tool.to_owned() });
        map(&event)
    };
    assert_eq!(only(named("github", "create_issue")).0, "mcp__github__create_issue");
    for (server, tool) in [("a__b", "c"), ("a_", "c"), ("a", "_c")] {
        assert!(matches!(named(server, tool), Mapping::Unknown(_)), "{server} {tool}");
    }
    assert_unknown(
        Agent::Opencode,
        "mcp__github__create_issue",
        json!({}),
        "opencode__mcp__github__create_issue",
    );
}

#[test]
fn other_tools_keep_their_name_unless_askfirst_has_one() {
    assert_unknown(Agent::Claude, "Task", json!({"prompt": "Look around"}), "Task");
    assert_unknown(Agent::Codex, "spawn_agent", json!({}), "spawn_agent");
    assert_unknown(Agent::Codex, "shell", json!({"command": "ls"}), "codex__shell");
    assert_unknown(Agent::Gemini, "read_file", json!({"paths": ["/a"]}), "gemini__read_file");
}

#[test]
fn call_names_session_and_callers() {
    let mut task = event(Agent::Claude, "Task", json!({}));
    task.caller = Some(Caller { id: "agent-7".to_owned(), kind: Some("Explore".to_owned()) });
    let Mapping::Unknown(call) = map(&task) else { panic!() };
    let metadata = |call: &ApprovalContext| Value::from(call.metadata.clone());
    let expected = json!({
        "session_id": "s1", "tool_call_id": "u1", "caller": "claude > Explore agent-7", "cwd": "/home/ada/shop",
    });
    assert_eq!(metadata(&call), expected);
    let Mapping::Known(steps) = mapped(Agent::Claude, "Bash", json!({"command": "ls"})) else { panic!() };
    let [Step::Call(call, _)] = steps.as_slice() else { panic!() };
    assert_eq!(metadata(call), json!({"session_id": "s1", "tool_call_id": "u1", "caller": "claude"}));
}

fn patch(body: &str) -> Mapping {
    mapped(Agent::Codex, "apply_patch", json!({"command": format!("*** Begin Patch\n{body}*** End Patch\n")}))
}

#[test]
fn patch_is_the_calls_that_make_its_changes() {
    let whole = patch(
        "*** Add File: docs/new.md\n+# New\n+\n*** Delete File: /home/ada/shop/old.md\n*** Update File: a.ts\n\
         @@ fn total()\n-let total = 0;\n+let total = shipping;\n }\n*** Update File: b.ts\n*** Move to: c.ts\n\
         -let total = 0;\n+let total = 1;\n*** End of File\n",
    );
    let current = "fn other()\nlet total = 0;\n}\n  fn total()\nlet total = 0;\n}\nlet total = 0;\n";
    let at = |name: &str| format!("/home/ada/shop/{name}");
    let call = |tool: &str, args: Value| (tool.to_owned(), args);
    let first = "fn other()\nlet total = 0;\n}\n  fn total()\nlet total = shipping;\n}\nlet total = 0;\n";
    let second = "fn other()\nlet total = 0;\n}\n  fn total()\nlet total = 0;\n}\nlet total = 1;\n";
    let expected = [
        call("write_file", json!({"path": at("docs/new.md"), "content": "# New\n\n"})),
        call("delete_file", json!({"path": at("old.md")})),
        call("write_file", json!({"path": at("a.ts"), "content": first})),
        call("move_file", json!({"path": at("b.ts"), "to": at("c.ts"), "overwrite": true})),
        call("write_file", json!({"path": at("c.ts"), "content": second})),
    ];
    assert_eq!(calls(whole, current), expected);
}

/// The content of a file after an update, or the reason why there is none.
fn updated(body: &str, current: &str) -> Result<String, UpdateError> {
    let Mapping::Known(steps) = patch(&format!("*** Update File: a\n{body}")) else {
        panic!("unknown: {body}")
    };
    let [Step::Update(update)] = steps.as_slice() else { panic!("{steps:?}") };
    update.calls(current).map(|calls| calls[0].args["content"].as_str().unwrap().to_owned())
}

#[test]
fn update_finds_its_lines_as_codex_does() {
    let content = |text: &str| Ok(text.to_owned());
    assert_eq!(updated("@@\n-a\n+b\n", "a\na\n"), content("b\na\n"), "the first one");
    assert_eq!(updated("@@\n-a\n+b\n", " a\na\n"), content(" a\nb\n"), "an exact one first");
    assert_eq!(updated("@@\n-a\n+b\n", "  a\n"), content("b\n"), "or one with other spaces");
    assert_eq!(updated("@@\n-a\n+b\n@@\n-a\n+c\n", "a\na\n"), content("b\nc\n"), "each after the last");
    assert_eq!(updated("@@\n-a\n+b\n*** End of File\n", "a\nx\na\n"), content("a\nx\nb\n"), "at the end");
    assert_eq!(updated("@@\n-a\n+b\n", "a"), content("b\n"), "a last line without an end gets one");
    assert_eq!(updated("@@\n-a\n+b\n\n", "a\n"), content("b\n"), "an empty line for the end of the file");
    assert_eq!(updated("@@\n x\n\n-a\n+b\n", "x\n\na\n"), content("x\n\nb\n"), "an empty line of the file");
    assert_eq!(updated("@@\n-a\n", "a\n"), content(""), "everything");
    assert_eq!(updated("@@\n-a\n+b\n", "c\n"), Err(UpdateError::NotFound));
    assert_eq!(updated("@@ x\n-a\n+b\n", "a\nx\n"), Err(UpdateError::NotFound), "only above its context");
    assert_eq!(updated("@@\n-b\n+c\n@@\n-a\n+c\n", "a\nb\n"), Err(UpdateError::NotFound), "in another order");
    assert_eq!(updated("@@\n-a\n+b\n", "a\r\n"), Err(UpdateError::Unclear));
    assert_eq!(updated("@@\n-a\n+b\n", "a\n\n"), Err(UpdateError::Unclear), "an empty last line");
    assert_eq!(updated("@@\n-\n+b\n", ""), Err(UpdateError::Unclear));
}

// invariant: 3
#[test]
fn patch_that_versions_read_differently_keeps_its_text() {
    for body in [
        "",
        "*** Add File: ~/a\n+b\n",
        "*** Add File: a \n+b\n",
        "*** Add File: a\n+b\nc\n",
        "*** Add File: a\n+b\r\n",
        "*** Add File: a\n+b\n*** Add File: a\n+c\n",
        "*** Add File: a\n+b\n*** Delete File: x/../a\n",
        "*** Rename File: a\n",
        "*** Delete File: a\nb\n",
        " *** Delete File: a\n",
        "*** Update File: a\n",
        "*** Update File: a\n*** Move to: b\n",
        "*** Update File: a\n*** Move to:  b\n@@\n-a\n+b\n",
        "*** Update File: a\n *** Move to: b\n-a\n+b\n",
        "*** Update File: a\n@@\n-a\n *** Delete File: b\n",
        "*** Update File: a\n@@\n-a\n @@\n+b\n",
        "*** Update File: a\n@@\n\n-a\n+b\n",
        "*** Update File: a\n@@\n+b\n",
        "*** Update File: a\n@@ \n-a\n",
        "*** Update File: a\n@@  x\n-a\n",
        "*** Update File: a\n@@x\n-a\n",
        "*** Update File: a\n@@\n-a\n*** End of File\n b\n",
        "*** Update File: a\n@@\n-a\nb\n",
        "*** Update File: a\n@@\n-a\n*** End Patch\n",
    ] {
        assert!(matches!(patch(body), Mapping::Unknown(call) if call.tool_name == "apply_patch"), "{body:?}");
    }
    for text in ["<<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF", " *** Begin Patch\n", ""]
    {
        assert_unknown(Agent::Codex, "apply_patch", json!({"command": text}), "apply_patch");
    }
}

proptest! {
    #[test]
    fn no_input_panics_and_no_field_is_lost(
        agent in proptest::sample::select(Agent::ALL.to_vec()),
        tool in "Bash|bash|Shell|run_shell_command|Read|Write|Edit|edit|view|WebFetch|apply_patch|[a-z_]{0,12}",
        keys in proptest::collection::btree_map("command|file_path|path|content|url|[a-z]{1,5}", "[ -~\n]{0,20}", 0..4),
    ) {
        let input: Args = keys.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
        let event = event(agent, &tool, input.clone().into());
        match map(&event) {
            Mapping::Unknown(call) => prop_assert_eq!(call.args, input),
            Mapping::Known(steps) => prop_assert!(!steps.is_empty()),
        }
    }

    #[test]
    fn no_patch_panics(
        lines in proptest::collection::vec(
            prop_oneof![
                Just("*** Update File: a".to_owned()),
                Just("*** Add File: b".to_owned()),
                Just("*** Move to: c".to_owned()),
                Just("*** End of File".to_owned()),
                "@@( [ab])?",
                "[ +-][ab]?",
                Just(String::new()),
            ],
            0..8,
        ),
        current in "[ab\n ]{0,12}",
    ) {
        let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
        if let Mapping::Known(steps) = patch(&body) {
            for step in steps {
                if let Step::Update(update) = step
                    && let Ok(calls) = update.calls(&current)
                {
                    prop_assert!(!calls.is_empty());
                }
            }
        }
    }
}
