//! Tests of what a new user sees after a mistake, and of the commands that show what the config does.

use serde_json::{Value, json};

use crate::commands::Place;

const SHELL: &str = r#"
version: 1
sandbox: { require_os_sandbox: false, paths: { repo: { root: ., mode: rw } } }
shell:
  known_read_only: none
  rules: [{ pattern: "git status", approval: none }]
tools:
  hello: { command: [echo, hello], about: "Say hello", approval: none }
  denied: { command: [echo, denied], approval: deny }
  rows: [{ approval: none, when: { table: users } }, { approval: human }]
  "mcp__other__*": { approval: required }
mcp: { files: { command: [cat] } }
"#;

/// Returns the folder of a project whose config is not trusted.
fn untrusted() -> Place {
    let place = Place::new("version: 1\n");
    std::fs::write(place.path().join("askfirst.yaml"), SHELL).unwrap();
    place
}

#[test]
fn refusal_says_that_the_config_is_not_trusted() {
    let place = untrusted();
    let told = "the project's config is not trusted; hint: run `askfirst trust`";
    for (tool, args) in [("shell", r#"{"command":"ls"}"#), ("read_file", r#"{"path":"a"}"#), ("hello", "{}")]
    {
        let (code, _, complaint) = place.run(&["call", tool, "--args", args]);
        assert_eq!(code, 3);
        assert!(complaint.contains(told) && !complaint.contains("there is no tool"), "{tool}: {complaint}");
        let (_, printed, _) = place.run(&["explain", tool, "--args", args]);
        assert!(printed.contains(told), "{tool}: {printed}");
    }
    let (_, printed, _) = place.feed(&["decide"], b"{\"tool\":\"hello\"}\n{\"tool\":\"rows\"}\n");
    let verdicts: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].clone()).collect();
    assert_eq!(verdicts, ["deny", "ask"], "the last is a tool of another program");
    let (_, _, complaint) = place.run(&["call", "nonsense_of_no_one"]);
    assert!(complaint.contains("there is no tool `nonsense_of_no_one`"), "{complaint}");
}

#[test]
fn misspelled_tool_is_suggested() {
    let place = Place::new(SHELL);
    for (name, meant) in [("shel", "shell"), ("raed_file", "read_file"), ("helo", "hello")] {
        let (code, _, complaint) = place.run(&["call", name, "--config", "c.yaml"]);
        let told = format!("there is no tool `{name}`; hint: did you mean `{meant}`?");
        assert!(code == 3 && complaint.contains(&told), "{complaint}");
    }
    let (_, _, complaint) = place.run(&["call", "fetch_the_moon", "--config", "c.yaml"]);
    assert!(!complaint.contains("did you mean"), "{complaint}");
    let (_, _, complaint) = untrusted().run(&["call", "shel"]);
    assert!(complaint.contains("did you mean `shell`?"), "{complaint}");
}

#[test]
fn built_in_tool_without_its_section_is_explained() {
    let place = Place::new("version: 1\ntools: { shells: { command: [ls], approval: none } }\n");
    for (name, section) in [("shell", "shell"), ("read_file", "sandbox.paths")] {
        let (code, _, complaint) = place.run(&["call", name, "--config", "c.yaml"]);
        let told =
            format!("there is no tool `{name}`; hint: the config offers it with a section `{section}`");
        assert!(code == 3 && complaint.contains(&told), "{complaint}");
    }
    let (_, printed, _) = place.run(&["explain", "--config", "c.yaml", "--", "git", "status"]);
    assert!(printed.contains("a section `shell`"), "{printed}");
    let (_, _, complaint) = place.run(&["call", "worker_call", "--config", "c.yaml"]);
    assert!(!complaint.contains("hint"), "no section offers workers: {complaint}");
}

#[test]
fn line_that_is_not_json_is_named_with_an_example() {
    let place = Place::new(SHELL);
    let input = b"{\"tool\":\"denied\"}\ngit status\n\n{\"tool\":7}\n[1]\n";
    let (code, printed, complaint) = place.feed(&["run", "-", "--config", "c.yaml"], input);
    assert_eq!(code, 3);
    assert!(printed.contains("line 2: not valid JSON: expected value at column 1"), "{printed}");
    assert!(printed.contains("line 4: `tool` must be a name"), "{printed}");
    assert!(printed.contains("line 5: not valid JSON: expected an object, found a list"), "{printed}");
    let hint = r#"hint: each line is one call, such as {"tool": "read_file", "args": {"path": "README.md"}}"#;
    assert!(complaint.contains(hint), "{complaint}");
    let (_, printed, _) = place.feed(&["run", "-", "--json", "--config", "c.yaml"], input);
    let bad: Value = serde_json::from_str(printed.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&bad["line"], &bad["outcome"]), (&json!(2), &json!("bad_line")));
    assert!(hint.contains(bad["hint"].as_str().unwrap()), "{bad}");
}

#[test]
fn tools_lists_each_tool_with_its_verdict() {
    let place = Place::new(SHELL);
    let (code, printed, _) = place.run(&["tools", "--config", "c.yaml"]);
    assert_eq!(code, 0);
    let row = |name: &str| {
        let mut rows = printed.lines().filter(|row| row.split_whitespace().nth(1) == Some(name));
        let row = rows.next().unwrap_or_else(|| panic!("{name}: {printed}"));
        assert_eq!(rows.next(), None);
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("hello"), "runs hello tools.hello (c.yaml:8) Say hello [runs: echo hello]");
    assert_eq!(
        row("denied"),
        "denied denied tools.denied (c.yaml:9) Runs `echo denied`. [runs: echo denied]"
    );
    assert!(row("shell").starts_with("depends shell on its command Runs a command line"), "{printed}");
    assert!(row("read_file").starts_with("depends read_file on its path"), "{printed}");
    assert_eq!(row("rows"), "depends rows on its arguments rule for another program");
    assert_eq!(
        row("mcp__other__*"),
        "asks mcp__other__* tools.mcp__other__* (c.yaml:11) rule for another program"
    );
    assert_eq!(
        row("mcp__files__*"),
        "asks mcp__files__* default_approval tools of the MCP server `files`, behind `askfirst mcp`"
    );
    let (_, printed, _) = place.run(&["tools", "--json", "--config", "c.yaml"]);
    let listed: Value = serde_json::from_str(&printed).unwrap();
    let of = |name: &str| {
        listed["tools"].as_array().unwrap().iter().find(|tool| tool["tool"] == name).unwrap().clone()
    };
    assert_eq!((&of("hello")["verdict"], &of("hello")["offered"]), (&json!("allow"), &json!(true)));
    assert_eq!((&of("shell")["verdict"], &of("shell")["depends_on"]), (&json!(null), &json!("command")));
    assert_eq!((&of("rows")["offered"], &of("denied")["verdict"]), (&json!(false), &json!("deny")));
}

#[test]
fn tools_without_a_config_or_trust_says_what_to_do() {
    let (_, printed, _) = untrusted().run(&["tools"]);
    assert!(printed.contains("no tools: the project's config is not trusted"), "{printed}");
    let (_, printed, _) = Place::new("version: 1\n").run(&["tools"]);
    assert!(printed.contains("hint: use `askfirst init`"), "{printed}");
}

/// A client shows an empty list of tools without any reason.
#[test]
fn server_without_tools_says_what_to_do() {
    let (code, _, complaint) = Place::new("version: 1\n").run(&["serve", "--config", "c.yaml"]);
    assert!(
        code == 0 && complaint.contains("warning: no tools: no config defines one; hint:"),
        "{complaint}"
    );
    let (_, _, complaint) = untrusted().run(&["serve"]);
    assert!(complaint.contains("warning: no tools: the project's config is not trusted"), "{complaint}");
    let (_, _, complaint) = Place::new(SHELL).run(&["serve", "--config", "c.yaml"]);
    assert!(!complaint.contains("no tools"), "{complaint}");
}

#[test]
fn explain_and_decide_take_a_plain_command_line() {
    let place = Place::new(SHELL);
    let decided = |words: &[&str]| {
        let args = [&["decide", "--config", "c.yaml", "--"], words].concat();
        let (code, printed, complaint) = place.run(&args);
        assert_eq!(code, 0, "{complaint}");
        let line: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}"));
        assert_eq!(line["id"], json!(null));
        line["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(decided(&["git", "status"]), "allow");
    assert_eq!(decided(&["git status"]), "allow");
    assert_eq!(decided(&["git push"]), "ask");
    // One word is the whole line. Several words are exactly these words.
    assert_eq!(decided(&["ls; rm -r x"]), "ask");
    assert_eq!(decided(&["ls", ";", "rm", "-r", "x"]), "allow");
    assert_eq!(decided(&["ls", "$(rm x)", "`rm x`", "a'b", "a b", "*", "-l"]), "allow");
    for command in ["explain", "decide"] {
        assert_eq!(place.run(&[command, "--config", "c.yaml", "shell", "--", "ls"]).0, 2, "{command}");
    }
    assert_eq!(place.run(&["explain", "--config", "c.yaml"]).0, 2);
}

#[test]
fn words_of_a_command_line_are_quoted_for_the_shell() {
    let place = Place::new(SHELL);
    let line = |words: &[&str]| {
        let args = [&["explain", "--json", "--config", "c.yaml", "--"], words].concat();
        let explained: Value = serde_json::from_str(&place.run(&args).1).unwrap();
        explained["command"]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(line(&["git", "status"]), "git status");
    assert_eq!(line(&["echo", "a b", "it's", "", "$HOME", "x=1"]), r"echo 'a b' 'it'\''s' '' '$HOME' x=1");
    assert_eq!(line(&["A=1", "env"]), "'A=1' env", "a program, not a variable");
    assert_eq!(line(&["time", "ls"]), "'time' ls", "a program, not a word of the shell");
    assert_eq!(line(&["for x in a; do ls; done"]), "for x in a; do ls; done");
    // The shell reads the same words again.
    let words =
        ["printf", "%s\n", "a b", "it's", "", "$HOME", "#x", "~", "*", "\\", "a\nb", "é", "!!", "{a,b}"];
    let output = std::process::Command::new("bash").args(["-c", &line(&words)]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), words[2..].join("\n") + "\n");
}

#[test]
fn tool_of_another_program_is_judged_by_call_as_by_decide() {
    let config = "version: 1\ntools: { yes: { approval: none }, ask: { approval: required }, no: { approval: deny } }\n";
    let place = Place::new(config);
    let calls = ["yes", "ask", "no", "mcp__s__t", "unnamed"];
    let input: String = calls.iter().map(|tool| format!("{{\"tool\":\"{tool}\"}}\n")).collect();
    let (_, printed, _) = place.feed(&["decide", "--config", "c.yaml"], input.as_bytes());
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<&str> = lines.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["allow", "ask", "deny", "ask", "deny"]);
    for (tool, line) in calls.into_iter().zip(&lines) {
        let (code, _, complaint) = place.run(&["call", tool, "--config", "c.yaml"]);
        if line["verdict"] == "deny" {
            let reason = line["because"][0]["text"].as_str().unwrap();
            assert!(code == 3 && complaint.contains(reason), "{complaint}");
        } else {
            let told = format!("there is no tool `{tool}`");
            assert!(code == 1 && complaint.contains(&told) && !complaint.contains("refused"), "{complaint}");
        }
        let (_, explained, _) = place.run(&["explain", tool, "--config", "c.yaml"]);
        assert!(explained.contains(line["verdict"].as_str().unwrap()), "{explained}");
    }
}

#[test]
fn explain_reports_a_tool_that_is_not_offered() {
    let place = Place::new(SHELL);
    let (_, printed, _) = place.run(&["explain", "mcp__other__tool", "--config", "c.yaml"]);
    assert!(printed.contains("this config offers no tool of that name"), "{printed}");
    for name in ["hello", "shell"] {
        let (_, printed, _) = place.run(&["explain", name, "--config", "c.yaml"]);
        assert!(!printed.contains("no tool of that name"), "{printed}");
    }
}
