//! Reads an agent's own rules that stop working when a command runs through askfirst: the agent sees another command.

use serde_json::Value;
use toml_edit::Item;

use super::json::{Comments, read};
use super::{SettingsError, codex};
use crate::Agent;

/// A rule of an agent that refuses commands or asks about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floor {
    /// The agent's own name of the tool.
    pub tool: String,
    /// The commands, in the agent's own syntax.
    pub pattern: String,
    /// The effect of the rule.
    pub kind: FloorKind,
}

/// The effect of a rule of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloorKind {
    /// It refuses the command.
    Deny,
    /// It asks about the command.
    Ask,
}

/// The names of an agent's shell tool in its rules.
fn shell_names(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &["Bash"],
        Agent::Gemini => &["run_shell_command", "ShellTool"],
        Agent::Qwen => &["Bash", "Shell", "run_shell_command", "ShellTool"],
        Agent::Cursor => &["Shell"],
        Agent::Codex | Agent::Copilot | Agent::Opencode => &[],
    }
}

/// Returns the rules in a config file that see only the text of a command. `file` is its name.
///
/// A rule for the whole tool keeps working, and is not returned.
///
/// # Errors
/// Fails if the text cannot be parsed.
pub fn floors(agent: Agent, file: &str, text: &str) -> Result<Vec<Floor>, SettingsError> {
    if file.ends_with(".rules") {
        return Ok(of_codex(file, text));
    }
    if agent == Agent::Gemini && file.ends_with(".toml") {
        return of_policy(text);
    }
    let places: &[(&str, FloorKind)] = match agent {
        Agent::Claude | Agent::Cursor => {
            &[("/permissions/deny", FloorKind::Deny), ("/permissions/ask", FloorKind::Ask)]
        }
        Agent::Gemini => &[("/tools/exclude", FloorKind::Deny), ("/excludeTools", FloorKind::Deny)],
        Agent::Qwen => &[
            ("/permissions/deny", FloorKind::Deny),
            ("/permissions/ask", FloorKind::Ask),
            ("/tools/exclude", FloorKind::Deny),
        ],
        Agent::Codex | Agent::Copilot | Agent::Opencode => return Ok(Vec::new()),
    };
    let config = read(text, Comments::Allowed)?;
    let rules = places.iter().flat_map(|(path, kind)| {
        let rules = config.pointer(path).and_then(Value::as_array).into_iter().flatten();
        rules.filter_map(Value::as_str).map(|rule| (rule, *kind))
    });
    Ok(rules.filter_map(|(rule, kind)| of_rule(agent, rule, kind)).collect())
}

/// Reads a rule such as `Bash(git push:*)`.
fn of_rule(agent: Agent, rule: &str, kind: FloorKind) -> Option<Floor> {
    let (tool, rest) = rule.trim().split_once('(')?;
    let pattern = rest.strip_suffix(')').unwrap_or(rest);
    let is_shell = shell_names(agent).contains(&tool) && !matches!(pattern, "" | "*" | ":*");
    is_shell.then(|| Floor { tool: tool.to_owned(), pattern: pattern.to_owned(), kind })
}

/// Reads a policy of Gemini: rules with a prefix or a pattern of the command.
fn of_policy(text: &str) -> Result<Vec<Floor>, SettingsError> {
    let config = codex::parse(text)?;
    let rules = config.get("rule").and_then(Item::as_array_of_tables);
    let mut found = Vec::new();
    for rule in rules.into_iter().flat_map(|rules| rules.iter()) {
        let kind = match rule.get("decision").and_then(Item::as_str) {
            Some("deny") => FloorKind::Deny,
            Some("ask_user") => FloorKind::Ask,
            Some(_) | None => continue,
        };
        for key in ["commandPrefix", "commandRegex", "argsPattern"] {
            let Some(item) = rule.get(key) else { continue };
            let one = item.as_str().map(str::to_owned).into_iter();
            let many = item.as_array().into_iter().flatten();
            let patterns = one.chain(many.filter_map(|item| item.as_str().map(str::to_owned)));
            found.extend(patterns.map(|pattern| Floor {
                tool: "run_shell_command".to_owned(),
                pattern,
                kind,
            }));
        }
    }
    Ok(found)
}

/// Codex's rules are a program. A file with a stricter decision counts as one rule.
fn of_codex(file: &str, text: &str) -> Vec<Floor> {
    let kinds = [("forbidden", FloorKind::Deny), ("prompt", FloorKind::Ask)];
    let kind = kinds.into_iter().find(|(word, _)| text.contains(&format!("\"{word}\"")));
    let floor = |(_, kind)| Floor { tool: "shell".to_owned(), pattern: format!("the rules in {file}"), kind };
    kind.map(floor).into_iter().collect()
}
