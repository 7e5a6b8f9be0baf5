//! The contract of Gemini CLI.
//!
//! An `allow` skips neither its policy nor its prompts, so silence allows a call. An `ask` hangs without a terminal,
//! so askfirst never sends it. Gemini CLI merges a new input over the old one, so a rewrite cannot remove an argument.

use askfirst::Args;
use serde_json::json;

use super::ContractError;
use super::fields::{Fields, wrong_type};
use crate::agent::Agent;
use crate::answer::{Answer, Reply, readable};
use crate::event::{HookEvent, McpTool, Moment};

const MOMENTS: [(&str, Moment); 3] = [
    ("BeforeTool", Moment::BeforeCall),
    ("AfterTool", Moment::AfterCall),
    ("SessionEnd", Moment::SessionEnd),
];

pub(super) fn read(mut fields: Fields) -> Result<HookEvent, ContractError> {
    let mcp = match fields.0.remove("mcp_context") {
        None => None,
        Some(context) => {
            let context =
                context.as_object().ok_or_else(|| wrong_type("mcp_context", "an object", &context))?;
            let context = Fields(context.clone());
            Some(McpTool { server: context.name("server_name")?, tool: context.name("tool_name")? })
        }
    };
    Ok(HookEvent { mcp, ..fields.event(Agent::Gemini, &MOMENTS)? })
}

pub(super) fn write(old: &Args, answer: Answer) -> Reply {
    let deny = |reason: &str| Reply::json(&json!({"decision": "deny", "reason": readable(reason)}));
    match answer {
        Answer::Nothing | Answer::Allow { input: None, .. } => Reply::silent(),
        Answer::Allow { input: Some(input), .. } if old.keys().all(|key| input.contains_key(key)) => {
            let output = json!({"hookEventName": "BeforeTool", "tool_input": input});
            Reply::json(&json!({"decision": "allow", "hookSpecificOutput": output}))
        }
        Answer::Allow { input: Some(_), .. } => deny("Gemini CLI cannot remove an argument of a call"),
        Answer::Ask { reason } | Answer::Deny { reason } => deny(&reason),
    }
}
