//! The names of tools that have no counterpart in askfirst, and of the tools of MCP servers.

use crate::agent::Agent;
use crate::event::HookEvent;

/// The tools of askfirst. A tool of an agent with such a name is another tool.
pub(super) const TAKEN: [&str; 16] = [
    "attach_file",
    "copy_file",
    "delete_file",
    "edit_file",
    "exec",
    "find_in_files",
    "list_files",
    "make_folder",
    "move_file",
    "read_file",
    "shell",
    "shell_output",
    "shell_stop",
    "stat_file",
    "web_fetch",
    "write_file",
];

/// Returns the name for a tool of an agent: its own name, unless that is the name of another tool in askfirst.
pub(super) fn own(agent: Agent, tool: &str) -> String {
    if TAKEN.contains(&tool) || tool.starts_with("mcp__") {
        format!("{agent}__{tool}")
    } else {
        tool.to_owned()
    }
}

/// Returns the name for a tool of an MCP server: `mcp__server__tool`.
pub(super) fn of_mcp(event: &HookEvent) -> Option<String> {
    match (event.agent, &event.mcp) {
        (Agent::Gemini | Agent::Cursor, Some(mcp)) => {
            let (server, tool) = (mcp.server.as_str(), mcp.tool.as_str());
            // Otherwise another server's tool could have the same name.
            let is_clear = !server.contains("__") && !server.ends_with('_') && !tool.starts_with('_');
            is_clear.then(|| format!("mcp__{server}__{tool}"))
        }
        (Agent::Claude | Agent::Codex | Agent::Qwen, _) => {
            let (server, tool) = event.tool.strip_prefix("mcp__")?.split_once("__")?;
            (!server.is_empty() && !tool.is_empty()).then(|| event.tool.clone())
        }
        (Agent::Gemini | Agent::Cursor | Agent::Copilot | Agent::Opencode, _) => None,
    }
}
