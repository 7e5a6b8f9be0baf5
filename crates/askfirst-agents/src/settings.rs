//! Edits the config files of agents as text: adds the hook, removes it, and finds what switches it off.
//!
//! Nothing here touches a file. Comments, order and spelling of everything else stay as they are, and a file with an
//! error is never changed.

mod codex;
mod facts;
mod floors;
mod json;
mod plugin;
mod switches;

use std::time::Duration;

use crate::Agent;

pub use codex::{TrustedHook, distrust, hooks_to_trust, is_trusted, trust};
pub use facts::{ConfigFiles, files, limits};
pub use floors::{Floor, FloorKind, floors};
pub use switches::switches;

/// The reason why the text of a config file cannot be read or edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct SettingsError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The cause.
    pub reason: String,
}

impl SettingsError {
    /// An error at a byte of a text.
    fn at(text: &str, byte: usize, reason: impl Into<String>) -> Self {
        let before = text.as_bytes().iter().take(byte);
        Self { line: 1 + before.filter(|byte| **byte == b'\n').count(), reason: reason.into() }
    }
}

/// The hook as an agent starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommand {
    /// The path of this program.
    pub program: String,
    /// How long the agent waits for an answer.
    pub time_limit: Duration,
}

/// How long an agent waits for an answer, in the hooks that `install` writes.
pub const TIME_LIMIT: Duration = Duration::from_secs(600);

impl HookCommand {
    /// The command line for an agent that starts hooks with a shell.
    fn line(&self, agent: Agent) -> String {
        format!("{} hook {}", shell_word(&self.program), agent.name())
    }

    /// The command line of a hook that decides, for an agent that runs a call if its hook ends with an unknown exit code.
    fn line_or_deny(&self, agent: Agent) -> String {
        or_deny(agent) + &shell_word(&self.program)
    }

    /// Whether a command line starts this program as the hook of an agent, from this path or another one.
    fn is_line(&self, line: &str, agent: Agent) -> bool {
        let plain = || line.strip_suffix(agent.name())?.strip_suffix(" hook ");
        let program = line.strip_prefix(&or_deny(agent)).or_else(plain);
        program.is_some_and(|program| self.is_program(program.strip_suffix('\'').unwrap_or(program)))
    }

    /// Whether a path has the usual name of this program, or the name that it has now.
    fn is_program(&self, path: &str) -> bool {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        ["askfirst".to_owned(), name(&self.program)].contains(&name(path))
    }
}

/// The start of a command line that ends with a denial if the program after it is missing or killed: with exit code 2 and
/// a text. The agent may start it with any shell.
fn or_deny(agent: Agent) -> String {
    let deny = "[ $? = 2 ] || echo askfirst failed, so the call was denied >&2; exit 2";
    format!("sh -c '\"$0\" hook {agent} || {{ {deny}; }}' ")
}

fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Whether a config has the hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookState {
    /// No part of it.
    No,
    /// A hook of askfirst that is not complete, or that starts another program.
    Outdated,
    /// Exactly as `install` writes it.
    Yes,
}

/// Returns the text of a config with the hook. An empty text stands for a file that does not exist.
///
/// # Errors
/// Fails if the text is not a valid config of this agent.
pub fn install(agent: Agent, text: &str, hook: &HookCommand) -> Result<String, SettingsError> {
    match json::hook_form(agent) {
        Some(form) => json::install(&form, text, hook),
        None => plugin::install(text, hook),
    }
}

/// Returns the text of a config without the hook, or `None` if nothing else is in it.
///
/// # Errors
/// Fails if the text is not a valid config of this agent.
pub fn uninstall(agent: Agent, text: &str, hook: &HookCommand) -> Result<Option<String>, SettingsError> {
    match json::hook_form(agent) {
        Some(form) => json::uninstall(&form, text, hook),
        None => Ok(plugin::uninstall(text)),
    }
}

/// Returns whether a config has the hook.
///
/// # Errors
/// Fails if the text is not a valid config of this agent.
pub fn installed(agent: Agent, text: &str, hook: &HookCommand) -> Result<HookState, SettingsError> {
    if text.is_empty() || uninstall(agent, text, hook)?.as_deref() == Some(text) {
        return Ok(HookState::No);
    }
    let is_current = install(agent, text, hook)? == text;
    Ok(if is_current { HookState::Yes } else { HookState::Outdated })
}

#[cfg(test)]
#[path = "settings/tests.rs"]
mod tests;
