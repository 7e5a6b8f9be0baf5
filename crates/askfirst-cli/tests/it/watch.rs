//! Tests of `watch` on one terminal with sessions that have none: real ptys, the real binary, real sockets.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::commands::Place;
use crate::person::Terminal;

const CONFIG: &str = r#"
version: 1
sandbox: { require_os_sandbox: false }
ledger: { path: ./record.jsonl }
tools:
  note: { command: [echo, --, "{text}"], args: { text: { type: string } } }
  free: { command: [echo, free], approval: none }
"#;

/// A secret of the sessions that ask. The watcher's own environment does not have it.
const SECRET: &str = "correct-horse-battery-staple";

const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    if message["method"] == "tools/list":
        result = {"tools": [{"name": "ask", "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}}]}
    else:
        result = {"content": [{"type": "text", "text": "ran"}], "_meta": message.get("params")}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// A program without a terminal that reads and writes lines.
struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Client {
    fn start(place: &Place, args: &[&str]) -> Self {
        Self::with(place, "c.yaml", args)
    }

    fn with(place: &Place, config: &str, args: &[&str]) -> Self {
        let mut command = Command::new("setsid");
        command.args(["--wait", env!("CARGO_BIN_EXE_askfirst"), "--config", config]).args(args);
        command.current_dir(place.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        place.alone(&mut command);
        command.env("MAIL_TOKEN", SECRET);
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, to, from }
    }

    /// Starts our own server and completes the handshake.
    fn served(place: &Place, args: &[&str], capabilities: &Value) -> Self {
        Self::start(place, &[&["serve"], args].concat()).greeted(capabilities)
    }

    /// Completes the handshake with our own server.
    fn greeted(mut self, capabilities: &Value) -> Self {
        let client = &mut self;
        client.say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "desk", "version": "1"}}}));
        assert!(client.hear()["result"]["serverInfo"]["name"] == "askfirst");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        self
    }

    fn gateway(place: &Place) -> Self {
        std::fs::write(place.path().join("server.py"), SERVER).unwrap();
        Self::start(place, &["mcp", "--name", "srv", "--", "python3", "server.py"])
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.to.as_mut().unwrap(), "{message}").unwrap();
    }

    fn call(&mut self, id: u32, tool: &str, args: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": args}}));
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    fn text(&mut self) -> (bool, String) {
        let told = self.hear();
        let text = told["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{told}"));
        (told["result"]["isError"] == true, text.to_owned())
    }

    fn end(mut self) {
        self.to = None;
        self.child.wait().unwrap();
    }
}

fn watch(place: &Place) -> Terminal {
    let mut terminal = Terminal::start(place, &["watch"]);
    terminal.wait_for("waiting for requests");
    terminal
}

#[test]
fn request_without_an_approver_is_refused_with_a_hint() {
    let place = Place::new(CONFIG);
    let mut client = Client::served(&place, &[], &json!({}));
    client.call(1, "free", json!({}));
    assert!(!client.text().0);
    client.call(2, "note", json!({"text": "one"}));
    let (refused, text) = client.text();
    assert!(refused && text.contains("no one to ask") && text.contains("askfirst watch"), "{text}");
    assert!(text.contains("`free`"), "what would be allowed is told: {text}");
    client.end();
    assert_eq!(place.run(&["watch"]).0, 5, "watch needs a terminal");
}

#[test]
fn watch_answers_a_gateway_and_a_server_one_at_a_time() {
    let place = Place::new(CONFIG);
    let mut terminal = watch(&place);
    let (mut gateway, mut server) = (Client::gateway(&place), Client::served(&place, &[], &json!({})));
    gateway.call(1, "ask", json!({"x": "from the gateway"}));
    terminal.wait_for("from the gateway");
    server.call(2, "note", json!({"text": format!("from the server {SECRET}")}));
    let page = terminal.press("y");
    assert!(page.contains("mcp `srv`"), "who asks is shown: {page}");
    assert_eq!(gateway.text(), (false, "ran".to_owned()));
    let page = terminal.press("n");
    assert!(page.contains("serve in") && page.contains("from the server"), "{page}");
    assert!(!page.contains(SECRET), "what the session hides is hidden here: {page}");
    let (refused, text) = server.text();
    assert!(refused && text.contains("person"), "{text}");
    gateway.end();
    server.end();
    let (code, verified, _) = place.run(&["--config", "c.yaml", "log", "verify"]);
    assert_eq!(code, 0, "{verified}");
}

#[test]
fn no_under_on_denial_stop_ends_gateway_and_server_sessions() {
    for setting in ["return", "stop"] {
        let place = Place::new(&format!("on_denial: {setting}\n{CONFIG}"));
        let mut terminal = watch(&place);
        let server = Client::served(&place, &[], &json!({}));
        for (mut client, tool, key) in [(Client::gateway(&place), "ask", "x"), (server, "note", "text")] {
            client.call(1, tool, json!({key: "first request"}));
            terminal.wait_for("first request");
            terminal.press("n");
            assert!(client.text().0, "{tool}");
            client.call(2, tool, json!({key: "second request"}));
            if setting == "return" {
                terminal.wait_for("second request");
                terminal.press("y");
            }
            let (refused, text) = client.text();
            assert_eq!(
                (refused, text.contains("the run was stopped")),
                (setting == "stop", setting == "stop"),
                "{text}"
            );
            client.end();
        }
    }
}

#[test]
fn killed_session_removes_its_request_from_the_watcher() {
    let place = Place::new(CONFIG);
    let mut terminal = watch(&place);
    let mut gateway = Client::gateway(&place);
    gateway.call(1, "ask", json!({"x": "first"}));
    terminal.wait_for("ready:");
    gateway.child.kill().unwrap();
    terminal.wait_for("withdrawn");
    gateway.child.wait().unwrap();
    let mut server = Client::served(&place, &[], &json!({}));
    server.call(2, "note", json!({"text": "second"}));
    terminal.wait_for("second");
    terminal.press("y");
    assert!(!server.text().0);
    server.end();
}

#[test]
fn killed_watcher_counts_as_lost_and_the_next_is_asked() {
    let place = Place::new(CONFIG);
    let mut terminal = watch(&place);
    let mut server = Client::served(&place, &[], &json!({}));
    server.call(1, "note", json!({"text": "first"}));
    terminal.wait_for("ready:");
    terminal.kill();
    let (refused, text) = server.text();
    assert!(refused && text.contains("terminal lost"), "{text}");
    server.call(2, "note", json!({"text": "second"}));
    assert!(server.text().1.contains("no one to ask"));
    let mut next = watch(&place);
    server.call(3, "note", json!({"text": "third"}));
    next.wait_for("third");
    next.press("y");
    assert!(!server.text().0);
    // A second watcher does not take over.
    let mut other = Terminal::start(&place, &["watch"]);
    other.wait_for("another `askfirst watch` is already running");
    assert_eq!(other.end().0, 2);
    server.end();
}

#[test]
fn watcher_restores_its_terminal_on_a_signal() {
    let place = Place::new(CONFIG);
    let mut terminal = watch(&place);
    let mut server = Client::served(&place, &[], &json!({}));
    server.call(1, "note", json!({"text": "first"}));
    terminal.wait_for("ready:");
    terminal.signal(rustix::process::Signal::TERM);
    assert!(server.text().1.contains("terminal lost"));
    terminal.wait_for("withdrawn");
    assert_eq!(terminal.end().0, 0);
    assert!(!place.path().join("state/askfirst/watch/socket").exists());
    server.end();
}

#[test]
fn cancelled_call_disappears_from_the_watcher() {
    let place = Place::new(CONFIG);
    let mut terminal = watch(&place);
    let mut server = Client::served(&place, &[], &json!({}));
    server.call(1, "note", json!({"text": "first"}));
    terminal.wait_for("ready:");
    server.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    terminal.wait_for("withdrawn, the call was canceled");
    server.end();
}

#[test]
fn arguments_edited_at_the_watcher_are_checked_by_schema() {
    let place = Place::new(CONFIG);
    let editor = place.path().join("editor.sh");
    let script = "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n\ncase $n in 0) echo '{\"x\": 7}';; *) echo '{\"x\": \"seven\"}';; esac > \"$1\"\n";
    std::fs::write(&editor, script).unwrap();
    let editor = format!("sh {}", editor.display());
    let mut terminal = Terminal::with(&place, &["watch"], &[("EDITOR", &editor)]);
    terminal.wait_for("waiting for requests");
    let mut gateway = Client::gateway(&place);
    gateway.call(1, "ask", json!({"x": "one"}));
    terminal.press("e");
    terminal.wait_for("arguments are invalid");
    terminal.press("e");
    terminal.wait_for("edited, to be checked again");
    let page = terminal.press("y");
    assert!(page.contains("seven"), "{page}");
    let told = gateway.hear();
    assert_eq!(told["result"]["_meta"]["arguments"], json!({"x": "seven"}), "{told}");
    gateway.end();
}

#[test]
fn yes_for_always_can_be_given_at_the_watcher() {
    let place = Place::new("");
    std::fs::create_dir(place.path().join("shop")).unwrap();
    std::fs::write(place.path().join("shop/c.yaml"), CONFIG).unwrap();
    let server = || Client::with(&place, "shop/c.yaml", &["serve"]).greeted(&json!({}));
    let mut terminal = watch(&place);
    let mut first = server();
    first.call(1, "note", json!({"text": "one"}));
    let page = terminal.press("a");
    assert!(page.contains("a always here…"), "{page}");
    let page = terminal.press("a");
    assert!(page.contains("in the project: ") && page.contains("/shop"), "{page}");
    assert!(!first.text().0);
    first.end();
    terminal.kill();
    let mut later = server();
    later.call(1, "note", json!({"text": "one"}));
    assert!(!later.text().0, "no one is asked");
    later.call(2, "note", json!({"text": "two"}));
    assert!(later.text().0);
    later.end();
}
