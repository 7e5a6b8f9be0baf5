//! The contract of Claude Code.

use askfirst::json::parse_object;
use askfirst_agents::{Answer, Caller, Reply, write};
use serde_json::{Value, json};

use super::fixtures::event;

const BASH: &str = "claude/2.1.325/before_bash";
const PERMISSION: &str = "claude/2.1.325/permission_bash";

/// The document that a hook prints for an answer.
fn printed(name: &str, answer: Answer) -> Value {
    let reply = write(&event(name), answer);
    assert_eq!((reply.code, reply.stderr.as_str()), (0, ""), "{reply:?}");
    serde_json::from_str(&reply.stdout).unwrap()
}

fn ask(reason: &str) -> Answer {
    Answer::Ask { reason: reason.to_owned() }
}

fn deny(reason: &str) -> Answer {
    Answer::Deny { reason: reason.to_owned() }
}

fn allow_with_input() -> Answer {
    Answer::Allow { input: Some(parse_object(br#"{"command":"true"}"#).unwrap()), context: None }
}

#[test]
fn event_before_a_call_has_all_fields_of_claude() {
    let bash = event(BASH);
    assert_eq!(bash.session, "9a4d1c7e-6b0f-4a52-8f13-2d0f5a3c9b11");
    assert_eq!(bash.use_id.as_deref(), Some("toolu_01A09q90qw90lq917835lq9"));
    assert_eq!((bash.cwd.as_str(), bash.tool.as_str()), ("/home/ada/shop", "Bash"));
    assert_eq!(
        Value::from(bash.input),
        json!({"command": "npm test", "description": "Run the tests", "timeout": 120_000})
    );
    assert_eq!(bash.caller, None);
    let edit = event("claude/2.1.325/before_edit_by_subagent");
    let kind = Some("general-purpose".to_owned());
    assert_eq!(edit.caller, Some(Caller { id: "agent-7f3e".to_owned(), kind }));
    assert_eq!(event("claude/2.1.325/after_bash").output.unwrap()["stdout"], "12 passing\n");
}

#[test]
fn answers_before_a_call_have_the_form_of_claude() {
    let output = |fields: Value| json!({"hookSpecificOutput": fields});
    assert_eq!(
        printed(BASH, Answer::ALLOW),
        output(json!({"hookEventName": "PreToolUse", "permissionDecision": "allow"}))
    );
    assert_eq!(
        printed(BASH, Answer::Allow { input: None, context: Some("It ran in a sandbox.".to_owned()) }),
        output(json!({
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "additionalContext": "It ran in a sandbox.",
        }))
    );
    assert_eq!(
        printed(BASH, allow_with_input()),
        output(json!({
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "updatedInput": {"command": "true"},
        }))
    );
    for (answer, word) in [(ask("no rule allows it"), "ask"), (deny("no rule allows it"), "deny")] {
        assert_eq!(
            printed(BASH, answer),
            output(json!({
                "hookEventName": "PreToolUse",
                "permissionDecision": word,
                "permissionDecisionReason": "no rule allows it",
            }))
        );
    }
    assert_eq!(write(&event(BASH), Answer::Nothing), Reply::silent());
}

#[test]
fn answers_to_a_permission_request_have_the_form_of_claude() {
    let decision = |fields: Value| json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": fields}});
    assert_eq!(printed(PERMISSION, Answer::ALLOW), decision(json!({"behavior": "allow"})));
    assert_eq!(
        printed(PERMISSION, allow_with_input()),
        decision(json!({"behavior": "allow", "updatedInput": {"command": "true"}}))
    );
    assert_eq!(
        printed(PERMISSION, deny("not today")),
        decision(json!({"behavior": "deny", "message": "not today"}))
    );
    assert_eq!(write(&event(PERMISSION), ask("why")), Reply::silent());
}

#[test]
fn denial_without_a_reason_gets_one() {
    for reason in ["", " \n"] {
        let printed = printed(BASH, deny(reason));
        let reason = &printed["hookSpecificOutput"]["permissionDecisionReason"];
        assert_eq!(reason, "askfirst denied this call");
    }
}
