//! Tests that no command prints passwords, and that every command prints the reason for a verdict.

use crate::commands::Place;
use crate::person::Terminal;

const CONFIG: &str = r#"
version: 1
sandbox: { require_os_sandbox: false, paths: { work: { root: ., mode: rw } } }
ledger: { path: ./record.jsonl }
secrets: { args: [pin, phrase] }
shell: { default: { approval: required } }
tools:
  login: { command: [echo, "{user}", "{password}"], args: { user: { type: string }, password: { type: string } }, approval: none }
  asks: { command: [echo, "{phrase}", "{pin}"], args: { pin: { type: integer }, phrase: { type: string } } }
"#;

#[test]
fn explain_redacts_only_the_passwords_of_a_command() {
    let place = Place::new(CONFIG);
    let line = r#"{"command":"mysql -phunter2; PGPASSWORD=hunter2 psql; X_TOKEN=./evil.sh true;./evil.sh"}"#;
    let words = r#"{"argv":["mysql","-phunter2","x"]}"#;
    let path = r#"{"path":"/nope/password=hunter2"}"#;
    for (tool, args, told) in
        [("shell", line, "./evil.sh"), ("exec", words, "mysql"), ("read_file", path, "/nope")]
    {
        for more in [&["--config", "c.yaml"][..], &["--config", "c.yaml", "--json"]] {
            let (_, out, err) = place.run(&[&["explain", tool, "--args", args], more].concat());
            assert!(!(out.clone() + &err).contains("hunter2"), "{tool} {more:?}: {out}{err}");
            assert!(out.contains(told), "{tool} {more:?}: {out}{err}");
        }
    }
    let (_, out, _) =
        place.run(&["explain", "login", "--args", r#"{"user":"u","password":"t"}"#, "--config", "c.yaml"]);
    let folder = place.path().canonicalize().unwrap();
    assert!(out.contains(&*folder.to_string_lossy()), "our own fact is redacted: {out}");
}

#[test]
fn refusals_and_results_repeat_no_secrets() {
    let place = Place::new(CONFIG);
    let refused = r#"{"user":"u","password":"-hunter2xyzzy"}"#;
    for more in [&["--config", "c.yaml"][..], &["--config", "c.yaml", "--json"]] {
        let (code, out, err) = place.run(&[&["call", "login", "--args", refused], more].concat());
        assert!(code != 0 && !(out.clone() + &err).contains("hunter2"), "{out}{err}");
    }
    let line = r#"{"tool":"login","args":{"user":"ada","password":"hunter2xyzzy"}}"#;
    let (_, out, err) = place.feed(&["run", "-", "--config", "c.yaml"], line.as_bytes());
    assert!(out.contains("→ ada") && !(out.clone() + &err).contains("hunter2"), "{out}{err}");
}

#[test]
fn memory_redacts_the_secrets_of_each_sessions_config() {
    let place = Place::new(CONFIG);
    let line = |phrase: &str| format!(r#"{{"tool":"asks","args":{{"pin":13371337,"phrase":"{phrase}"}}}}"#);
    let lines = [line("correct horse"), line("battery staple")].join("\n");
    std::fs::write(place.path().join("calls.jsonl"), lines).unwrap();
    let mut terminal = Terminal::start(&place, &["run", "calls.jsonl", "--config", "c.yaml"]);
    terminal.approve_for_session();
    terminal.wait_for("14 characters");
    for words in [&["memory"][..], &["memory", "--json"]] {
        let (_, out, err) = place.run(words);
        assert!(out.contains("asks"), "{out}{err}");
        assert!(!out.contains("13371337") && !out.contains("correct"), "{out}{err}");
    }
    terminal.press("n");
    terminal.end();
}
