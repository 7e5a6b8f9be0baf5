//! Tests of our own server over HTTP: it checks clients like the gateway, and uses the same pipeline.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

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

const TOKEN: &str = "a-token-that-is-long-enough-to-be-taken-0123456789";

struct HttpServer {
    child: Child,
    address: String,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response: its status, its session and its last message.
struct Answer {
    status: u16,
    session: Option<String>,
    message: Value,
}

impl HttpServer {
    fn start(place: &Place) -> Self {
        Self::with(place, &[])
    }

    fn with(place: &Place, args: &[&str]) -> Self {
        let mut command = Command::new("setsid");
        command.args(["--wait", env!("CARGO_BIN_EXE_askfirst"), "--config", "c.yaml"]);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(args).env("ASKFIRST_TOKEN", TOKEN);
        command.current_dir(place.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        place.alone(&mut command);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url =
            lines.find_map(|line| line.unwrap().split_once("listening at ").map(|(_, url)| url.to_owned()));
        std::thread::spawn(move || lines.for_each(drop));
        let address = url.unwrap().strip_prefix("http://").unwrap().trim_end_matches("/mcp").to_owned();
        Self { child, address }
    }

    /// Sends a request with these headers in addition to the common ones.
    fn post(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.send(headers, &body.to_string())
    }

    fn send(&self, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.stream(headers, body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
        let header = |line: &str| line.to_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned);
        let session = head.lines().find_map(|line| header(line).map(|_| line[16..].to_owned()));
        let mut messages = body
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data:").unwrap_or(line).trim()).ok());
        Answer { status, session, message: messages.next_back().unwrap_or_default() }
    }

    /// Sends a request and returns the response as a stream.
    fn stream(&self, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let mut head = format!("POST /mcp HTTP/1.0\r\nContent-Length: {}\r\n", body.len());
        let usual = [
            ("Host", self.address.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let missing = usual.iter().filter(|(name, _)| headers.iter().all(|(given, _)| given != name));
        for (name, value) in missing.chain(headers) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        stream
    }

    fn begin(&self) -> String {
        let token = format!("Bearer {TOKEN}");
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "far", "version": "1"}}});
        let answer = self.post(&[("Authorization", &token)], &hello);
        assert_eq!(
            (answer.status, &answer.message["result"]["serverInfo"]["name"]),
            (200, &json!("askfirst"))
        );
        let session = answer.session.unwrap();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.in_session(&session, &ready).status, 202);
        session
    }

    fn in_session(&self, session: &str, body: &Value) -> Answer {
        let token = format!("Bearer {TOKEN}");
        self.post(
            &[("Authorization", &token), ("Mcp-Session-Id", session), ("Mcp-Protocol-Version", "2025-11-25")],
            body,
        )
    }
}

fn call(id: u32, tool: &str, args: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": args}})
}

#[test]
fn http_client_without_token_or_from_elsewhere_is_refused() {
    let place = Place::new(CONFIG);
    let served = HttpServer::start(&place);
    let token = format!("Bearer {TOKEN}");
    let free = call(1, "free", json!({}));
    assert_eq!(served.post(&[], &free).status, 401);
    assert_eq!(served.post(&[("Authorization", "Bearer wrong")], &free).status, 401);
    assert_eq!(served.post(&[("Authorization", &token), ("Host", "evil.example")], &free).status, 403);
    assert_eq!(
        served.post(&[("Authorization", &token), ("Origin", "https://evil.example")], &free).status,
        403
    );
    assert_eq!(served.post(&[("Authorization", &token), ("Content-Type", "text/plain")], &free).status, 415);
    assert_eq!(served.post(&[("Authorization", &token)], &free).status, 400, "no session");
    assert!(
        !place.path().join("record.jsonl").exists() || {
            let record = std::fs::read_to_string(place.path().join("record.jsonl")).unwrap();
            !record.contains("free") && !record.contains(TOKEN)
        }
    );
}

#[test]
fn http_serves_both_revisions_and_separates_sessions() {
    let place = Place::new(CONFIG);
    let served = HttpServer::start(&place);
    let (one, other) = (served.begin(), served.begin());
    assert_ne!(one, other);
    for session in [&one, &other] {
        let told = served.in_session(session, &call(1, "free", json!({})));
        assert_eq!(told.message["result"]["structuredContent"]["stdout"], "free\n", "{}", told.message);
        let told = served.in_session(session, &call(2, "note", json!({"text": "x"})));
        assert!(told.message.to_string().contains("no one to ask"), "{}", told.message);
    }
    assert_eq!(served.in_session("made-up", &call(1, "free", json!({}))).status, 404);
    let twice = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"free","name":"note"}}"#;
    let token = format!("Bearer {TOKEN}");
    let told = served.send(&[("Authorization", &token), ("Mcp-Session-Id", &one)], twice);
    assert!(told.message["error"]["code"].is_number(), "{}", told.message);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "newer", "version": "2"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let mut body = call(4, "free", json!({}));
    body["params"]["_meta"] = meta;
    let headers = [
        ("Authorization", token.as_str()),
        ("Mcp-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "free"),
    ];
    let told = served.post(&headers, &body);
    assert_eq!(told.message["result"]["resultType"], "complete", "{}", told.message);
    let other_name = [headers[0], headers[1], headers[2], ("Mcp-Name", "note")];
    assert_eq!(served.post(&other_name, &body).status, 400, "header and body disagree");
}

#[test]
fn http_client_is_answered_by_the_watcher() {
    let place = Place::new(CONFIG);
    let mut terminal = Terminal::start(&place, &["watch"]);
    terminal.wait_for("waiting for requests");
    let served = std::sync::Arc::new(HttpServer::start(&place));
    let session = served.begin();
    let (asking, of) = (std::sync::Arc::clone(&served), session.clone());
    let asked =
        std::thread::spawn(move || asking.in_session(&of, &call(1, "note", json!({"text": "from afar"}))));
    terminal.wait_for("from afar");
    // Other calls continue meanwhile.
    let told = served.in_session(&session, &call(2, "free", json!({})));
    assert_eq!(told.message["result"]["structuredContent"]["stdout"], "free\n");
    terminal.press("y");
    let told = asked.join().unwrap();
    assert_eq!(told.message["result"]["structuredContent"]["stdout"], "-- from afar\n", "{}", told.message);
}

#[test]
fn http_client_with_elicitation_is_asked_by_stream_or_result() {
    let place = Place::new(CONFIG);
    let served = HttpServer::with(&place, &["--ask-by", "elicitation"]);
    let (session, token) = (served.begin(), format!("Bearer {TOKEN}"));
    let headers = [
        ("Authorization", token.as_str()),
        ("Mcp-Session-Id", &session),
        ("Mcp-Protocol-Version", "2025-11-25"),
    ];
    let body = call(1, "note", json!({"text": "hello"})).to_string();
    let mut lines = BufReader::new(served.stream(&headers, &body)).lines();
    let mut next = || {
        let data = lines.find_map(|line| line.unwrap().strip_prefix("data:").map(str::to_owned)).unwrap();
        serde_json::from_str::<Value>(&data).unwrap()
    };
    let asked = next();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let yes = json!({"action": "accept", "content": {"answer": "approve once"}});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes});
    assert_eq!(served.in_session(&session, &answer).status, 202);
    assert_eq!(next()["result"]["structuredContent"]["stdout"], "-- hello\n");
    let newer = |id: u32, more: Value| {
        let mut body = call(id, "note", json!({"text": "newer"}));
        body["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "newer", "version": "2"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}});
        body["params"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let headers = [
            ("Authorization", token.as_str()),
            ("Mcp-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "note"),
        ];
        served.post(&headers, &body).message
    };
    let told = newer(2, json!({}));
    assert_eq!(told["result"]["resultType"], "input_required", "{told}");
    let state = &told["result"]["requestState"];
    let told = newer(3, json!({"requestState": state, "inputResponses": {"approval": yes}}));
    assert_eq!(told["result"]["structuredContent"]["stdout"], "-- newer\n", "{told}");
}
