//! Reads single fields of an event, and reports missing fields and wrong types.

use askfirst::Args;
use askfirst::json::kind;
use serde_json::Value;

use super::ContractError;
use crate::agent::Agent;
use crate::event::{Caller, HookEvent, Moment};

/// The longest name or id in an event, in bytes. A path may be longer.
const MAX_NAME: usize = 1024;

/// The longest working directory, in bytes.
const MAX_PATH: usize = 4096;

/// The fields of an event.
pub(super) struct Fields(pub(super) Args);

impl Fields {
    /// Returns a name or id: a short text of visible characters.
    pub(super) fn name(&self, field: &'static str) -> Result<String, ContractError> {
        self.optional_name(field)?.ok_or(ContractError::Missing(field))
    }

    pub(super) fn optional_name(&self, field: &'static str) -> Result<Option<String>, ContractError> {
        self.line(field, MAX_NAME)
    }

    /// Returns a working directory.
    pub(super) fn folder(&self, field: &'static str) -> Result<String, ContractError> {
        let path = self.line(field, MAX_PATH)?.ok_or(ContractError::Missing(field))?;
        if path.starts_with('/') { Ok(path) } else { Err(invalid(field, "must be an absolute path")) }
    }

    fn line(&self, field: &'static str, longest: usize) -> Result<Option<String>, ContractError> {
        let text = match self.0.get(field) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) => text,
            Some(other) => return Err(wrong_type(field, "a string", other)),
        };
        match text.as_str() {
            "" => Err(invalid(field, "must not be empty")),
            text if text.len() > longest => Err(invalid(field, "is too long")),
            text if text.chars().any(char::is_control) => {
                Err(invalid(field, "must not contain control characters"))
            }
            text => Ok(Some(text.to_owned())),
        }
    }

    /// Takes a field that must be an object.
    pub(super) fn object(&mut self, field: &'static str) -> Result<Args, ContractError> {
        match self.0.remove(field) {
            None => Err(ContractError::Missing(field)),
            // A tool without arguments.
            Some(Value::Null) => Ok(Args::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(other) => Err(wrong_type(field, "an object", &other)),
        }
    }

    /// Reads an event with the field names of Claude Code, which other agents use as well.
    pub(super) fn event(
        mut self,
        agent: Agent,
        moments: &[(&str, Moment)],
    ) -> Result<HookEvent, ContractError> {
        let name = self.name("hook_event_name")?;
        let moment = moments.iter().find(|(known, _)| *known == name);
        let moment = moment.map(|(_, moment)| *moment).ok_or(ContractError::UnknownEvent(name))?;
        let (tool, input) = if moment == Moment::SessionEnd {
            (String::new(), Args::new())
        } else {
            (self.name("tool_name")?, self.object("tool_input")?)
        };
        let kind = self.optional_name("agent_type")?;
        let output = self.0.remove("tool_response").filter(|_| moment == Moment::AfterCall);
        Ok(HookEvent {
            agent,
            moment,
            session: self.name("session_id")?,
            use_id: self.optional_name("tool_use_id")?,
            cwd: self.folder("cwd")?,
            tool,
            input,
            caller: self.optional_name("agent_id")?.map(|id| Caller { id, kind }),
            mcp: None,
            output,
        })
    }
}

pub(super) fn invalid(field: &'static str, fault: &'static str) -> ContractError {
    ContractError::Invalid { field, fault }
}

pub(super) fn wrong_type(field: &'static str, expected: &'static str, found: &Value) -> ContractError {
    ContractError::WrongType { field, expected, found: kind(found) }
}
