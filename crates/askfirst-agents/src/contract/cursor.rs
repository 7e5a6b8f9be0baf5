//! The contract of Cursor.
//!
//! Cursor has an event for each kind of call, and `preToolUse` for all of them. Only the event before a shell command
//! can ask. Exit code 2 denies at each. An object without `permission` is an answer without an opinion, while empty
//! output is a fault of the hook.

use askfirst::Args;
use serde_json::{Value, json};

use super::fields::{Fields, invalid, wrong_type};
use super::{ContractError, parse};
use crate::agent::Agent;
use crate::answer::{Answer, Reply, readable};
use crate::event::{HookEvent, McpTool, Moment};

pub(super) fn read(mut fields: Fields) -> Result<HookEvent, ContractError> {
    let name = fields.name("hook_event_name")?;
    let (moment, tool, input, mcp) = match name.as_str() {
        "preToolUse" => (Moment::BeforeCall, fields.name("tool_name")?, fields.object("tool_input")?, None),
        "beforeShellExecution" => {
            (Moment::BeforeShell, "Shell".to_owned(), take(&mut fields, &["command", "sandbox"])?, None)
        }
        "beforeReadFile" => {
            (Moment::BeforeRead, "Read".to_owned(), take(&mut fields, &["file_path", "attachments"])?, None)
        }
        "beforeMCPExecution" => {
            let tool = fields.name("tool_name")?;
            let input = match fields.0.remove("tool_input") {
                None => return Err(ContractError::Missing("tool_input")),
                Some(Value::String(text)) => parse(text.as_bytes())?,
                Some(other) => return Err(wrong_type("tool_input", "a string", &other)),
            };
            let server = fields.optional_name("mcp_server_name")?;
            let mcp = server.map(|server| McpTool { server, tool: tool.clone() });
            (Moment::BeforeMcp, format!("MCP:{tool}"), input, mcp)
        }
        _ => return Err(ContractError::UnknownEvent(name)),
    };
    let has_no_cwd = matches!(moment, Moment::BeforeMcp | Moment::BeforeRead);
    let cwd = if has_no_cwd { first_root(&fields)? } else { fields.folder("cwd")? };
    Ok(HookEvent {
        agent: Agent::Cursor,
        moment,
        session: fields.name("session_id")?,
        use_id: fields.optional_name("tool_use_id")?,
        cwd,
        tool,
        input,
        caller: None,
        mcp,
        output: None,
    })
}

/// Takes fields of the event as the input of a call. The first one is required.
fn take(fields: &mut Fields, names: &[&'static str]) -> Result<Args, ContractError> {
    let found = names.iter().filter_map(|name| Some(((*name).to_owned(), fields.0.remove(*name)?)));
    let input: Args = found.collect();
    match names.first() {
        Some(name) if !input.contains_key(*name) => Err(ContractError::Missing(name)),
        Some(_) | None => Ok(input),
    }
}

fn first_root(fields: &Fields) -> Result<String, ContractError> {
    const FIELD: &str = "workspace_roots";
    let roots = fields.0.get(FIELD).ok_or(ContractError::Missing(FIELD))?;
    let root = roots.as_array().and_then(|roots| roots.first()).and_then(Value::as_str);
    let root = root.filter(|root| root.starts_with('/') && !root.chars().any(char::is_control));
    root.map(str::to_owned).ok_or_else(|| invalid(FIELD, "must be a list of absolute paths"))
}

pub(super) fn write(moment: Moment, answer: Answer) -> Reply {
    Reply::json(&match answer {
        Answer::Nothing => json!({}),
        Answer::Allow { input: None, context: None } => json!({"permission": "allow"}),
        Answer::Allow { input: None, context: Some(_) } if moment != Moment::BeforeCall => {
            json!({"permission": "allow"})
        }
        Answer::Allow { input: None, context: Some(context) } => {
            json!({"permission": "allow", "additional_context": context})
        }
        Answer::Allow { input: Some(input), context: None } => {
            json!({"permission": "allow", "updated_input": input})
        }
        Answer::Allow { input: Some(input), context: Some(context) } => {
            json!({"permission": "allow", "updated_input": input, "additional_context": context})
        }
        Answer::Ask { reason } if moment == Moment::BeforeShell => {
            json!({"permission": "ask", "user_message": readable(&reason)})
        }
        Answer::Ask { reason } | Answer::Deny { reason } => {
            let text = readable(&reason);
            json!({"permission": "deny", "user_message": text, "agent_message": text})
        }
    })
}
