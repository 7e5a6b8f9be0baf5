//! Finds the MCP clients on this machine, and how askfirst can be connected to each.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Direction, rewrite};

/// The server that offers the tools of a config. An agent draws on its own terminal, so the questions go to `watch`.
pub const SERVE: &str = "askfirst serve --ask-by watch";

/// A client that this project knows.
struct ClientFacts {
    name: &'static str,
    /// Its program on the `PATH`.
    program: Option<&'static str>,
    /// Its folders in the user's home folder.
    folders: &'static [&'static str],
    /// Its config files with servers in a project.
    in_project: &'static [&'static str],
    /// Its config files with servers in the user's home folder.
    in_home: &'static [&'static str],
    /// The command that adds [`SERVE`] to its servers.
    add: Option<&'static str>,
}

const CLIENTS: [ClientFacts; 6] = [
    ClientFacts {
        name: "Claude Code",
        program: Some("claude"),
        folders: &[".claude"],
        in_project: &[".mcp.json"],
        in_home: &[".claude.json"],
        add: Some("claude mcp add askfirst -- askfirst serve --ask-by watch"),
    },
    ClientFacts {
        name: "Codex",
        program: Some("codex"),
        folders: &[".codex"],
        in_project: &[],
        in_home: &[],
        add: Some("codex mcp add askfirst -- askfirst serve --ask-by watch"),
    },
    ClientFacts {
        name: "Gemini CLI",
        program: Some("gemini"),
        folders: &[".gemini"],
        in_project: &[".gemini/settings.json"],
        in_home: &[".gemini/settings.json"],
        // Its own flags end at `--`.
        add: Some("gemini mcp add askfirst askfirst serve -- --ask-by watch"),
    },
    ClientFacts {
        name: "Cursor",
        program: Some("cursor"),
        folders: &[".cursor"],
        in_project: &[".cursor/mcp.json"],
        in_home: &[".cursor/mcp.json"],
        add: None,
    },
    ClientFacts {
        name: "VS Code",
        program: Some("code"),
        folders: &[".config/Code", "Library/Application Support/Code"],
        in_project: &[".vscode/mcp.json"],
        in_home: &[".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json"],
        add: None,
    },
    ClientFacts {
        name: "Claude Desktop",
        program: None,
        folders: &[".config/Claude", "Library/Application Support/Claude"],
        in_project: &[],
        in_home: &[
            ".config/Claude/claude_desktop_config.json",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ],
        add: None,
    },
];

/// A larger config file is not read.
const MAX_SIZE: u64 = 16 << 20;

/// A client that is installed on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledClient {
    /// Its name.
    pub name: &'static str,
    /// Its config files with servers that have no gateway in front of them. Those of the project are relative.
    pub wrappable: Vec<PathBuf>,
    /// The command that adds [`SERVE`] to its servers.
    pub add: Option<&'static str>,
}

/// Finds the clients by their programs on the `PATH` and by their folders. It starts no program.
#[must_use]
pub fn installed(project: &Path, home: Option<&Path>, search: Option<&OsStr>) -> Vec<InstalledClient> {
    let folders: Vec<PathBuf> =
        search.map(|search| std::env::split_paths(search).collect()).unwrap_or_default();
    let is_program = |name: &str| {
        folders.iter().filter(|folder| folder.is_absolute()).any(|folder| folder.join(name).is_file())
    };
    let in_home = |path: &str| home.map(|home| home.join(path));
    let is_installed = |client: &&ClientFacts| {
        client.program.is_some_and(is_program)
            || client.folders.iter().filter_map(|folder| in_home(folder)).any(|folder| folder.is_dir())
    };
    let found = |client: &ClientFacts| {
        let of_project = client.in_project.iter().map(PathBuf::from);
        let files = of_project.chain(client.in_home.iter().filter_map(|file| in_home(file)));
        let wrappable = files.filter(|file| has_open_servers(&project.join(file))).collect();
        InstalledClient { name: client.name, wrappable, add: client.add }
    };
    CLIENTS.iter().filter(is_installed).map(found).collect()
}

/// Whether a config file has a server without a gateway in front.
fn has_open_servers(file: &Path) -> bool {
    let is_small = file.metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_SIZE);
    let text = if is_small { std::fs::read_to_string(file).ok() } else { None };
    let rewritten = text.and_then(|text| rewrite(&text, "askfirst", Direction::Wrap).ok());
    rewritten.is_some_and(|rewritten| !rewritten.changed.is_empty())
}

#[cfg(test)]
#[path = "installed/tests.rs"]
mod tests;
