//! The exact answers for each agent but Claude Code, and the fields of its events.

use askfirst::json::parse_object;
use askfirst_agents::{Answer, Caller, McpTool, Reply, write};
use serde_json::{Value, json};

use super::fixtures::event;

fn ask() -> Answer {
    Answer::Ask { reason: "why".to_owned() }
}

fn deny() -> Answer {
    Answer::Deny { reason: "no".to_owned() }
}

fn rewrite(input: &str) -> Answer {
    Answer::Allow { input: Some(parse_object(input.as_bytes()).unwrap()), context: None }
}

fn note() -> Answer {
    Answer::Allow { input: None, context: Some("note".to_owned()) }
}

/// Checks the document that a hook prints, with the exit code 0.
fn assert_printed(name: &str, answer: Answer, document: Value) {
    let reply = write(&event(name), answer.clone());
    let printed: Value = serde_json::from_str(&reply.stdout).unwrap_or_default();
    assert_eq!(printed, document, "{name}: {answer:?}");
    assert_eq!((reply.code, reply.stderr.as_str()), (0, ""), "{name}: {answer:?}");
}

fn assert_silent(name: &str, answer: Answer) {
    assert_eq!(write(&event(name), answer), Reply::silent(), "{name}");
}

#[test]
fn codex_gets_deny_or_a_new_input_and_otherwise_silence() {
    let (before, permission) = ("codex/0.169/before_bash", "codex/0.169/permission_bash");
    let output = |fields: Value| json!({"hookSpecificOutput": fields});
    assert_silent(before, Answer::ALLOW);
    assert_silent(before, Answer::Nothing);
    assert_printed(
        before,
        note(),
        output(json!({"hookEventName": "PreToolUse", "additionalContext": "note"})),
    );
    assert_printed(
        before,
        rewrite(r#"{"command":"true"}"#),
        output(json!({
            "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "true"},
        })),
    );
    for (answer, reason) in [(deny(), "no"), (ask(), "needs approval, but Codex cannot ask about it: why")] {
        assert_printed(
            before,
            answer.clone(),
            output(json!({
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
            })),
        );
        let decision = json!({"behavior": "deny", "message": reason});
        let request = json!({"hookEventName": "PermissionRequest", "decision": decision});
        assert_printed(permission, answer, output(request));
    }
    let allow = json!({"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}});
    assert_printed(permission, Answer::ALLOW, output(allow));
    assert_silent(permission, Answer::Nothing);
}

#[test]
fn gemini_gets_deny_or_a_new_input_and_otherwise_silence() {
    let before = "gemini/0.61.0/before_shell";
    assert_silent(before, Answer::ALLOW);
    assert_printed(
        before,
        rewrite(r#"{"command":"true","description":""}"#),
        json!({
            "decision": "allow",
            "hookSpecificOutput": {
                "hookEventName": "BeforeTool",
                "tool_input": {"command": "true", "description": ""},
            },
        }),
    );
    assert_printed(
        before,
        rewrite(r#"{"command":"true"}"#),
        json!({"decision": "deny", "reason": "Gemini CLI cannot remove an argument of a call"}),
    );
    assert_printed(before, deny(), json!({"decision": "deny", "reason": "no"}));
    let reason = "needs approval, but Gemini CLI cannot ask about it: why";
    assert_printed(before, ask(), json!({"decision": "deny", "reason": reason}));
}

#[test]
fn copilot_gets_a_denial_with_exit_code_2() {
    let (before, permission) = ("copilot/1.0.102/before_bash", "copilot/1.0.102/permission_edit");
    assert_printed(before, Answer::ALLOW, json!({"permissionDecision": "allow"}));
    assert_printed(
        before,
        rewrite(r#"{"command":"true"}"#),
        json!({"permissionDecision": "allow", "modifiedArgs": {"command": "true"}}),
    );
    assert_printed(before, ask(), json!({"permissionDecision": "ask", "permissionDecisionReason": "why"}));
    assert_printed(permission, Answer::ALLOW, json!({"behavior": "allow"}));
    for (name, document) in [
        (before, json!({"permissionDecision": "deny", "permissionDecisionReason": "no"})),
        (permission, json!({"behavior": "deny", "message": "no"})),
    ] {
        let reply = write(&event(name), deny());
        assert_eq!(reply.stdout, format!("{document}\n"));
        assert_eq!((reply.code, reply.stderr.as_str()), (2, "askfirst: no\n"));
    }
}

#[test]
fn qwen_gets_the_answers_of_claude_but_no_new_input() {
    let before = "qwen/0.15.10/before_shell";
    let output = |decision: &str, reason: &str| {
        json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }})
    };
    assert_printed(before, deny(), output("deny", "no"));
    assert_printed(before, ask(), output("ask", "why"));
    let reason = "Qwen Code cannot run this call in another way";
    assert_printed(before, rewrite(r#"{"command":"true"}"#), output("deny", reason));
}

#[test]
fn opencode_gets_allow_or_deny() {
    let before = "opencode/1.18.33/before_bash";
    assert_printed(before, Answer::ALLOW, json!({"version": 1, "decision": "allow"}));
    assert_printed(before, deny(), json!({"version": 1, "decision": "deny", "reason": "no"}));
    assert_printed(
        before,
        rewrite(r#"{"command":"true"}"#),
        json!({"version": 1, "decision": "allow", "args": {"command": "true"}}),
    );
}

#[test]
fn cursor_gets_a_question_only_before_a_shell_command() {
    let names = ["before_shell_tool", "shell_npm", "mcp_issue", "read_cart"];
    let [before, shell, mcp, read] = names.map(|name| format!("cursor/1.0.32/{name}"));
    let denied = |text: &str| json!({"permission": "deny", "user_message": text, "agent_message": text});
    for name in [&before, &shell, &mcp, &read] {
        assert_printed(name, Answer::ALLOW, json!({"permission": "allow"}));
        assert_printed(name, Answer::Nothing, json!({}));
        assert_printed(name, deny(), denied("no"));
    }
    assert_printed(&shell, ask(), json!({"permission": "ask", "user_message": "why"}));
    for name in [&before, &mcp, &read] {
        assert_printed(name, ask(), denied("needs approval, but Cursor cannot ask about it: why"));
    }
    assert_printed(&before, note(), json!({"permission": "allow", "additional_context": "note"}));
    assert_printed(&shell, note(), json!({"permission": "allow"}));
    assert_printed(
        &before,
        rewrite(r#"{"command":"true"}"#),
        json!({"permission": "allow", "updated_input": {"command": "true"}}),
    );
}

#[test]
fn calls_of_mcp_servers_name_server_and_tool() {
    let tool = Some(McpTool { server: "github".to_owned(), tool: "create_issue".to_owned() });
    assert_eq!(event("gemini/0.61.0/before_mcp").mcp, tool);
    let cursor = event("cursor/1.0.32/mcp_issue");
    assert_eq!((cursor.mcp, cursor.tool.as_str()), (tool, "MCP:create_issue"));
    assert_eq!(Value::from(cursor.input), json!({"title": "Cart shows no shipping"}));
}

#[test]
fn events_have_the_input_and_the_caller_of_their_call() {
    let patch = event("codex/0.169/before_patch_by_subagent");
    let kind = Some("worker".to_owned());
    assert_eq!(patch.caller, Some(Caller { id: "019a7c60".to_owned(), kind }));
    assert!(event("codex/0.169/before_mcp_without_arguments").input.is_empty());
    let create = event("copilot/1.0.102/before_create_with_text_arguments");
    assert_eq!(create.input["file_text"], "# Notes\n");
    let shell = event("cursor/1.0.32/shell_npm");
    assert_eq!(Value::from(shell.input), json!({"command": "npm test", "sandbox": false}));
    let read = event("cursor/1.0.32/read_cart");
    assert_eq!(
        Value::from(read.input),
        json!({"file_path": "/home/ada/shop/src/cart.ts", "attachments": []})
    );
    assert_eq!(event("opencode/1.18.33/after_bash").output.unwrap()["output"], "12 passing\n");
}
