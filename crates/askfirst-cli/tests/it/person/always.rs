//! Stories of a yes that always holds in a project: given in one process, used, listed and revoked in others.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{CONFIG, Terminal};
use crate::commands::Place;

/// A place with a project in a folder of its own, because the home folder is no project.
fn place() -> Place {
    let place = Place::new("");
    std::fs::create_dir(place.path().join("shop")).unwrap();
    std::fs::write(place.path().join("shop/c.yaml"), CONFIG).unwrap();
    place
}

/// The words of a call of `note`.
fn note(text: &str) -> [String; 6] {
    let args = format!(r#"{{"text":"{text}"}}"#);
    ["call", "note", "--args", &args, "--config", "shop/c.yaml"].map(str::to_owned)
}

fn words(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn in_shop(place: &Place, args: &[&str]) -> (i32, String, String) {
    place.run(&[args, &["--config", "shop/c.yaml"]].concat())
}

/// Approves a call at the terminal, always in this project. Returns the question and its scope.
fn approve_always(place: &Place, text: &str, flags: &[&str]) -> String {
    let note = note(text);
    let mut terminal = Terminal::start(place, &[&words(&note), flags].concat());
    let question = terminal.press("a");
    let scope = terminal.press("a");
    terminal.wait_for("approved, always in this project");
    let (code, rest) = terminal.end();
    assert_eq!(code, 0, "{question}{scope}{rest}");
    format!("{question}\n{scope}{rest}")
}

fn call(place: &Place, text: &str, flags: &[&str]) -> (i32, String) {
    let (code, out, err) = place.run(&[&words(&note(text)), flags].concat());
    (code, out + &err)
}

#[test]
fn yes_for_always_answers_a_later_process_until_revoked() {
    let place = place();
    let page = approve_always(&place, "one", &[]);
    assert!(page.contains("a always here…") && !page.contains("s this session"), "{page}");
    assert!(page.contains("a yes, always in this project, covers:"), "{page}");
    assert!(page.contains("in the project: ") && page.contains("/shop"), "{page}");
    assert!(page.contains("until you revoke it with `askfirst memory`"), "{page}");
    let (code, printed) = call(&place, "one", &[]);
    assert!(code == 0 && printed.contains("one"), "{printed}");
    assert_eq!(call(&place, "two", &[]).0, 5, "another call is asked about");
    assert_eq!(call(&place, "one", &["--strict"]).0, 3);
    let (_, listed, _) = in_shop(&place, &["memory"]);
    assert!(listed.starts_with("project:1  yes to `note` for these calls, since 20"), "{listed}");
    let (_, effective, _) = in_shop(&place, &["effective"]);
    let line = effective.lines().find(|line| line.starts_with("your_rules[1]: always yes to note")).unwrap();
    assert!(line.contains("/state/askfirst/projects/"), "{line}");
    let (_, doctor, _) = in_shop(&place, &["doctor"]);
    assert!(doctor.contains("1 rule of your own for this project"), "{doctor}");
    let (_, trust, _) = in_shop(&place, &["trust"]);
    assert!(trust.contains("1 rule of your own here"), "{trust}");
    let (_, json, _) = in_shop(&place, &["memory", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json[0]["session"], &json[0]["remembered"][0]["id"]), (&"project".into(), &1.into()));
    assert_eq!(place.run(&["memory", "revoke", "project:1"]).0, 2, "the home folder is another project");
    assert_eq!(in_shop(&place, &["memory", "revoke", "project:1"]).0, 0);
    assert_eq!(in_shop(&place, &["memory", "revoke", "project:1"]).0, 2);
    assert_eq!(call(&place, "one", &[]).0, 5, "a revoked rule is asked about again");
    assert_eq!(changes(&place), ["rule_added /shop note", "rule_removed /shop note"]);
    let (_, log, _) = in_shop(&place, &["log"]);
    assert!(log.lines().any(|line| line.contains("ran      always    note")), "{log}");
    for change in ["added    person    note: ", "removed  person    note: "] {
        assert!(log.lines().any(|line| line.contains(change)), "{log}");
    }
    assert_eq!(in_shop(&place, &["log", "verify"]).0, 0);
}

#[test]
fn plain_prompt_offers_a_yes_for_always() {
    let place = place();
    let page = approve_always(&place, "one", &["--plain"]);
    assert!(page.contains("a approves these calls, Esc goes back"), "{page}");
    assert_eq!(call(&place, "one", &[]).0, 0);
}

#[test]
fn yes_for_always_that_cannot_be_stored_counts_once() {
    let place = place();
    std::fs::create_dir_all(place.path().join("state/askfirst")).unwrap();
    std::fs::write(place.path().join("state/askfirst/projects"), "in the way").unwrap();
    let note = note("one");
    let mut terminal = Terminal::start(&place, &words(&note));
    terminal.press("a");
    terminal.press("a");
    terminal.wait_for("warning: approved only once: cannot");
    assert_eq!(terminal.end().0, 0);
    assert_eq!(call(&place, "one", &[]).0, 5);
}

#[test]
fn call_with_a_secret_is_never_approved_for_always() {
    let place = place();
    let note = note("ghp_0123456789abcdefghijABCDEFGHIJ012345");
    let mut terminal = Terminal::start(&place, &words(&note));
    let page = terminal.press("a");
    assert!(page.contains("y yes") && !page.contains("always"), "{page}");
    terminal.press("n");
    assert_eq!(terminal.end().0, 4);
    assert!(!place.path().join("state/askfirst/projects").exists());
}

#[test]
fn running_session_asks_again_after_a_revocation() {
    let place = place();
    approve_always(&place, "one", &[]);
    super::calls(&place, &["one", "two", "one"]);
    let mut terminal = Terminal::start(&place, &["run", "calls.jsonl", "--config", "shop/c.yaml"]);
    terminal.wait_for("echo -- two");
    assert_eq!(in_shop(&place, &["memory", "revoke", "project:1"]).0, 0);
    terminal.press("y");
    terminal.wait_for("approved once");
    let page = terminal.press("n");
    assert!(page.contains("echo -- one"), "{page}");
    assert_eq!(terminal.end().0, 4);
}

/// The changes of rules in the audit log: the kind, the project and the tool.
fn changes(place: &Place) -> Vec<String> {
    let log = std::fs::read_to_string(place.path().join("state/askfirst/ledger.jsonl")).unwrap();
    let entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let rules = entries.filter(|entry| entry["kind"].as_str().unwrap_or_default().starts_with("rule_"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let change = |entry: Value| {
        let project = text(&entry["project"]);
        let name = project.rsplit_once('/').map_or("", |(_, name)| name);
        format!("{} /{name} {}", text(&entry["kind"]), text(&entry["tool_name"]))
    };
    rules.map(change).collect()
}

fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=n", "-c", "user.email=e@example.com"]).args(args);
    let done = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn worktree_uses_the_rules_of_main_once_confirmed() {
    let place = place();
    let shop = place.path().join("shop");
    git(&shop, &["init", "-q"]);
    git(&shop, &["add", "c.yaml"]);
    git(&shop, &["commit", "-qm", "first"]);
    git(&shop, &["worktree", "add", "-q", "../linked"]);
    approve_always(&place, "one", &[]);
    let in_linked = |args: &[&str]| place.run(&[args, &["--config", "linked/c.yaml"]].concat());
    let one = ["call", "note", "--args", r#"{"text":"one"}"#];
    let (code, _, warning) = in_linked(&one);
    assert!(code == 5 && warning.contains("do not apply in this worktree"), "{warning}");
    let mut terminal = Terminal::start(&place, &["trust", "--config", "linked/c.yaml"]);
    let page = terminal.press("y");
    assert!(page.contains("use your rules for ") && page.contains("`note`: "), "{page}");
    assert!(page.contains("and every rule that you add there later"), "{page}");
    assert_eq!(terminal.end().0, 0);
    assert_eq!(in_linked(&one).0, 0);
    let (_, listed, _) = in_linked(&["memory"]);
    assert!(listed.starts_with("project:main  1 rule of "), "{listed}");
    assert_eq!(in_linked(&["memory", "revoke", "project:main"]).0, 0);
    assert_eq!(in_linked(&one).0, 5);
    assert_eq!(changes(&place), ["rule_added /shop note", "rule_added /linked *", "rule_removed /linked *"]);
}
