//! Shell commands.

use serde_json::Value;

use super::{Input, Step, absolute, arguments, call};
use crate::agent::Agent;
use crate::event::{HookEvent, Moment};

/// The fields of an agent's shell tool, besides `command` and `description`.
struct ShellTool {
    name: &'static str,
    /// The field with the folder to run in.
    folder: Option<&'static str>,
    /// The field with a time limit in milliseconds.
    limit: Option<&'static str>,
    /// The flag that starts the command in the background.
    background: Option<&'static str>,
}

/// Returns the shell tool of an agent.
///
/// Copilot CLI can run a command in the folder of an earlier one, which `shellId` names. Its folder is then unknown.
fn tool(agent: Agent) -> ShellTool {
    let plain = |name| ShellTool { name, folder: None, limit: None, background: None };
    match agent {
        Agent::Claude => {
            ShellTool { limit: Some("timeout"), background: Some("run_in_background"), ..plain("Bash") }
        }
        Agent::Codex => plain("Bash"),
        Agent::Copilot => plain("bash"),
        Agent::Gemini => ShellTool {
            folder: Some("dir_path"),
            background: Some("is_background"),
            ..plain("run_shell_command")
        },
        Agent::Qwen => ShellTool {
            folder: Some("directory"),
            limit: Some("timeout"),
            background: Some("is_background"),
            ..plain("run_shell_command")
        },
        Agent::Opencode => ShellTool { folder: Some("workdir"), limit: Some("timeout"), ..plain("bash") },
        Agent::Cursor => ShellTool { folder: Some("working_directory"), ..plain("Shell") },
    }
}

pub(super) fn is_mapped(event: &HookEvent) -> bool {
    event.tool == tool(event.agent).name
}

pub(super) fn map(event: &HookEvent) -> Option<Vec<Step>> {
    let tool = tool(event.agent);
    if !is_mapped(event) || is_network_request(event) {
        return None;
    }
    let mut input = Input::new(event);
    let command = input.text("command").filter(|command| !command.contains('\0'))?;
    let folder = match tool.folder.and_then(|key| input.left.remove(key)) {
        None | Some(Value::Null) => event.cwd.clone(),
        Some(Value::String(folder)) if folder.is_empty() => event.cwd.clone(),
        Some(Value::String(folder)) => absolute(&event.cwd, &folder)?,
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => return None,
    };
    let mut args = vec![("command", command.into()), ("cwd", folder.into())];
    match tool.limit.and_then(|key| input.left.remove(key)) {
        None | Some(Value::Null) => {}
        Some(limit) => {
            let limit = limit.as_f64().filter(|limit| *limit > 0.0)? / 1000.0;
            args.push(("timeout", limit.into()));
        }
    }
    if let Some(key) = tool.background
        && input.flag(key)?
    {
        args.push(("background", true.into()));
    }
    match input.agent {
        Agent::Claude => (!input.flag("dangerouslyDisableSandbox")?).then_some(())?,
        // Cursor reports whether the command runs in its sandbox. The agent has no say in it.
        Agent::Cursor => input.flag("sandbox").map(drop)?,
        // After `initial_wait`, the command goes on.
        Agent::Copilot => {
            input.ignore(&["initial_wait"]);
            let (mode, detached) = (input.left.remove("mode"), input.flag("detach")?);
            match mode.as_ref().map_or(Some("sync"), Value::as_str) {
                Some("sync") if !detached => {}
                Some("async") => args.push(("background", true.into())),
                Some(_) | None => return None,
            }
        }
        // Gemini CLI waits so long before it reads the first output.
        Agent::Gemini => input.ignore(&["delay_ms"]),
        Agent::Codex | Agent::Qwen | Agent::Opencode => {}
    }
    input.ignore(&["description"]);
    input.end()?;
    Some(vec![Step::Call(call(event, "shell", arguments(args)), Vec::new())])
}

/// Whether Codex asks for access to the network, not for the command.
fn is_network_request(event: &HookEvent) -> bool {
    let description = event.input.get("description").and_then(Value::as_str);
    event.agent == Agent::Codex
        && event.moment == Moment::PermissionRequest
        && description.is_some_and(|text| text.starts_with("network-access"))
}
