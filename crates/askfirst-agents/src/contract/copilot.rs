//! The contract of Copilot CLI.
//!
//! Events before a call have no name. Permission requests have one, and only changes of files cause them after askfirst
//! allowed a call. They have the diff instead of the input, so askfirst leaves them to Copilot CLI.
//! Copilot CLI denies on exit code 2 at both, so a denial has that code too.

use askfirst::Args;
use serde_json::{Value, json};

use super::fields::{Fields, wrong_type};
use super::{ContractError, parse};
use crate::agent::Agent;
use crate::answer::{Answer, Reply, readable};
use crate::event::{HookEvent, Moment};

pub(super) fn read(mut fields: Fields) -> Result<HookEvent, ContractError> {
    let (moment, arguments) = match fields.optional_name("hookName")? {
        None => (Moment::BeforeCall, "toolArgs"),
        Some(name) if name == "permissionRequest" => (Moment::PermissionRequest, "toolInput"),
        Some(name) => return Err(ContractError::UnknownEvent(name)),
    };
    let input = match fields.0.remove(arguments) {
        None => return Err(ContractError::Missing(arguments)),
        Some(Value::Null) => Args::new(),
        Some(Value::Object(map)) => map,
        Some(Value::String(text)) => parse(text.as_bytes())?,
        Some(other) => return Err(wrong_type(arguments, "an object", &other)),
    };
    Ok(HookEvent {
        agent: Agent::Copilot,
        moment,
        session: fields.name("sessionId")?,
        use_id: None,
        cwd: fields.folder("cwd")?,
        tool: fields.name("toolName")?,
        input,
        caller: None,
        mcp: None,
        output: None,
    })
}

pub(super) fn write(moment: Moment, answer: Answer) -> Reply {
    let before_call = moment == Moment::BeforeCall;
    match answer {
        Answer::Nothing => Reply::silent(),
        Answer::Allow { input: Some(input), .. } => {
            Reply::json(&json!({"permissionDecision": "allow", "modifiedArgs": input}))
        }
        Answer::Allow { input: None, .. } if before_call => {
            Reply::json(&json!({"permissionDecision": "allow"}))
        }
        Answer::Allow { input: None, .. } => Reply::json(&json!({"behavior": "allow"})),
        Answer::Ask { reason } if before_call => {
            Reply::json(&json!({"permissionDecision": "ask", "permissionDecisionReason": readable(&reason)}))
        }
        Answer::Ask { reason } | Answer::Deny { reason } => {
            let text = readable(&reason);
            let document = if before_call {
                json!({"permissionDecision": "deny", "permissionDecisionReason": text})
            } else {
                json!({"behavior": "deny", "message": text})
            };
            Reply { stdout: Reply::json(&document).stdout, ..Reply::blocked(&reason) }
        }
    }
}
