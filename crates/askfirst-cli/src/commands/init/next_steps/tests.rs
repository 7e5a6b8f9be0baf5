//! Tests of the list of next steps.

use std::path::{Path, PathBuf};

use askfirst_mcp::clients::InstalledClient;

use super::{HiddenFolder, lines, shell_word};

fn client(name: &'static str, files: &[&str], add: Option<&'static str>) -> InstalledClient {
    InstalledClient { name, wrappable: files.iter().map(PathBuf::from).collect(), add }
}

#[test]
fn next_steps_connect_each_client_in_its_own_way() {
    let clients = [
        client("Claude Code", &[], Some("claude mcp add askfirst -- askfirst serve --ask-by watch")),
        client("Gemini CLI", &[".gemini/settings.json"], Some("gemini mcp add askfirst askfirst serve")),
        client("Cursor", &[".cursor/mcp.json", "/home/ann/.cursor/mcp.json"], None),
        client("VS Code", &[], None),
    ];
    let lines = lines(&clients, Some(Path::new("/home/ann")), false, &[]);
    insta::assert_snapshot!(lines.join("\n"), @r"
    next steps:
      askfirst trust
        show what the config allows, and ask whether to trust it
      askfirst doctor
        check what the sandbox enforces on this machine
      askfirst watch
        answer requests of agents that have no terminal
      askfirst hook install claude
        check every tool call of Claude Code by this config
      askfirst mcp wrap .gemini/settings.json
        put askfirst in front of Gemini CLI's MCP servers; --write saves it
      askfirst hook install gemini
        check every tool call of Gemini CLI by this config
      askfirst mcp wrap .cursor/mcp.json
        put askfirst in front of Cursor's MCP servers; --write saves it
      askfirst mcp wrap ~/.cursor/mcp.json
        put askfirst in front of Cursor's MCP servers; --write saves it
      askfirst hook install cursor
        check every tool call of Cursor by this config
      askfirst serve --ask-by watch
        add this command to VS Code as an MCP server
    ");
    assert!(lines.iter().all(|line| line.len() <= 80), "{lines:?}");
}

#[test]
fn hidden_folders_of_path_are_the_first_step() {
    let folder = |name: &str| HiddenFolder { name: name.into(), reason: "x".into(), line: "y".into() };
    let folders = [folder("~/.ssh"), folder("/opt/a")];
    let step =
        "    programs in ~/.ssh, /opt/a do not start in the sandbox; a commented line `toolchains` shows how";
    assert_eq!(lines(&[], None, false, &folders)[1..3], ["  edit askfirst.yaml", step]);
    // A changed config needs trust again.
    assert_eq!(lines(&[], None, true, &folders)[2], format!("{step}; then run `askfirst trust`"));
}

#[test]
fn trusted_config_is_not_a_next_step() {
    let lines = lines(&[], None, true, &[]);
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("askfirst trust")), "{lines:?}");
}

#[test]
fn path_with_blanks_or_quotes_is_quoted_for_the_shell() {
    let word = |path: &str| shell_word(Path::new(path), Some(Path::new("/home/ann")));
    assert_eq!(word("/home/ann/.claude.json"), "~/.claude.json");
    assert_eq!(word(".mcp.json"), ".mcp.json");
    assert_eq!(word("/home/ann/a b.json"), "'/home/ann/a b.json'");
    assert_eq!(word("it's;$(id)"), "'it'\\''s;$(id)'");
}
