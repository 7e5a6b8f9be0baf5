//! Refuses commands that only a person may run, when a coding agent runs them.

use askfirst_agents::Agent;

use crate::args::{Command, HookCommand, MemoryCommand};
use crate::exit::Exit;
use crate::print::err;

/// The variables that agents set for the commands that they run.
const VARIABLES: [(&str, Agent); 8] = [
    ("CLAUDECODE", Agent::Claude),
    ("CODEX_SANDBOX", Agent::Codex),
    ("CODEX_THREAD_ID", Agent::Codex),
    ("GEMINI_CLI", Agent::Gemini),
    ("COPILOT_CLI", Agent::Copilot),
    ("QWEN_CODE", Agent::Qwen),
    ("OPENCODE", Agent::Opencode),
    ("CURSOR_AGENT", Agent::Cursor),
];

/// Returns the exit for a command in the shell of an agent, with an error message. Returns `None` in any other shell.
///
/// This stops mistakes. The sandbox and the files that are never written stop an agent that removes the variable.
pub fn refusal(command: &Command) -> Option<Exit> {
    let command = only_by_a_person(command)?;
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let (variable, agent) = VARIABLES.into_iter().find(|(name, _)| is_set(name))?;
    let title = agent.facts().title;
    err(&format!(
        "error: only a person may run `askfirst {command}`, and this is a shell of {title} ({variable} is set)"
    ));
    err("hint: run it in a terminal of your own");
    Some(Exit::Policy)
}

/// Returns the name of a command that changes what askfirst allows or undoes, so that only a person may run it.
fn only_by_a_person(command: &Command) -> Option<&'static str> {
    match command {
        Command::Init { print: false, .. } => Some("init"),
        Command::Trust => Some("trust"),
        Command::Memory { command: Some(MemoryCommand::Revoke { .. }) } => Some("memory revoke"),
        Command::Undo { list: false, show: None, .. } => Some("undo"),
        Command::Hook { command: Some(HookCommand::Install { .. }), .. } => Some("hook install"),
        Command::Hook { command: Some(HookCommand::Uninstall { .. }), .. } => Some("hook uninstall"),
        _ => None,
    }
}
