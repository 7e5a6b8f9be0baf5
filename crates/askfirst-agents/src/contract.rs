//! Reads the events of every agent, and writes the answers in the form that each agent obeys.
//!
//! - An event that cannot be read is an error, and [`refusal`] denies its call.
//! - An answer that an agent cannot express becomes a stricter one.
//! - A denial is never written as silence.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod fields;
mod gemini;
mod opencode;

use askfirst::Args;
use askfirst::json::{self, JsonFault};
use serde_json::Value;

use crate::agent::Agent;
use crate::answer::{Answer, Reply};
use crate::event::HookEvent;
use fields::Fields;

/// The largest event that askfirst reads, in bytes.
pub const MAX_EVENT: usize = 16 << 20;

/// The reason why askfirst cannot read an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// The event is too long.
    #[error("the event has more than {MAX_EVENT} bytes")]
    TooLarge,
    /// The event is not one strict JSON document.
    #[error("the event is not valid JSON: {0}")]
    Json(#[from] JsonFault),
    /// A key contains a character that a screen does not show.
    #[error("a key of the event contains a control character")]
    ControlInKey,
    /// A field is missing.
    #[error("the event has no `{0}`")]
    Missing(&'static str),
    /// A field has the wrong type.
    #[error("`{field}` must be {expected}, not {found}")]
    WrongType {
        /// The field.
        field: &'static str,
        /// The type that the contract names.
        expected: &'static str,
        /// The type in the event.
        found: &'static str,
    },
    /// A field has a value that no agent writes.
    #[error("`{field}` {fault}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// The fault of its value.
        fault: &'static str,
    },
    /// The event has a version that askfirst does not know.
    #[error("unknown version of the event; hint: run `askfirst hook install {0}` again")]
    UnknownVersion(Agent),
    /// The event has a name that askfirst does not know.
    #[error("unknown event `{}`", .0.escape_debug())]
    UnknownEvent(String),
}

/// Reads an event.
///
/// # Errors
/// Fails on anything that the contract of this agent does not describe. The call must then be denied: see [`refusal`].
pub fn read(agent: Agent, bytes: &[u8]) -> Result<HookEvent, ContractError> {
    if bytes.len() > MAX_EVENT {
        return Err(ContractError::TooLarge);
    }
    let fields = Fields(parse(bytes)?);
    match agent {
        Agent::Claude | Agent::Qwen => claude::read(agent, fields),
        Agent::Codex => codex::read(fields),
        Agent::Gemini => gemini::read(fields),
        Agent::Copilot => copilot::read(fields),
        Agent::Opencode => opencode::read(fields),
        Agent::Cursor => cursor::read(fields),
    }
}

/// Writes the answer to an event in the form that its agent obeys.
#[must_use]
pub fn write(event: &HookEvent, answer: Answer) -> Reply {
    let answer = expressible(event, answer);
    if !event.moment.decides() {
        return match answer {
            Answer::Allow { .. } | Answer::Nothing => Reply::silent(),
            Answer::Ask { reason } | Answer::Deny { reason } => refusal(&reason),
        };
    }
    match event.agent {
        Agent::Claude | Agent::Qwen => claude::write(event.moment, answer),
        Agent::Codex => codex::write(event.moment, answer),
        Agent::Gemini => gemini::write(&event.input, answer),
        Agent::Copilot => copilot::write(event.moment, answer),
        Agent::Opencode => opencode::write(answer),
        Agent::Cursor => cursor::write(event.moment, answer),
    }
}

/// Returns the answer itself, or a denial if the agent cannot express it.
fn expressible(event: &HookEvent, answer: Answer) -> Answer {
    let facts = event.agent.facts();
    match answer {
        Answer::Ask { reason } if !facts.can_ask.contains(&event.moment) => Answer::Deny {
            reason: format!("needs approval, but {} cannot ask about it: {reason}", facts.title),
        },
        Answer::Allow { input: Some(_), .. } if !facts.can_rewrite_input.contains(&event.moment) => {
            Answer::Deny { reason: format!("{} cannot run this call in another way", facts.title) }
        }
        Answer::Allow { .. } | Answer::Ask { .. } | Answer::Deny { .. } | Answer::Nothing => answer,
    }
}

/// Denies a call whose event cannot be read. Exit code 2 with a reason blocks in every agent, at every moment.
#[must_use]
pub fn refusal(reason: &str) -> Reply {
    Reply::blocked(reason)
}

/// Parses one JSON object without control characters in its keys.
fn parse(bytes: &[u8]) -> Result<Args, ContractError> {
    let map = json::parse_object(bytes)?;
    if map.iter().any(|(key, value)| has_control(key) || has_control_in_key(value)) {
        return Err(ContractError::ControlInKey);
    }
    Ok(map)
}

fn has_control(key: &str) -> bool {
    key.chars().any(char::is_control)
}

fn has_control_in_key(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| has_control(key) || has_control_in_key(value)),
        Value::Array(items) => items.iter().any(has_control_in_key),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
