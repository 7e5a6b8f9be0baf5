//! Tests of the memory that a gateway holds.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::commands::Place;
use crate::person::Terminal;

const CONFIG: &str = "version: 1\nledger: { path: ./record.jsonl }\n";

const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    tools = {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    result = {"tools/list": tools, "initialize": hello}.get(message["method"], {"content": []})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Returns the size of the memory of a process, in kB.
fn resident_size(id: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

fn post(address: &str, headers: &str, body: &Value) -> TcpStream {
    let (mut stream, body) = (TcpStream::connect(address).unwrap(), body.to_string());
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// Opens a session. Returns the headers of its requests.
fn begin(address: &str) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    let (mut stream, mut head) = (post(address, "", &hello), Vec::new());
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let name = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    format!("Mcp-Session-Id: {name}\r\nMcp-Protocol-Version: 2025-11-25\r\n")
}

/// Waits until a condition holds, for at most two minutes.
fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(120);
    while !holds() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(100));
    }
    holds()
}

#[test]
fn gateway_returns_the_memory_of_large_asked_calls() {
    const CALLS: usize = 8;
    let place = Place::new(CONFIG);
    std::fs::write(place.path().join("server.py"), SERVER).unwrap();
    let mut terminal = Terminal::start(
        &place,
        &[
            "mcp",
            "--config",
            "c.yaml",
            "--name",
            "srv",
            "--listen",
            "127.0.0.1:0",
            "--no-token",
            "--command",
            "python3",
            "server.py",
        ],
    );
    terminal.wait_for("listening at http://");
    let address = terminal.wait_for("/mcp");
    let headers = begin(&address);
    let before = resident_size(terminal.id());
    // Each call takes about 7 MB in memory, several times.
    let call = |id: usize| {
        let args = json!({"n": id, "rows": vec![json!({"a": 1}); 11_000]});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "ask", "arguments": args}})
    };
    let calls: Vec<TcpStream> = (1..=CALLS).map(|id| post(&address, &headers, &call(id))).collect();
    assert!(eventually(|| resident_size(terminal.id()) > before + CALLS * 7_000), "the calls are not held");
    drop(calls);
    let id = terminal.id();
    let returned = eventually(|| resident_size(id) < before + 20_000);
    assert!(returned, "{} kB of {before} kB before", resident_size(id));
}
