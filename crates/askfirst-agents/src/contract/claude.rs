//! The contract of Claude Code, which Qwen Code shares. A hook of Qwen Code cannot change the input of a call.
//!
//! An `allow` skips its prompt, but neither its deny rules nor its ask rules. Exit code 2 blocks, with the reason on
//! standard error. Every other failure lets the call run, unless the hook has `onFailure: block`.

use serde_json::{Map, Value, json};

use super::ContractError;
use super::fields::Fields;
use crate::agent::Agent;
use crate::answer::{Answer, Reply, readable};
use crate::event::{HookEvent, Moment};

const MOMENTS: [(&str, Moment); 4] = [
    ("PreToolUse", Moment::BeforeCall),
    ("PermissionRequest", Moment::PermissionRequest),
    ("PostToolUse", Moment::AfterCall),
    ("SessionEnd", Moment::SessionEnd),
];

pub(super) fn read(agent: Agent, fields: Fields) -> Result<HookEvent, ContractError> {
    fields.event(agent, &MOMENTS)
}

pub(super) fn write(moment: Moment, answer: Answer) -> Reply {
    if moment == Moment::PermissionRequest { permission(answer) } else { before_call(answer) }
}

fn before_call(answer: Answer) -> Reply {
    let mut output = Map::from_iter([("hookEventName".to_owned(), Value::from("PreToolUse"))]);
    let mut set = |key: &str, value: Value| output.insert(key.to_owned(), value);
    match answer {
        Answer::Allow { input, context } => {
            set("permissionDecision", "allow".into());
            input.map(|input| set("updatedInput", input.into()));
            context.map(|context| set("additionalContext", context.into()));
        }
        Answer::Ask { reason } => {
            set("permissionDecision", "ask".into());
            set("permissionDecisionReason", readable(&reason).into());
        }
        Answer::Deny { reason } => {
            set("permissionDecision", "deny".into());
            set("permissionDecisionReason", readable(&reason).into());
        }
        Answer::Nothing => return Reply::silent(),
    }
    Reply::json(&json!({"hookSpecificOutput": output}))
}

/// Silence leaves the question to the prompt of Claude Code, which is about to open.
fn permission(answer: Answer) -> Reply {
    let decision = match answer {
        Answer::Allow { input: None, context: _ } => json!({"behavior": "allow"}),
        Answer::Allow { input: Some(input), context: _ } => {
            json!({"behavior": "allow", "updatedInput": input})
        }
        Answer::Deny { reason } => json!({"behavior": "deny", "message": readable(&reason)}),
        Answer::Ask { reason: _ } | Answer::Nothing => return Reply::silent(),
    };
    Reply::json(&json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}))
}
