//! Tests of the commands through the binary: exit codes, hostile input, and no command that hangs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const CONFIG: &str = r#"
version: 1
sandbox: { require_os_sandbox: false }
ledger: { path: ./record.jsonl }
tools:
  hello: { command: [echo, hello], approval: none }
  fails: { command: ["false"], approval: none }
  asks: { command: [echo, asked] }
  person: { command: [echo, person], approval: human }
  denied: { command: [echo, denied], approval: deny }
  echo: { command: [echo, --, "{text}"], args: { text: { type: string } }, approval: none }
  touch: { command: [touch, --, "{path}"], args: { path: { type: string } } }
"#;

/// A folder with a config. Commands in it have no other config and no terminal.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("c.yaml"), config).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("setsid");
        command
            .arg("--wait")
            .arg(env!("CARGO_BIN_EXE_askfirst"))
            .args(args)
            .current_dir(self.path())
            .stdin(Stdio::null());
        self.alone(&mut command);
        command
    }

    /// Hides the user's own config and state from a command.
    pub(crate) fn alone(&self, command: &mut Command) {
        crate::hook::outside_of_agents(command)
            .env("HOME", self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("XDG_CONFIG_HOME", self.path().join("config"));
    }

    /// Builds a command that runs as on a machine without namespaces, and without a terminal.
    pub(crate) fn without_namespaces(&self, args: &[&str]) -> Command {
        let mut command = without_namespaces(args);
        command.current_dir(self.path()).stdin(Stdio::null());
        self.alone(&mut command);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> (i32, String, String) {
        told(self.command(args).output().unwrap())
    }

    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> (i32, String, String) {
        feed(self.command(args), input)
    }

    /// Runs a command with this standard output. Returns its exit code and its standard error.
    pub(crate) fn writing_into(&self, args: &[&str], stdout: Stdio) -> (i32, String) {
        let child = self.command(args).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        let (code, _, err) = told(child.wait_with_output().unwrap());
        (code, err)
    }
}

/// Builds a command that runs as on a machine without namespaces, and without a terminal.
pub(crate) fn without_namespaces(args: &[&str]) -> Command {
    let mut command = Command::new("setsid");
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    command
        .args(["--wait", "unshare", "-Ur", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_askfirst")])
        .args(args);
    command
}

pub(crate) fn feed(mut command: Command, input: &[u8]) -> (i32, String, String) {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    told(output)
}

pub(crate) fn told(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn exit_code_matches_the_help_for_each_outcome() {
    let place = Place::new(CONFIG);
    let code = |args: &[&str]| place.run(args).0;
    assert_eq!(code(&["call", "hello", "--config", "c.yaml"]), 0);
    assert_eq!(code(&["call", "fails", "--config", "c.yaml"]), 1);
    assert_eq!(code(&["call", "hello", "--config", "c.yaml", "--args", "{"]), 2);
    assert_eq!(code(&["call", "hello", "--config", "missing.yaml"]), 2);
    assert_eq!(code(&["call", "hello", "--approve-all", "--strict", "--config", "c.yaml"]), 2);
    assert_eq!(code(&["call", "denied", "--config", "c.yaml"]), 3);
    assert_eq!(code(&["call", "denied", "--approve-all", "--config", "c.yaml"]), 3);
    assert_eq!(code(&["call", "nope", "--config", "c.yaml"]), 3);
    assert_eq!(code(&["call", "asks", "--strict", "--config", "c.yaml"]), 3);
    assert_eq!(code(&["call", "asks", "--config", "c.yaml"]), 5);
    assert_eq!(code(&["call", "person", "--approve-all", "--config", "c.yaml"]), 5);
    assert_eq!(code(&["call", "asks", "--approve-all", "--config", "c.yaml"]), 0);
    std::fs::remove_file(place.path().join("record.jsonl")).unwrap();
    std::fs::create_dir(place.path().join("record.jsonl")).unwrap();
    assert_eq!(code(&["call", "hello", "--config", "c.yaml"]), 6);
}

#[test]
fn call_without_a_terminal_names_both_flags() {
    let (code, _, complaint) = Place::new(CONFIG).run(&["call", "asks", "--config", "c.yaml"]);
    assert_eq!(code, 5);
    assert!(complaint.contains("hint: use --approve-all to run it anyway, or --strict"), "{complaint}");
}

/// An agent reads the outcome, and only a person may decide to approve everything.
#[test]
fn outcome_for_an_agent_names_no_flag_that_approves() {
    let place = Place::new(CONFIG);
    let (code, printed, complaint) = place.run(&["call", "asks", "--json", "--config", "c.yaml"]);
    assert_eq!(code, 5);
    let told = "the call needs approval, but no one can be asked: there is no terminal\"";
    assert!(printed.contains(told) && !printed.contains("approve-all"), "{printed}");
    assert_eq!(complaint.matches("hint: use --approve-all").count(), 1, "{complaint}");
}

#[test]
fn run_exits_with_the_highest_code_and_continues_after_refusal() {
    let place = Place::new(CONFIG);
    let calls = b"{\"tool\":\"hello\"}\nnot json\n{\"tool\":\"denied\"}\n\n{\"tool\":\"echo\",\"args\":{\"text\":\"last\"}}\n";
    let (code, printed, _) = place.feed(&["run", "-", "--strict", "--json", "--config", "c.yaml"], calls);
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: Vec<&str> = lines.iter().map(|line| line["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["done", "bad_line", "denied", "done"]);
    assert_eq!(lines[3]["result"]["stdout"], "-- last\n");
    assert_eq!(lines[2]["refusal"]["cause"], "policy");
    assert_eq!(code, 3);
}

#[test]
fn decide_refuses_mode_flags() {
    let place = Place::new(CONFIG);
    assert_eq!(place.run(&["decide", "--strict", "--config", "c.yaml"]).0, 2);
    assert_eq!(place.run(&["decide", "--approve-all", "--config", "c.yaml"]).0, 2);
}

#[test]
fn decide_answers_in_order_and_denies_invalid_lines() {
    let place = Place::new(CONFIG);
    let mut input: Vec<u8> = Vec::new();
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    let mut line = |bytes: &[u8], id: &'static str, verdict: &'static str| {
        input.extend(bytes);
        input.push(b'\n');
        wanted.push((id, verdict));
    };
    line(br#"{"id":"a","tool":"hello"}"#, "\"a\"", "allow");
    line(br#"{"id":{"x":[1]},"tool":"asks","args":{},"metadata":{"caller":"me"}}"#, r#"{"x":[1]}"#, "ask");
    line(br#"{"id":9007199254740993,"tool":"denied"}"#, "9007199254740993", "deny");
    let deep = format!(r#"{{"id":1,"tool":"x","args":{}1{}}}"#, "{\"a\":".repeat(5000), "}".repeat(5000));
    let long = format!(r#"{{"id":1,"tool":"x","args":{{"s":"{}"}}}}"#, "y".repeat(20 << 20));
    let bad: Vec<Vec<u8>> = vec![
        b"{".to_vec(),
        b"[]".to_vec(),
        b"null".to_vec(),
        b"{} {}".to_vec(),
        br#"{"id":1,"tool":"hello","tool":"denied"}"#.to_vec(),
        br#"{"id":1,"tool":"hello","args":{"a":1,"a":2}}"#.to_vec(),
        br#"{"id":1,"tool":"hello","args":[]}"#.to_vec(),
        br#"{"id":1,"tool":7}"#.to_vec(),
        br#"{"id":1,"tool":""}"#.to_vec(),
        br#"{"id":1,"args":{}}"#.to_vec(),
        br#"{"id":1,"tool":"hello","Args":{}}"#.to_vec(),
        br#"{"id":1,"tool":"hello","args":{"n":1e999}}"#.to_vec(),
        br#"{"id":1,"tool":"hello","args":{"n":123456789012345678901234567890}}"#.to_vec(),
        b"{\"id\":1,\"tool\":\"\xff\"}".to_vec(),
        br#"{"id":1,"tool":"\ud800"}"#.to_vec(),
        b"\0\0\0".to_vec(),
        deep.into_bytes(),
        long.into_bytes(),
    ];
    for bytes in &bad {
        line(bytes, "null", "deny");
    }
    line(br#"{"id":"z","tool":"hello"}"#, "\"z\"", "allow");
    let (code, printed, _) = place.feed(&["decide", "--config", "c.yaml"], &input);
    assert_eq!(code, 0);
    let lines: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), wanted.len());
    for (line, (id, verdict)) in lines.iter().zip(wanted) {
        assert_eq!(
            (line["id"].to_string().as_str(), line["verdict"].as_str().unwrap()),
            (id, verdict),
            "{line:.200}"
        );
        assert!(!line["because"].as_array().unwrap().is_empty());
    }
}

#[test]
fn decide_writes_no_audit_log() {
    let place = Place::new(CONFIG);
    place.feed(&["decide", "--config", "c.yaml"], b"{\"id\":1,\"tool\":\"denied\"}\n");
    assert!(!place.path().join("record.jsonl").exists());
    assert!(!place.path().join("state").exists());
}

#[test]
fn decide_answers_each_line_before_the_next() {
    let place = Place::new(CONFIG);
    let mut child = place
        .command(&["decide", "--config", "c.yaml"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    for id in 0..3 {
        writeln!(stdin, r#"{{"id":{id},"tool":"hello"}}"#).unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
        assert!(line.starts_with(&format!(r#"{{"id":{id},"#)), "{line}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn tool_gets_one_argument_no_terminal_and_no_environment() {
    let config = r#"
version: 1
sandbox: { require_os_sandbox: false }
tools:
  env: { command: [env], approval: none }
"#;
    let place = Place::new(config);
    let output =
        place.command(&["call", "env", "--config", "c.yaml"]).env("MY_SECRET_THING", "x").output().unwrap();
    let (_, printed, _) = told(output);
    assert!(printed.contains("PATH=") && !printed.contains("MY_SECRET_THING"), "{printed}");
}

// invariant: 4
#[test]
fn missing_sandbox_is_asked_about_or_refused() {
    let tools = "tools: { hello: { command: [echo, hello], approval: none } }";
    let verdict = |sandbox: &str| {
        let place = Place::new(&format!("version: 1\n{sandbox}\n{tools}\n"));
        let command = place.without_namespaces(&["decide", "--config", "c.yaml"]);
        let (_, printed, _) = feed(command, b"{\"id\":1,\"tool\":\"hello\"}\n");
        let line: Value = serde_json::from_str(&printed).unwrap();
        line["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(""), "ask");
    assert_eq!(verdict("sandbox: { require_os_sandbox: false }"), "allow");
    assert_eq!(verdict("sandbox: { require_os_sandbox: true }"), "deny");
    let code = |fallback: &str| {
        let sandbox = format!("sandbox: {{ require_os_sandbox: true, os_sandbox_fallback: {fallback} }}");
        let place = Place::new(&format!("version: 1\n{sandbox}\n{tools}\n"));
        told(place.without_namespaces(&["call", "hello", "--config", "c.yaml", "--json"]).output().unwrap())
    };
    let (exit, printed, complaint) = code("fail_fast");
    assert!(exit == 3 && printed.is_empty() && complaint.contains("requires an OS sandbox"), "{complaint}");
    let (exit, printed, _) = code("refuse_tools");
    assert!(exit == 3 && printed.contains("no_walls"), "{printed}");
}

#[test]
fn untrusted_project_grants_nothing_and_can_still_deny() {
    let place = Place::new("version: 1");
    let user = place.path().join("config/askfirst");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(
        user.join("askfirst.yaml"),
        "version: 1\ntools: { a: { approval: none }, b: { approval: none } }\n",
    )
    .unwrap();
    std::fs::write(
        place.path().join("askfirst.yaml"),
        "version: 1\ntools: { a: { approval: deny }, c: { approval: none }, run: { command: [id], approval: none } }\n",
    )
    .unwrap();
    let calls = b"{\"tool\":\"a\"}\n{\"tool\":\"b\"}\n{\"tool\":\"c\"}\n";
    let (_, printed, _) = place.feed(&["decide"], calls);
    let verdicts: Vec<String> = printed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(verdicts, ["deny", "allow", "ask"]);
    assert_eq!(
        place.run(&["call", "run", "--approve-all"]).0,
        3,
        "a program of an untrusted config is not offered"
    );
    assert_eq!(place.run(&["trust"]).0, 5, "trust needs a person");
}

#[test]
fn hostile_text_is_printed_escaped() {
    let place = Place::new(CONFIG);
    let name = "evil\u{1b}[2J\u{202e}\u{7}";
    let (_, printed, complaint) = place.run(&["call", name, "--config", "c.yaml"]);
    for text in [printed, complaint] {
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{text:?}");
    }
}

/// A third-party parser panics on this text, and its panic message would contain the text.
#[test]
fn command_that_the_parser_fails_on_is_printed_escaped() {
    let root = "sandbox: { require_os_sandbox: false, paths: { repo: { root: ., mode: rw } } }";
    let place = Place::new(&format!("version: 1\n{root}\nshell: {{ default: {{ approval: none }} }}\n"));
    let command = "\u{1b}[2J``${\\\\$(}`\u{68b}";
    let args = serde_json::json!({ "command": command }).to_string();
    let (_, printed, complaint) = place.run(&["explain", "shell", "--config", "c.yaml", "--args", &args]);
    assert!(printed.contains("the parser failed on this text"), "{printed} {complaint}");
    for text in [printed, complaint] {
        assert!(!text.contains('\u{1b}') && !text.contains("panicked"), "{text:?}");
    }
}

#[test]
fn help_man_completions_and_schema_are_printed() {
    let place = Place::new(CONFIG);
    let (code, help, _) = place.run(&["--help"]);
    assert!(code == 0 && help.contains("Exit codes:") && help.contains("decide"));
    assert!(place.run(&["call", "--help"]).1.contains("UNSAFE"));
    assert!(place.run(&["memory", "--help"]).1.contains("your rules for this project"));
    let page = place.run(&["man"]).1;
    assert!(page.contains(".TH askfirst") && !page.contains("help(1)"), "{page}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(place.run(&["completions", shell]).1.contains("decide"), "{shell}");
    }
    let schema: Value = serde_json::from_str(&place.run(&["schema"]).1).unwrap();
    assert!(schema["properties"]["tools"].is_object());
}

/// Returns a command with all commands below it, as their help lists them.
fn commands_below(place: &Place, command: &str) -> Vec<String> {
    let words = command.split('-').skip(1).chain(["--help"]);
    let help = place.run(&words.collect::<Vec<_>>()).1;
    let list = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    let names = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let below = names.flat_map(|name| commands_below(place, &format!("{command}-{name}")));
    std::iter::once(command.to_owned()).chain(below).collect()
}

#[test]
fn man_folder_gets_one_page_per_command() {
    let place = Place::new(CONFIG);
    assert_eq!(place.run(&["man", "--dir", "new/man1"]).0, 0);
    let pages = std::fs::read_dir(place.path().join("new/man1")).unwrap();
    let mut pages: Vec<String> = pages.map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    let mut expected: Vec<String> =
        commands_below(&place, "askfirst").iter().map(|command| format!("{command}.1")).collect();
    pages.sort();
    expected.sort();
    assert_eq!(pages, expected);
    assert!(expected.contains(&"askfirst-mcp-wrap.1".to_owned()), "{expected:?}");

    let (code, _, complaint) = place.run(&["man", "--dir", "c.yaml"]);
    assert!(code == 2 && complaint.contains("cannot write man pages to `c.yaml`"), "{complaint}");
}

#[test]
fn every_command_prints_json_with_the_flag() {
    let place = Place::new(CONFIG);
    place.run(&["call", "hello", "--config", "c.yaml"]);
    for args in [
        &["call", "hello"][..],
        &["call", "denied"],
        &["explain", "asks"],
        &["effective"],
        &["log"],
        &["log", "verify"],
        &["memory"],
        &["doctor"],
        &["migrate", "c.yaml"],
    ] {
        let args: Vec<&str> = args.iter().copied().chain(["--json", "--config", "c.yaml"]).collect();
        let (_, printed, complaint) = place.run(&args);
        assert!(!printed.is_empty(), "{args:?}: {complaint}");
        for line in printed.lines() {
            serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{args:?}: {e}: {line}"));
        }
    }
}

#[test]
fn demo_runs_unattended_with_mode_flags() {
    let place = Place::new(CONFIG);
    let (code, printed, _) = place.run(&["demo", "--approve-all"]);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("refused  shell: the rule `sudo` denies this command")
            && printed.contains("ran      send_letter"),
        "{printed}"
    );
    assert_eq!(printed.matches("; `askfirst undo ").count(), 6, "{printed}");
    assert!(printed.contains("restored what it removed"), "{printed}");
    assert!(printed.contains("`app/.git/hooks/pre-commit`: the built-in list has"), "{printed}");
    let (code, printed, _) = place.run(&["demo", "--strict"]);
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("ran      shell: Welcome\n           1 changed; `askfirst undo "), "{printed}");
    assert!(printed.contains("`app/package.json`: it can run or control programs"), "{printed}");
    assert!(printed.contains("it tried to reach the network"), "{printed}");
    assert!(printed.contains("restored what it removed"), "{printed}");
    assert!(printed.contains("ran      list_files") && printed.contains("refused  edit_file"), "{printed}");
    assert_eq!(place.run(&["demo"]).0, 5);
}

/// Returns the verdict of `decide` for one call in a folder.
fn verdict(place: &Place, folder: &str, call: &str) -> String {
    let config = place.path().join("c.yaml").display().to_string();
    let mut command = place.command(&["decide", "--config", &config]);
    command.current_dir(place.path().join(folder));
    let (_, out, err) = feed(command, call.as_bytes());
    let answer: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    answer["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn path_rule_applies_to_the_file_that_the_tool_would_access() {
    let place = Place::new(
        r#"
version: 1
sandbox:
  require_os_sandbox: false
  paths: { r: { root: ., mode: rw, approval: { write: required } } }
tools:
  write_file: [{ approval: none, when: { path: ./cache/ } }]
  read_file: [{ approval: deny, when: { path: ./cache/ } }, { approval: none }]
  custom: [{ approval: none, when: { path: ./cache/ } }, { approval: required }]
  show: { command: [cat, --, "{path}"], args: { path: { type: string } }, approval: none, when: { path: ./cache/ } }
"#,
    );
    std::fs::create_dir(place.path().join("cache")).unwrap();
    std::fs::write(place.path().join("cache/a"), "").unwrap();
    let cached = place.path().join("cache/a").display().to_string();
    let cases = [
        ("write_file", "cache/a", [".", "cache"], "allow"),
        ("write_file", "r:cache/a", [".", "cache"], "allow"),
        ("write_file", "secret.txt", [".", "cache"], "ask"),
        ("write_file", "r:secret.txt", [".", "cache"], "ask"),
        ("write_file", "cache/../secret.txt", [".", "cache"], "ask"),
        ("read_file", "cache/a", [".", "cache"], "deny"),
        ("read_file", "r:cache/a", [".", "cache"], "deny"),
        ("read_file", "r:/./cache//a", [".", "cache"], "deny"),
        ("show", "cache/a", [".", "cache"], "allow"),
        ("show", "secret.txt", [".", "cache"], "ask"),
        ("custom", cached.as_str(), [".", "cache"], "allow"),
        ("custom", "cache/a", [".", "."], "allow"),
        // If it is unknown what a path is relative to, no rule gets milder.
        ("custom", "a", ["cache", "cache"], "ask"),
        ("custom", "cache/a", ["cache", "cache"], "ask"),
    ];
    for (tool, path, folders, wanted) in cases {
        for folder in folders {
            let args = serde_json::json!({"path": path, "content": ""});
            let mut args = args.as_object().unwrap().clone();
            args.retain(|key, _| key == "path" || tool == "write_file");
            let call = serde_json::json!({"id": 1, "tool": tool, "args": args}).to_string();
            assert_eq!(verdict(&place, folder, &call), wanted, "{tool} of {path} in {folder}");
        }
    }
    let elsewhere = r#"{"id": 1, "tool": "custom", "args": {"path": "cache/a", "cwd": "cache/../.."}}"#;
    assert_eq!(verdict(&place, ".", elsewhere), "ask");
}
