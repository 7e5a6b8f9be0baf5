//! Runs the cases of `spec/shell` through `askfirst decide`, with each row's rule as config. See `spec/shell/README.md`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::commands::without_namespaces;

/// Ordinary commands that need asking, each with the reason.
const ASKED: [(&str, &str); 7] = [
    ("elv-o217", "it removes `node_modules`, whose programs later commands run"),
    ("fl-t021", "it writes `Cargo.toml`, which decides what a build runs"),
    ("spelled-91", "it creates `.venv`, whose programs later commands run"),
    ("tables-67", "it creates `.venv`, whose programs later commands run"),
    ("tables-68", "it creates `.venv`, whose programs later commands run"),
    ("sh-036", "it lists a folder of the person's home, which is no root of the workspace"),
    ("ro-t154", "`src/link` leads to `.env`, so that `src/*` reads a file that usually holds secrets"),
];

#[derive(Debug, Clone, Deserialize)]
struct Case {
    id: String,
    rule: String,
    command: String,
    #[serde(default)]
    must_not: Option<String>,
    /// `ask` for commands that a deny rule may or may not match.
    #[serde(default)]
    may: Option<String>,
}

/// Returns every case in a folder, dangerous or ordinary.
fn cases(folder: &Path) -> Vec<Case> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(cases(&path));
        } else if path.extension().is_some_and(|suffix| suffix == "jsonl") {
            let text = std::fs::read_to_string(&path).unwrap();
            for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                let case: Case = serde_json::from_str(line)
                    .unwrap_or_else(|e| panic!("{}:{}: {e}", path.display(), number + 1));
                found.push(case);
            }
        }
    }
    found
}

/// Returns the config for a row's rule.
fn config(rule: &str) -> String {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let mut rules = Vec::new();
    let (mut default, mut never_read) = ("required", Vec::new());
    let mut sandbox = "  require_os_sandbox: false\n";
    for part in rule.split(", ").filter(|part| *part != "@readonly") {
        if part == "@sandbox" {
            sandbox = "";
            never_read.push(quoted(".env"));
            continue;
        }
        let (approval, pattern) = match part.strip_prefix("deny: ") {
            Some(denied) => {
                default = "none";
                match denied.strip_prefix("read ") {
                    Some(path) => {
                        never_read.push(quoted(path));
                        continue;
                    }
                    None => ("deny", denied),
                }
            }
            None => ("none", part),
        };
        let (pattern, exact) = match pattern.strip_suffix(" *") {
            Some(pattern) => (pattern, false),
            None => (pattern, true),
        };
        rules.push(format!("{{ pattern: {}, exact: {exact}, approval: {approval} }}", quoted(pattern)));
    }
    format!(
        "version: 1\nsandbox:\n{sandbox}  paths:\n    repo: {{ root: ., mode: rw, approval: {{ read: none, write: none }} }}\n  never_read: [{}]\nshell:\n  default: {{ approval: {default} }}\n  known_read_only: none\n  network: true\n  rules: [{}]\n",
        never_read.join(", "),
        rules.join(", "),
    )
}

/// Creates the workspace that the commands use.
fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("repo");
    for name in ["src", "tests", "build", "scripts", "vendor/evil"] {
        std::fs::create_dir_all(path.join(name)).unwrap();
    }
    for name in ["README.md", ".env", "payload.sh", "a.txt", "src/main.rs", "src/lib.rs", "scripts/run.sh"] {
        std::fs::write(path.join(name), "x\n").unwrap();
    }
    std::os::unix::fs::symlink("../.env", path.join("src/link")).unwrap();
    for repository in [path.clone(), path.join("vendor/evil")] {
        let made = Command::new("git").args(["init", "-q"]).arg(&repository).status().unwrap();
        assert!(made.success());
    }
    folder
}

/// Returns the command with the real path of the workspace instead of `/repo` at the start of paths.
fn placed(command: &str, place: &str) -> String {
    let mut out = String::new();
    for (at, part) in command.split("/repo").enumerate() {
        let inside = out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'));
        if at > 0 {
            out.push_str(if inside { "/repo" } else { place });
        }
        out.push_str(part);
    }
    out
}

/// Returns the verdicts of `decide` for the commands of one rule.
fn verdicts(workspace: &Path, rule: &str, cases: &[&Case]) -> Vec<Value> {
    let place = workspace.to_str().unwrap();
    std::fs::write(workspace.join("askfirst.yaml"), config(rule)).unwrap();
    let home = workspace.parent().unwrap().join("nobody");
    let args = ["decide", "--config", "askfirst.yaml"];
    let mut command = if rule.contains("@sandbox") {
        let mut command = Command::new(env!("CARGO_BIN_EXE_askfirst"));
        command.args(args);
        command
    } else {
        without_namespaces(&args)
    };
    let mut child = command
        .current_dir(workspace)
        .env("HOME", &home)
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: Vec<String> = cases
        .iter()
        .map(|case| {
            let command = placed(&case.command, place);
            json!({"id": case.id, "tool": "shell", "args": {"command": command}}).to_string()
        })
        .collect();
    let writer = std::thread::spawn(move || input.write_all(lines.join("\n").as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "rule `{rule}`: {complaint}");
    let text = String::from_utf8(output.stdout).unwrap();
    let verdicts: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(verdicts.len(), cases.len(), "rule `{rule}`: {complaint}");
    verdicts
}

fn why(verdict: &Value) -> String {
    let facts = verdict["request"]["facts"].as_array().cloned().unwrap_or_default();
    let texts = facts.iter().filter(|fact| fact["label"] == "why").filter_map(|fact| fact["text"].as_str());
    let because = verdict["because"].as_array().cloned().unwrap_or_default();
    let first = because.iter().filter_map(|because| because["text"].as_str()).next().unwrap_or_default();
    texts.collect::<Vec<_>>().join(" / ") + " [" + first + "]"
}

/// Whether the line contains the denied command as plain text, so that only `deny` is correct.
fn is_visible(case: &Case) -> bool {
    if case.may.as_deref() == Some("ask") {
        return false;
    }
    let hidden = ["base64", "xxd", "$(", "`", "rev", "tr ", "printf", "{", "$"];
    !hidden.iter().any(|sign| case.command.contains(sign))
}

// invariant: 7
#[test]
fn dangerous_commands_need_asking_and_ordinary_ones_do_not() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("spec/shell");
    let folder = std::env::var_os("ASKFIRST_SHELL_CASES").map_or(own, PathBuf::from);
    let cases = cases(&folder);
    assert!(cases.len() > 100, "only {} cases in {}", cases.len(), folder.display());
    let mut by_rule: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in &cases {
        by_rule.entry(&case.rule).or_default().push(case);
    }
    let workspace = workspace();
    let path = workspace.path().canonicalize().unwrap().join("repo");
    let (mut faults, mut notes) = (Vec::new(), Vec::new());
    let mut count: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (rule, cases) in by_rule {
        for (case, verdict) in cases.iter().zip(verdicts(&path, rule, &cases)) {
            let said = verdict["verdict"].as_str().unwrap();
            let line = format!("{}: under `{rule}`: {} ({said}) {}", case.id, case.command, why(&verdict));
            let (class, wrong) = match case.must_not.as_deref() {
                Some("miss-deny") => ("denied", said == "allow"),
                Some(_) => ("dangerous", said == "allow"),
                None if rule == "@readonly" => ("ordinary, only reading", said != "allow"),
                None => ("ordinary, by a rule", said != "allow"),
            };
            let counted = count.entry(class).or_default();
            counted.0 += 1;
            let denial = case.must_not.as_deref() == Some("miss-deny");
            let only_asked = denial && said == "ask" && is_visible(case);
            let by_name = case.id.starts_with("pol-") || ASKED.iter().any(|(id, _)| *id == case.id);
            if wrong || only_asked {
                counted.1 += 1;
                if by_name { notes.push(format!("by name: {line}")) } else { faults.push(line) }
            }
        }
    }
    for (class, (all, wrong)) in &count {
        println!("{class}: {wrong} of {all}");
    }
    notes.iter().for_each(|line| println!("{line}"));
    assert!(faults.is_empty(), "{} wrong:\n{}", faults.len(), faults.join("\n"));
}
