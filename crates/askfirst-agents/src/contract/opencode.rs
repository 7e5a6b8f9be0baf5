//! The contract with the plugin of askfirst in opencode.
//!
//! opencode has no hooks, so a plugin starts `askfirst hook opencode` and writes an event:
//!
//! ```json
//! {"version": 1, "event": "tool.execute.before", "session": "…", "call": "…", "cwd": "/…", "tool": "bash", "args": {}}
//! ```
//!
//! The events `tool.execute.after`, with `output`, and `session.deleted` have the same fields. The plugin throws unless
//! the hook ends with code 0 and `{"version": 1, "decision": "allow"}`. With `args`, it replaces the arguments of the
//! call. It throws `reason`, or else the text on standard error. An allowed call still follows opencode's own rules.

use askfirst::Args;
use serde_json::{Value, json};

use super::ContractError;
use super::fields::Fields;
use crate::agent::Agent;
use crate::answer::{Answer, Reply, readable};
use crate::event::{HookEvent, Moment};

/// The version of the events and answers.
const VERSION: u64 = 1;

pub(super) fn read(mut fields: Fields) -> Result<HookEvent, ContractError> {
    if fields.0.get("version").and_then(Value::as_u64) != Some(VERSION) {
        return Err(ContractError::UnknownVersion(Agent::Opencode));
    }
    let name = fields.name("event")?;
    let moment = match name.as_str() {
        "tool.execute.before" => Moment::BeforeCall,
        "tool.execute.after" => Moment::AfterCall,
        "session.deleted" => Moment::SessionEnd,
        _ => return Err(ContractError::UnknownEvent(name)),
    };
    let (tool, input) = if moment == Moment::SessionEnd {
        (String::new(), Args::new())
    } else {
        (fields.name("tool")?, fields.object("args")?)
    };
    Ok(HookEvent {
        agent: Agent::Opencode,
        moment,
        session: fields.name("session")?,
        use_id: fields.optional_name("call")?,
        cwd: fields.folder("cwd")?,
        tool,
        input,
        caller: None,
        mcp: None,
        output: fields.0.remove("output").filter(|_| moment == Moment::AfterCall),
    })
}

pub(super) fn write(answer: Answer) -> Reply {
    Reply::json(&match answer {
        Answer::Nothing | Answer::Allow { input: None, .. } => {
            json!({"version": VERSION, "decision": "allow"})
        }
        Answer::Allow { input: Some(input), .. } => {
            json!({"version": VERSION, "decision": "allow", "args": input})
        }
        Answer::Ask { reason } | Answer::Deny { reason } => {
            json!({"version": VERSION, "decision": "deny", "reason": readable(&reason)})
        }
    })
}
