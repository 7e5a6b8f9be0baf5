//! Maps a call of an agent to calls of askfirst's tools, so that one policy covers all agents.
//!
//! askfirst maps a call only if it knows every field of its input. Any other call keeps the agent's name for its tool and
//! its whole input, so that nothing in it is hidden.

mod fetch;
mod files;
mod names;
mod patch;
mod shell;

use askfirst::{ApprovalContext, Args, Fact};
use serde_json::Value;

use crate::agent::Agent;
use crate::event::HookEvent;

pub use patch::UpdateError;

/// A call of an agent in terms of askfirst.
#[derive(Debug, Clone, PartialEq)]
pub enum Mapping {
    /// The steps that do the same, in order. The agent's call may run only if each of them may.
    Known(Vec<Step>),
    /// The call has the agent's name for its tool, and the agent's input.
    Unknown(Box<ApprovalContext>),
}

/// A part of a mapped call.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A call of a tool, with facts about it.
    Call(ApprovalContext, Vec<Fact>),
    /// A change of a file that depends on its content.
    Update(FileUpdate),
}

/// A change of a text file that depends on its content.
#[derive(Debug, Clone, PartialEq)]
pub struct FileUpdate {
    path: String,
    to: Option<String>,
    change: FileChange,
    /// A call without tool and arguments, with the metadata of the agent's call.
    origin: ApprovalContext,
}

#[derive(Debug, Clone, PartialEq)]
enum FileChange {
    Edits(Vec<files::Edit>),
    Patch(Vec<patch::Chunk>),
}

impl FileUpdate {
    /// Returns the absolute path of the file.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the absolute paths that change: that of the file, and the one that it moves to.
    pub fn paths(&self) -> impl Iterator<Item = &str> + Clone {
        [Some(&self.path), self.to.as_ref()].into_iter().flatten().map(String::as_str)
    }

    /// Returns the calls that change the file, whose content is `current`.
    ///
    /// # Errors
    /// Fails if the change does not fit the content, or if versions of the agent would make different changes.
    pub fn calls(&self, current: &str) -> Result<Vec<ApprovalContext>, UpdateError> {
        let content = match &self.change {
            FileChange::Edits(edits) => files::apply(edits, current)?,
            FileChange::Patch(chunks) => patch::apply(chunks, current)?,
        };
        let call = |tool: &str, args: Vec<(&str, Value)>| ApprovalContext {
            tool_name: tool.to_owned(),
            args: arguments(args),
            ..self.origin.clone()
        };
        let written = self.to.as_ref().unwrap_or(&self.path).as_str();
        let write = call("write_file", vec![("path", written.into()), ("content", content.into())]);
        Ok(match &self.to {
            None => vec![write],
            Some(to) => {
                let path = self.path.as_str().into();
                let args = vec![("path", path), ("to", to.as_str().into()), ("overwrite", true.into())];
                vec![call("move_file", args), write]
            }
        })
    }
}

/// Maps the call of an event.
#[must_use]
pub fn map(event: &HookEvent) -> Mapping {
    if let Some(tool) = names::of_mcp(event) {
        return Mapping::Known(vec![Step::Call(call(event, &tool, event.input.clone()), Vec::new())]);
    }
    // The tool of a server is no tool of the agent, whatever its name.
    if event.mcp.is_some() {
        return Mapping::Unknown(Box::new(under_own_name(event)));
    }
    let known = shell::map(event).or_else(|| files::map(event)).or_else(|| fetch::map(event));
    known.map_or_else(|| Mapping::Unknown(Box::new(under_own_name(event))), Mapping::Known)
}

/// Whether askfirst maps calls of this tool if it knows their form.
#[must_use]
pub fn is_mapped(event: &HookEvent) -> bool {
    shell::is_mapped(event) || files::is_mapped(event) || fetch::is_mapped(event)
}

/// Returns the call with the agent's name for its tool, and the agent's whole input.
#[must_use]
pub fn under_own_name(event: &HookEvent) -> ApprovalContext {
    call(event, &names::own(event.agent, &event.tool), event.input.clone())
        .with_metadata("cwd", event.cwd.as_str())
}

/// Translates a mapped shell call with other arguments back to the agent's input.
///
/// Returns `None` if the event is no shell command, or if the agent cannot express the change.
#[must_use]
pub fn rewritten(event: &HookEvent, args: &Args) -> Option<Args> {
    let Mapping::Known(steps) = map(event) else { return None };
    let [Step::Call(call, _)] = steps.as_slice() else { return None };
    let command = args.get("command").filter(|command| command.is_string())?;
    let mut expected = call.args.clone();
    expected.insert("command".to_owned(), command.clone());
    if call.tool_name != "shell" || expected != *args {
        return None;
    }
    let mut input = event.input.clone();
    input.insert("command".to_owned(), command.clone());
    Some(input)
}

/// Creates a call with the metadata of the event.
fn call(event: &HookEvent, tool: &str, args: Args) -> ApprovalContext {
    let caller = match &event.caller {
        None => event.agent.name().to_owned(),
        Some(caller) => {
            let kind = caller.kind.as_deref().unwrap_or("sub-agent");
            format!("{} > {kind} {}", event.agent, caller.id)
        }
    };
    let call = ApprovalContext::new(tool, args)
        .with_metadata("session_id", event.session.as_str())
        .with_metadata("caller", caller);
    match &event.use_id {
        Some(id) => call.with_metadata("tool_call_id", id.as_str()),
        None => call,
    }
}

fn arguments(fields: Vec<(&str, Value)>) -> Args {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns the absolute path that an agent means, if all agents mean the same by it.
///
/// Agents trim paths, and some expand `~`, read URLs, drop `@` or compose characters.
fn absolute(cwd: &str, path: &str) -> Option<String> {
    let is_composed = |c: char| matches!(c, '\u{300}'..='\u{36f}' | '\u{1100}'..='\u{11ff}' | '\u{3099}' | '\u{309a}' | '\u{2126}'..='\u{212b}');
    let is_plain = !path.is_empty()
        && path.trim() == path
        // JavaScript trims this one as well.
        && !path.contains('\u{feff}')
        && !path.starts_with(['~', '@'])
        && !path.contains("://")
        && !path.starts_with("file:")
        && !path.chars().any(|c| c.is_control() || is_composed(c));
    match (is_plain, path.starts_with('/')) {
        (false, _) => None,
        (true, true) => Some(path.to_owned()),
        (true, false) => Some(format!("{}/{path}", cwd.trim_end_matches('/'))),
    }
}

/// The input of a call, of which every field must be taken.
struct Input<'a> {
    agent: Agent,
    cwd: &'a str,
    left: Args,
}

impl<'a> Input<'a> {
    fn new(event: &'a HookEvent) -> Self {
        Self { agent: event.agent, cwd: &event.cwd, left: event.input.clone() }
    }

    /// Takes a required text.
    fn text(&mut self, key: &str) -> Option<String> {
        match self.left.remove(key)? {
            Value::String(text) => Some(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Takes a required path.
    fn path(&mut self, key: &str) -> Option<String> {
        let path = self.text(key)?;
        absolute(self.cwd, &path)
    }

    /// Takes a flag. A missing one is off.
    fn flag(&mut self, key: &str) -> Option<bool> {
        match self.left.remove(key) {
            None | Some(Value::Null) => Some(false),
            Some(Value::Bool(flag)) => Some(flag),
            Some(Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => None,
        }
    }

    /// Drops fields that cannot change the effect of the call.
    fn ignore(&mut self, keys: &[&str]) {
        self.left.retain(|key, _| !keys.contains(&key.as_str()));
    }

    /// Returns `None` if a field is left.
    fn end(self) -> Option<()> {
        self.left.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests;
