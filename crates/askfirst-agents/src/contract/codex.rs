//! The contract of Codex.
//!
//! Codex rejects every field and value that it does not know, and then runs the call. It rejects `ask`, and `allow`
//! without a new input, so silence allows a call before it runs. Silence at a permission request leaves the answer to
//! Codex, where another model may give it.

use serde_json::{Map, Value, json};

use super::ContractError;
use super::fields::Fields;
use crate::agent::Agent;
use crate::answer::{Answer, Reply, readable};
use crate::event::{HookEvent, Moment};

const MOMENTS: [(&str, Moment); 3] = [
    ("PreToolUse", Moment::BeforeCall),
    ("PermissionRequest", Moment::PermissionRequest),
    ("PostToolUse", Moment::AfterCall),
];

pub(super) fn read(fields: Fields) -> Result<HookEvent, ContractError> {
    fields.event(Agent::Codex, &MOMENTS)
}

pub(super) fn write(moment: Moment, answer: Answer) -> Reply {
    if moment == Moment::PermissionRequest { permission(answer) } else { before_call(answer) }
}

fn before_call(answer: Answer) -> Reply {
    let mut output = Map::from_iter([("hookEventName".to_owned(), Value::from("PreToolUse"))]);
    let mut set = |key: &str, value: Value| output.insert(key.to_owned(), value);
    match answer {
        Answer::Nothing | Answer::Allow { input: None, context: None } => return Reply::silent(),
        Answer::Allow { input, context } => {
            if let Some(input) = input {
                set("permissionDecision", "allow".into());
                set("updatedInput", input.into());
            }
            context.map(|context| set("additionalContext", context.into()));
        }
        Answer::Ask { reason } | Answer::Deny { reason } => {
            set("permissionDecision", "deny".into());
            set("permissionDecisionReason", readable(&reason).into());
        }
    }
    Reply::json(&json!({"hookSpecificOutput": output}))
}

fn permission(answer: Answer) -> Reply {
    let decision = match answer {
        Answer::Nothing => return Reply::silent(),
        Answer::Allow { .. } => json!({"behavior": "allow"}),
        Answer::Ask { reason } | Answer::Deny { reason } => {
            json!({"behavior": "deny", "message": readable(&reason)})
        }
    };
    Reply::json(&json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}))
}
