//! The next steps after `init`: check the machine, open a terminal for questions, connect the agents that are installed.

use std::path::Path;

use askfirst_agents::Agent;
use askfirst_config::Places;
use askfirst_mcp::clients::{InstalledClient, SERVE, installed};

use super::hidden::HiddenFolder;
use crate::print::out;

/// Prints the next steps.
pub fn print(project: &Path, trusted: bool, hidden: &[HiddenFolder]) {
    let home = Places::from_env().home;
    let clients = installed(project, home.as_deref(), std::env::var_os("PATH").as_deref());
    lines(&clients, home.as_deref(), trusted, hidden).iter().for_each(|line| out(line));
}

fn lines(
    clients: &[InstalledClient],
    home: Option<&Path>,
    trusted: bool,
    hidden: &[HiddenFolder],
) -> Vec<String> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut step = |command: &str, does: String| steps.push((command.to_owned(), does));
    if !hidden.is_empty() {
        let names: Vec<&str> = hidden.iter().map(|folder| folder.name.as_str()).collect();
        let names = names.join(", ");
        let again = if trusted { "; then run `askfirst trust`" } else { "" };
        step(
            "edit askfirst.yaml",
            format!(
                "programs in {names} do not start in the sandbox; a commented line `toolchains` shows how{again}"
            ),
        );
    }
    if !trusted {
        step("askfirst trust", "show what the config allows, and ask whether to trust it".to_owned());
    }
    step("askfirst doctor", "check what the sandbox enforces on this machine".to_owned());
    step("askfirst watch", "answer requests of agents that have no terminal".to_owned());
    for client in clients {
        let name = client.name;
        for file in &client.wrappable {
            let command = format!("askfirst mcp wrap {}", shell_word(file, home));
            step(&command, format!("put askfirst in front of {name}'s MCP servers; --write saves it"));
        }
        let agent = Agent::ALL.into_iter().find(|agent| agent.facts().title == name);
        if let Some(agent) = agent {
            let command = format!("askfirst hook install {agent}");
            step(&command, format!("check every tool call of {name} by this config"));
            continue;
        }
        match client.add {
            Some(add) => step(add, format!("offer the tools of this config to {name}")),
            None => step(SERVE, format!("add this command to {name} as an MCP server")),
        }
    }
    // Side by side, they would not fit in 80 columns.
    let rows = steps.iter().flat_map(|(command, does)| [format!("  {command}"), format!("    {does}")]);
    std::iter::once("next steps:".to_owned()).chain(rows).collect()
}

/// A path as a word for the shell.
fn shell_word(path: &Path, home: Option<&Path>) -> String {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let in_home = home.and_then(|home| path.strip_prefix(home).ok()).map(|path| path.to_string_lossy());
    match (in_home, path.to_string_lossy()) {
        (Some(in_home), _) if is_plain(&in_home) => format!("~/{in_home}"),
        (_, whole) if is_plain(&whole) => whole.into_owned(),
        (_, whole) => format!("'{}'", whole.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
#[path = "next_steps/tests.rs"]
mod tests;
