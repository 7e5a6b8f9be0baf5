//! Reads, writes and edits of files.
//!
//! Searches are not mapped: the search of an agent reads files that the search of askfirst skips.

use askfirst::Args;
use serde_json::Value;

use super::{FileChange, FileUpdate, Input, Step, UpdateError, arguments, call, patch};
use crate::agent::Agent;
use crate::event::HookEvent;

/// The most bytes of a text after edits. A few replacements could otherwise use up the memory.
const MAX_TEXT: usize = 64 << 20;

/// An exact replacement in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edit {
    old: String,
    new: String,
    all: bool,
}

/// The names of an agent's tools for files, and of their fields.
struct FileTools {
    read: &'static str,
    write: &'static str,
    edit: &'static str,
    path: &'static str,
    content: &'static str,
    old: &'static str,
    new: &'static str,
    /// The flag of an edit that replaces all occurrences.
    all: &'static str,
    /// The fields of a read that choose a part of the file, and the fields of an edit that only describe it.
    harmless: &'static [&'static str],
}

fn tools(agent: Agent) -> Option<FileTools> {
    let claude = FileTools {
        read: "Read",
        write: "Write",
        edit: "Edit",
        path: "file_path",
        content: "content",
        old: "old_string",
        new: "new_string",
        all: "replace_all",
        harmless: &["offset", "limit", "pages", "allow_large"],
    };
    Some(match agent {
        Agent::Claude => claude,
        Agent::Qwen => FileTools { read: "read_file", write: "write_file", edit: "edit", ..claude },
        Agent::Gemini => FileTools {
            read: "read_file",
            write: "write_file",
            edit: "replace",
            all: "allow_multiple",
            harmless: &["start_line", "end_line", "offset", "limit", "instruction"],
            ..claude
        },
        Agent::Copilot => FileTools {
            read: "view",
            write: "create",
            edit: "edit",
            path: "path",
            content: "file_text",
            old: "old_str",
            new: "new_str",
            all: "",
            harmless: &["view_range", "forceReadLargeFiles"],
        },
        Agent::Opencode => FileTools {
            read: "read",
            write: "write",
            edit: "edit",
            path: "filePath",
            old: "oldString",
            new: "newString",
            all: "replaceAll",
            ..claude
        },
        // Only the event before it reads a file has known fields.
        Agent::Cursor => FileTools { write: "", edit: "", harmless: &[], ..claude },
        Agent::Codex => return None,
    })
}

pub(super) fn is_mapped(event: &HookEvent) -> bool {
    let name = event.tool.as_str();
    match event.agent {
        _ if name.is_empty() => false,
        Agent::Codex => name == "apply_patch",
        Agent::Claude if name == "MultiEdit" => true,
        agent => tools(agent).is_some_and(|tools| [tools.read, tools.write, tools.edit].contains(&name)),
    }
}

pub(super) fn map(event: &HookEvent) -> Option<Vec<Step>> {
    match (event.agent, event.tool.as_str()) {
        (_, "") => None,
        (Agent::Codex, "apply_patch") => patched(event),
        (Agent::Claude, "MultiEdit") => multi_edit(event),
        (agent, name) => {
            let tools = tools(agent)?;
            if name == tools.read {
                read(event, &tools)
            } else if name == tools.write {
                write(event, &tools)
            } else if name == tools.edit {
                edit(event, &tools)
            } else {
                None
            }
        }
    }
}

fn step(event: &HookEvent, tool: &str, args: Vec<(&str, Value)>) -> Step {
    Step::Call(call(event, tool, arguments(args)), Vec::new())
}

fn read(event: &HookEvent, tools: &FileTools) -> Option<Vec<Step>> {
    let mut input = Input::new(event);
    let path = input.path(tools.path)?;
    input.ignore(tools.harmless);
    if input.left.get("attachments").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        input.ignore(&["attachments"]);
    }
    input.end()?;
    Some(vec![step(event, "read_file", vec![("path", path.into())])])
}

fn write(event: &HookEvent, tools: &FileTools) -> Option<Vec<Step>> {
    let mut input = Input::new(event);
    let (path, content) = (input.path(tools.path)?, input.text(tools.content)?);
    input.end()?;
    Some(vec![step(event, "write_file", vec![("path", path.into()), ("content", content.into())])])
}

fn edit(event: &HookEvent, tools: &FileTools) -> Option<Vec<Step>> {
    let mut input = Input::new(event);
    let path = input.path(tools.path)?;
    let edit = taken(&mut input, tools)?;
    input.ignore(tools.harmless);
    input.end()?;
    // The agents create a file by an edit of nothing.
    if edit.old.is_empty() {
        return Some(vec![step(
            event,
            "write_file",
            vec![("path", path.into()), ("content", edit.new.into())],
        )]);
    }
    let mut args = vec![("path", path.into()), ("old", edit.old.into()), ("new", edit.new.into())];
    if edit.all {
        args.push(("all", true.into()));
    }
    Some(vec![step(event, "edit_file", args)])
}

/// Takes the fields of an edit.
fn taken(input: &mut Input<'_>, tools: &FileTools) -> Option<Edit> {
    let (old, new, mut all) = (input.text(tools.old)?, input.text(tools.new)?, input.flag(tools.all)?);
    if input.agent == Agent::Gemini {
        match input.left.remove("expected_replacements") {
            None | Some(Value::Null) => {}
            Some(count) => all |= count.as_u64().filter(|count| *count > 0)? > 1,
        }
    }
    Some(Edit { old, new, all })
}

fn multi_edit(event: &HookEvent) -> Option<Vec<Step>> {
    let tools = tools(event.agent)?;
    let mut input = Input::new(event);
    let path = input.path(tools.path)?;
    let Value::Array(items) = input.left.remove("edits")? else { return None };
    input.end()?;
    let mut edits = Vec::new();
    for item in items {
        let Value::Object(left) = item else { return None };
        let mut input = Input { agent: event.agent, cwd: &event.cwd, left };
        edits.push(taken(&mut input, &tools).filter(|edit| !edit.old.is_empty())?);
        input.end()?;
    }
    (!edits.is_empty()).then(|| vec![update(event, path, None, FileChange::Edits(edits))])
}

fn update(event: &HookEvent, path: String, to: Option<String>, change: FileChange) -> Step {
    Step::Update(FileUpdate { path, to, change, origin: call(event, "", Args::new()) })
}

/// Returns the text after edits, one after the other.
pub(super) fn apply(edits: &[Edit], current: &str) -> Result<String, UpdateError> {
    edits.iter().try_fold(current.to_owned(), |text, edit| {
        match (text.matches(&edit.old).count(), edit.all) {
            (0, _) => Err(UpdateError::NotFound),
            (count, _) if text.len().saturating_add(count.saturating_mul(edit.new.len())) > MAX_TEXT => {
                Err(UpdateError::TooLarge)
            }
            (1, false) | (_, true) => Ok(text.replace(&edit.old, &edit.new)),
            (_, false) => Err(UpdateError::Several),
        }
    })
}

fn patched(event: &HookEvent) -> Option<Vec<Step>> {
    let mut input = Input::new(event);
    let text = input.text("command")?;
    input.end()?;
    patch::parse(&text, &event.cwd)?
        .into_iter()
        .map(|file| match file {
            patch::FilePatch::Add { path, content } => {
                Some(step(event, "write_file", vec![("path", path.into()), ("content", content.into())]))
            }
            patch::FilePatch::Delete { path } => {
                Some(step(event, "delete_file", vec![("path", path.into())]))
            }
            patch::FilePatch::Update { path, to, chunks } => {
                Some(update(event, path, to, FileChange::Patch(chunks)))
            }
        })
        .collect()
}
