//! Tests of `hook install`, `hook uninstall` and `hook status`: what they do to the configs of agents.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::commands::{Place, told};
use crate::person::Terminal;

mod doctor;
mod evasion;
mod events;
mod faults;
mod plugin;

/// Variables that an agent sets in its shell, or that move its config.
const AGENT_VARIABLES: [&str; 11] = [
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "COPILOT_CLI",
    "QWEN_CODE",
    "OPENCODE",
    "CURSOR_AGENT",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
];

/// Makes a command independent of the agent whose shell runs the tests.
pub(crate) fn outside_of_agents(command: &mut Command) -> &mut Command {
    AGENT_VARIABLES.iter().fold(command, |command, name| command.env_remove(name))
}

/// Each agent, and the file in the home folder that gets its hook.
const AGENTS: [(&str, &str); 7] = [
    ("claude", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
    ("copilot", ".copilot/hooks/askfirst.json"),
    ("qwen", ".qwen/settings.json"),
    ("opencode", "config/opencode/plugins/askfirst.js"),
    ("cursor", ".cursor/hooks.json"),
];

const CLAUDE: &str =
    "{\n  // mine\n  \"model\": \"x\",\n  \"permissions\": { \"deny\": [\"Bash(git push:*)\"] }\n}\n";

/// A home folder with a config of Claude Code.
fn place() -> Place {
    let place = Place::new("version: 1");
    fs::create_dir(place.path().join(".claude")).unwrap();
    fs::write(claude(&place), CLAUDE).unwrap();
    place
}

fn claude(place: &Place) -> PathBuf {
    place.path().join(".claude/settings.json")
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// Runs `hook install` or `hook uninstall` without a person.
fn run(place: &Place, command: &str, agent: &str) -> (i32, String, String) {
    place.run(&["hook", command, agent, "--yes", "--config", "c.yaml"])
}

/// Returns the state of an agent's hook in the user's config.
fn state(place: &Place, agent: &str) -> Value {
    let (code, out, err) = place.run(&["hook", "status", agent, "--json", "--config", "c.yaml"]);
    assert_eq!(code, 0, "{err}");
    serde_json::from_str::<Value>(&out).unwrap()[0].clone()
}

#[test]
fn uninstall_leaves_every_config_byte_for_byte_as_it_was() {
    let place = place();
    fs::create_dir(place.path().join(".gemini")).unwrap();
    let gemini = "// one line\n{\"hooks\":{\"BeforeTool\":[],\"enabled\":true}, \"a\"  :1}";
    fs::write(place.path().join(".gemini/settings.json"), gemini).unwrap();
    let list = || {
        let found =
            Command::new("find").arg(place.path()).args(["-not", "-path", "*/state*"]).output().unwrap();
        let mut lines: Vec<String> =
            String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let before = list();
    for (agent, file) in AGENTS {
        let (code, out, err) = run(&place, "install", agent);
        assert_eq!(code, 0, "{agent}: {out}{err}");
        assert!(text(place.path().join(file)).contains(agent), "{agent}");
        assert!(out.contains("note: "), "{agent}: it names a limit: {out}");
        let installed = text(place.path().join(file));
        let (code, out, _) = run(&place, "install", agent);
        assert!(code == 0 && out.starts_with("already installed"), "{agent}: {out}");
        assert_eq!(text(place.path().join(file)), installed);
    }
    for (agent, _) in AGENTS {
        let (code, out, err) = run(&place, "uninstall", agent);
        assert_eq!(code, 0, "{agent}: {out}{err}");
        let (code, out, _) = run(&place, "uninstall", agent);
        assert!(code == 0 && out.starts_with("not installed"), "{agent}: {out}");
    }
    assert_eq!(text(claude(&place)), CLAUDE);
    assert_eq!(text(place.path().join(".gemini/settings.json")), gemini);
    assert_eq!(list(), before, "no new file and no new folder");
}

#[test]
fn uninstall_keeps_changes_made_after_the_install() {
    let place = place();
    assert_eq!(run(&place, "install", "claude").0, 0);
    fs::write(claude(&place), text(claude(&place)).replace("\"model\": \"x\"", "\"model\": \"y\"")).unwrap();
    // A second install in between must not make our own text the original.
    assert_eq!(run(&place, "install", "claude").0, 0);
    assert_eq!(run(&place, "uninstall", "claude").0, 0);
    assert_eq!(text(claude(&place)), CLAUDE.replace("\"model\": \"x\"", "\"model\": \"y\""));
}

#[test]
fn new_hook_over_an_old_one_keeps_the_first_backup() {
    let place = place();
    let one_line = "{\"hooks\":{\"PreToolUse\":[]}, \"a\"  :1}";
    fs::write(claude(&place), one_line).unwrap();
    assert_eq!(run(&place, "install", "claude").0, 0);
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    symlink(env!("CARGO_BIN_EXE_askfirst"), other.join("askfirst")).unwrap();
    let mut command = place.command(&["hook", "install", "claude", "--yes", "--config", "c.yaml"]);
    let path = std::env::join_paths([other.clone(), "/usr/bin".into(), "/bin".into()]).unwrap();
    let (code, out, _) = told(command.env("PATH", path).output().unwrap());
    assert!(code == 0 && out.contains("written"), "{out}");
    let stable = other.join("askfirst").display().to_string();
    assert!(text(claude(&place)).contains(&stable), "the path on PATH survives an update");
    assert_eq!(run(&place, "uninstall", "claude").0, 0);
    assert_eq!(text(claude(&place)), one_line);
}

#[test]
fn hook_in_a_project_is_in_the_folder_of_the_project() {
    let place = place();
    let (code, _, err) =
        place.run(&["hook", "install", "copilot", "--project", "--yes", "--config", "c.yaml"]);
    assert_eq!(code, 0, "{err}");
    assert!(text(place.path().join(".github/hooks/askfirst.json")).contains("preToolUse"));
    assert!(!place.path().join(".copilot").exists());
    place.run(&["hook", "uninstall", "copilot", "--project", "--yes", "--config", "c.yaml"]);
    assert!(!place.path().join(".github").exists());
}

#[test]
fn person_sees_the_diff_and_decides() {
    let place = place();
    let args = ["hook", "install", "claude", "--config", "c.yaml"];
    let mut terminal = Terminal::start(&place, &args);
    let page = terminal.press("n");
    assert!(page.contains("add askfirst to Claude Code") && page.contains("PreToolUse"), "{page}");
    let (code, out) = terminal.end();
    assert!(code == 4 && out.contains("nothing was written"), "{code}: {out}");
    assert_eq!(text(claude(&place)), CLAUDE);
    let mut terminal = Terminal::start(&place, &args);
    terminal.press("y");
    let (code, out) = terminal.end();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("deny Bash(git push:*)"), "the rule stops working for rewritten commands: {out}");
    assert_eq!(state(&place, "claude")["state"], "active");
}

#[test]
fn install_without_a_terminal_needs_yes_or_print() {
    let place = place();
    let (code, _, _) = place.run(&["hook", "install", "claude", "--config", "c.yaml"]);
    assert_eq!((code, text(claude(&place)).as_str()), (5, CLAUDE));
    let (code, out, _) = place.run(&["hook", "install", "claude", "--print", "--config", "c.yaml"]);
    assert!(code == 0 && out.contains("+    \"PreToolUse\": ["), "{out}");
    assert_eq!(text(claude(&place)), CLAUDE);
    assert_eq!(place.run(&["hook", "install", "claude", "--print", "--yes"]).0, 2);
    assert_eq!(place.run(&["hook", "install", "claud"]).0, 2);
}

#[test]
fn yes_never_trusts_the_hook_in_codex() {
    let place = place();
    fs::create_dir(place.path().join(".codex")).unwrap();
    let (config, own) = (place.path().join(".codex/config.toml"), "# mine\nmodel = \"x\" # keep\n");
    fs::write(&config, own).unwrap();
    let (code, out, _) = run(&place, "install", "codex");
    assert!(code == 0 && out.contains("until you trust it"), "{out}");
    assert_eq!((text(&config).as_str(), &state(&place, "codex")["state"]), (own, &Value::from("untrusted")));
    let mut terminal = Terminal::start(&place, &["hook", "install", "codex", "--yes", "--config", "c.yaml"]);
    let page = terminal.press("y");
    assert!(page.contains("trust the hook of askfirst in Codex") && page.contains("trusted_hash"), "{page}");
    assert_eq!(terminal.end().0, 0);
    assert!(text(&config).starts_with(own));
    assert_eq!(state(&place, "codex")["state"], "active");
    let hooks = place.path().join(".codex/hooks.json");
    fs::write(&hooks, text(&hooks).replacen("600", "5", 1)).unwrap();
    assert_eq!(state(&place, "codex")["state"], "outdated");
    assert_eq!(run(&place, "uninstall", "codex").0, 0);
    assert_eq!(text(&config), own);
    assert!(!hooks.exists());
}

#[test]
fn switch_in_any_settings_file_is_reported() {
    let place = place();
    fs::write(place.path().join(".claude/settings.local.json"), "{\"disableAllHooks\": true}").unwrap();
    fs::create_dir(place.path().join("project")).unwrap();
    fs::create_dir(place.path().join("project/.claude")).unwrap();
    fs::write(place.path().join("project/.claude/settings.local.json"), "{\"disableAllHooks\": true}")
        .unwrap();
    let mut command = place.command(&["hook", "install", "claude", "--yes", "--config", "../c.yaml"]);
    let (code, out, _) = told(command.current_dir(place.path().join("project")).output().unwrap());
    assert_eq!(code, 0, "{out}");
    let wanted = "WARNING: `disableAllHooks: true` in ";
    assert!(out.contains(wanted) && out.contains("project/.claude/settings.local.json"), "{out}");
}

#[test]
fn shell_of_an_agent_cannot_change_protection() {
    let place = place();
    assert_eq!(run(&place, "install", "claude").0, 0);
    let installed = text(claude(&place));
    for args in [
        &["hook", "uninstall", "claude", "--yes"][..],
        &["hook", "install", "codex", "--yes"],
        &["init", "--yes"],
        &["trust"],
        &["undo"],
        &["memory", "revoke", "project:1"],
    ] {
        let (code, _, err) = told(place.command(args).env("CLAUDECODE", "1").output().unwrap());
        let wanted = "a shell of Claude Code (CLAUDECODE is set)";
        assert!(code == 3 && err.contains(wanted) && err.contains("hint: "), "{args:?}: {code} {err}");
    }
    assert_eq!(text(claude(&place)), installed);
    assert!(!place.path().join("askfirst.yaml").exists() && !place.path().join(".codex").exists());
    for args in [&["hook", "status"][..], &["memory"], &["undo", "--list"], &["init", "--print"]] {
        let (code, _, err) = told(place.command(args).env("CLAUDECODE", "1").output().unwrap());
        assert_eq!(code, 0, "{args:?}: {err}");
    }
}
