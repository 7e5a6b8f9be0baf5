//! Tests that a secret in place of a name is in no error, no reason and no audit log.

use crate::commands::Place;

const CONFIG: &str = r#"
version: 1
sandbox: { paths: { work: { root: ., mode: rw } } }
ledger: { path: ./record.jsonl }
shell: { default: { approval: required } }
tools:
  echo: { command: [echo, --, "{text}"], args: { text: { type: string } }, approval: none }
"#;

/// Returns a token, built from parts so that no scanner reports this file as a leak.
fn token() -> String {
    format!("ghp{}{}", "_", "aB3dE6gH9".repeat(4))
}

#[test]
fn secret_in_place_of_a_name_is_never_printed() {
    let (place, token) = (Place::new(CONFIG), token());
    let args = format!(r#"{{"{token}":1}}"#);
    let twice = format!(r#"{{"{token}":1,"{token}":2}}"#);
    let command = format!(r#"{{"command":"ls","{token}":1}}"#);
    let path = format!(r#"{{"path":"{token}"}}"#);
    let lines = format!(
        "{{\"tool\":\"{token}\"}}\n{{\"tool\":\"echo\",\"{token}\":1}}\n{{\"tool\":\"echo\",\"args\":{args}}}\n\
         {{\"tool\":\"echo\",\"args\":{twice}}}\n{{\"tool\":\"x\",\"args\":{{\"{token}\":{{}}}}}}\n"
    );
    let mut said = Vec::new();
    for words in [
        vec!["call", &token],
        vec!["call", "echo", "--args", &args],
        vec!["call", "echo", "--args", &twice],
        vec!["call", "read_file", "--args", &path],
        vec!["call", "shell", "--args", &command],
        vec!["explain", &token],
        vec!["explain", "echo", "--args", &args],
        vec!["explain", "shell", "--args", &command],
        vec!["run", "-"],
        vec!["log"],
    ] {
        for more in [&["--config", "c.yaml"][..], &["--config", "c.yaml", "--json"]] {
            let (_, out, err) = place.feed(&[&words[..], more].concat(), lines.as_bytes());
            said.push((format!("{words:?} {more:?}"), out + &err));
        }
    }
    let (_, out, err) = place.feed(&["decide", "--config", "c.yaml"], lines.as_bytes());
    let told = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        // A request contains the arguments as they were sent, because the caller asks about them.
        if let Some(request) = line["request"].as_object_mut() {
            request.remove("args");
            request.remove("payload");
        }
        line.to_string()
    };
    said.push(("decide".to_owned(), out.lines().map(told).collect::<String>() + &err));
    said.push((
        "the audit log".to_owned(),
        std::fs::read_to_string(place.path().join("record.jsonl")).unwrap(),
    ));
    let hidden = |text: &str| text.contains("‹secret: ") || text.contains("\\u2039secret: ");
    for (what, text) in said {
        assert!(!text.contains(&token), "{what}: {text}");
        assert!(hidden(&text) || what.contains("--json") && what.contains("explain"), "{what}: {text}");
    }
}

#[test]
fn value_that_the_config_calls_secret_is_in_no_error() {
    let config = format!("{CONFIG}secrets: {{ args: [where, path] }}\n");
    let place = Place::new(&config);
    let args = ["call", "read_file", "--config", "c.yaml", "--args", r#"{"path":"not-for-anybody"}"#];
    let (code, out, err) = place.run(&args);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(!err.contains("not-for-anybody") && err.contains("does not exist"), "{err}");
}

#[test]
fn password_of_a_command_is_never_printed_or_logged() {
    let config = format!(
        "{CONFIG}  lg: {{ command: [docker, login, -p, \"{{pw}}\"], args: {{ pw: {{ type: string }} }} }}\n"
    );
    let place = Place::new(&config);
    for (tool, args) in [
        ("shell", r#"{"command":"docker login -u me -p hunter2secret r.example"}"#),
        ("shell", r#"{"command":"mysql -phunter2secret --frobnicate"}"#),
        ("exec", r#"{"argv":["docker","login","-p","hunter2secret"]}"#),
        ("exec", r#"{"argv":["redis-cli","-a","hunter2secret"]}"#),
        ("lg", r#"{"pw":"hunter2secret"}"#),
    ] {
        for words in
            [&["explain"][..], &["explain", "--json"], &["call", "--strict"], &["call", "--strict", "--json"]]
        {
            let args = [words, &["--config", "c.yaml", tool, "--args", args]].concat();
            let (_, out, err) = place.run(&args);
            assert!(!out.contains("hunter2") && !err.contains("hunter2"), "{args:?}: {out}{err}");
        }
    }
    let record = std::fs::read_to_string(place.path().join("record.jsonl")).unwrap();
    assert!(!record.contains("hunter2") && record.matches("‹secret: ").count() > 10, "{record}");
}
