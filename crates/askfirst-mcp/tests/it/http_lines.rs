//! Tests lines on one side and HTTP on the other, and several servers at once.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use askfirst::Approval::{Deny, None as Free};
use askfirst_mcp::http::{Backend, Names, Target, serve_lines, serve_sessions};
use serde_json::{Value, json};

use crate::fixture::wait_for;
use crate::web::{Parts, Web, answer_to, call, events, front, post, request, whole};

/// A client on standard streams.
struct Client {
    out: Option<PipeWriter>,
    input: BufReader<PipeReader>,
}

impl Client {
    fn before(backends: Vec<Backend>, names: Names) -> Self {
        let (from_client, out) = pipe().unwrap();
        let (input, to_client) = pipe().unwrap();
        std::thread::spawn(move || {
            serve_lines(backends, names, BufReader::new(from_client), Box::new(to_client)).unwrap();
        });
        Self { out: Some(out), input: BufReader::new(input) }
    }

    fn say(&mut self, line: &str) {
        self.out.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.input.read_line(&mut line).unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    fn hear_json(&mut self) -> Value {
        serde_json::from_str(&self.hear()).unwrap()
    }
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn at(web: &Web, parts: &Parts) -> Backend {
    Backend::address("maths", Arc::clone(&parts.gateway), Target::new(&web.url(), None, None).unwrap())
}

/// A server with a session, a stream of its own, and calls whose stream breaks off before the answer.
fn broken_off() -> Web {
    Web::start(|request, out| match request.method.as_str() {
        "GET" if request.header("last-event-id").is_empty() => {
            events(out, &[]);
            let _ = out.write_all(
                b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
            );
            std::thread::sleep(Duration::from_secs(60));
        }
        "GET" => {
            events(out, &[]);
            let _ = out.write_all(
                b"id: 2\ndata: {\"jsonrpc\":\"2.0\",\ndata:  \"id\":1,\"result\":{\"content\":[]}}\n\n",
            );
            let _ = out.shutdown(std::net::Shutdown::Both);
        }
        "DELETE" => whole(out, "200 OK", &[], b""),
        _ => {
            let message = request.json();
            match message["method"].as_str() {
                Some("tools/call") => {
                    events(out, &[]);
                    let _ = out.write_all(b"id: 1\nretry: 60\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
                    let _ = out.shutdown(std::net::Shutdown::Both);
                }
                Some(method) if message.get("id").is_some() => {
                    let answer = answer_to(method, &message).to_string();
                    let headers = [("content-type", "application/json"), ("mcp-session-id", "S")];
                    whole(out, "200 OK", &headers, answer.as_bytes());
                }
                _ => whole(out, "202 Accepted", &[], b""),
            }
        }
    })
}

#[test]
fn client_on_standard_streams_keeps_its_http_session() {
    let (web, parts) = (broken_off(), Parts::new(&[("add", Free), ("wipe", Deny)]));
    let mut client = Client::before(vec![at(&web, &parts)], Names::Plain);
    client.say(HELLO);
    assert_eq!(client.hear_json()["result"]["serverInfo"]["name"], "s");
    client.say(READY);
    assert_eq!(client.hear_json()["method"], "notifications/tools/list_changed");
    client.say(&call(1, "add"));
    assert_eq!(client.hear_json()["method"], "notifications/message");
    assert_eq!(client.hear(), r#"{"jsonrpc":"2.0",  "id":1,"result":{"content":[]}}"#, "on one line");
    client.say(&call(2, "wipe"));
    assert_eq!(client.hear_json()["result"]["isError"], true);
    client.out = None;
    let heard = wait_for(|| {
        let heard = web.heard.lock().unwrap().clone();
        heard.iter().any(|request| request.method == "DELETE").then_some(heard)
    });
    assert_eq!(heard[0].header("mcp-session-id"), "");
    assert!(heard[1..].iter().all(|request| request.header("mcp-session-id") == "S"));
    assert!(heard[1..].iter().all(|request| request.header("mcp-protocol-version") == "2025-11-25"));
    assert!(heard.iter().any(|request| request.header("last-event-id") == "1"));
    let called: Vec<_> = web.methods().into_iter().filter(|method| method == "tools/call").collect();
    assert_eq!(called.len(), 1, "a call that broke off is not sent again");
    let kinds: Vec<Value> =
        parts.notes.all.lock().unwrap().iter().map(|note| note["ended"].clone()).collect();
    assert!(kinds.contains(&json!("done")), "{kinds:?}");
}

#[test]
fn stateless_message_gets_headers_and_cancels_by_closing() {
    let web = Web::start(|request, out| {
        let message = request.json();
        let mut answer = answer_to(message["method"].as_str().unwrap(), &message);
        if let Some(tool) = answer["result"]["tools"].get_mut(0) {
            tool["inputSchema"] = json!({"properties": {"to": {"type": "string", "x-mcp-header": "To"}}});
        }
        if message["params"]["name"] == "wipe" {
            events(out, &[]);
            let mut byte = [0];
            let _ = std::io::Read::read(out, &mut byte);
            return;
        }
        whole(out, "200 OK", &[("content-type", "application/json")], answer.to_string().as_bytes());
    });
    let parts = Parts::new(&[("add", Free), ("wipe", Free)]);
    let mut client = Client::before(vec![at(&web, &parts)], Names::Plain);
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1}"#;
    client.say(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"add","arguments":{{"to":"ä"}},{meta}}}}}"#));
    assert_eq!(client.hear_json()["id"], 1);
    client.say(&format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"wipe",{meta}}}}}"#
    ));
    wait_for(|| (web.methods().iter().filter(|method| *method == "tools/call").count() == 2).then_some(()));
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    wait_for(|| {
        let notes = parts.notes.all.lock().unwrap();
        notes.iter().any(|note| note["ended"] == "failed").then_some(())
    });
    let heard = web.heard.lock().unwrap();
    let said = |at: usize, name: &str| heard[at].header(name).to_owned();
    assert_eq!([said(0, "mcp-method"), said(0, "mcp-protocol-version")], ["tools/list", "2026-07-28"]);
    assert_eq!([said(1, "mcp-method"), said(1, "mcp-name")], ["tools/call", "add"]);
    assert_eq!(said(1, "mcp-param-to"), "=?base64?w6Q=?=");
    assert_eq!(heard.len(), 3, "giving up is no message");
}

#[test]
fn unreachable_server_is_reported_to_the_client() {
    let web = Web::start(|_, out| whole(out, "500 Internal Server Error", &[], b"boom"));
    let parts = Parts::new(&[("add", Free)]);
    let mut client = Client::before(vec![at(&web, &parts)], Names::Plain);
    client.say(HELLO);
    assert_eq!(client.hear_json()["error"]["code"], -32000);
    client.say(&call(1, "add"));
    assert_eq!(client.hear_json()["result"]["isError"], true);
}

const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "method" not in m:
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": m}}), flush=True)
        continue
    if "id" not in m:
        continue
    name = m.get("params", {}).get("name")
    if m["method"] == "tools/list":
        page = m.get("params", {}).get("cursor")
        r = {"tools": [{"name": "wipe", "inputSchema": {}}]} if page else {"tools": [{"name": "add", "inputSchema": {}}], "nextCursor": "2"}
    elif m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "resources": {}}, "serverInfo": {"name": "p", "version": "1"}, "instructions": "be nice"}
    elif m["method"] == "resources/list":
        r = {"resources": [{"uri": "file:///a", "name": "a"}]}
    elif m["method"] == "tools/call" and "die" in m["params"].get("arguments", {}):
        sys.exit(3)
    else:
        if m["method"] == "tools/call":
            print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}), flush=True)
            token = m["params"].get("_meta", {}).get("progressToken")
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token}}), flush=True)
        r = {"content": [{"type": "text", "text": str(name or m["params"])}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;

fn start() -> std::io::Result<Child> {
    Command::new("python3").args(["-c", SERVER]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

fn program(name: &str, parts: &Parts) -> Backend {
    Backend::program(name, Arc::clone(&parts.gateway), start)
}

#[test]
fn http_client_gets_its_own_program_and_its_messages() {
    let parts = Parts::new(&[("add", Free), ("wipe", Deny)]);
    let (front, address) = front();
    let backends = vec![program("maths", &parts)];
    std::thread::spawn(move || serve_sessions(front, backends, Names::Plain));
    let begun = post(address, &[], HELLO.as_bytes()).said();
    assert_eq!((begun.status, &begun.json()["result"]["protocolVersion"]), (200, &json!("2025-06-18")));
    let name = begun.headers["mcp-session-id"].clone();
    let session = [("mcp-session-id", name.as_str())];
    assert_eq!(post(address, &session, READY.as_bytes()).said().status, 202);
    let body = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"add","_meta":{"progressToken":"t"}}}"#;
    let said = post(address, &session, body.as_bytes()).said().text();
    let events: Vec<Value> = said
        .split("\n\n")
        .filter_map(|event| serde_json::from_str(event.split_once("data: ")?.1).ok())
        .collect();
    assert_eq!(events[0]["method"], "roots/list", "{said}");
    assert_eq!(events[1]["params"]["progressToken"], "t");
    assert_eq!(events[2]["id"], 5);
    let mut stream = request(address, "GET", &session, b"");
    assert_eq!(stream.head().0, 200);
    assert_eq!(request(address, "GET", &session, b"").said().status, 409);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#;
    assert_eq!(post(address, &session, answer.as_bytes()).said().status, 202);
    assert!(String::from_utf8(stream.piece().unwrap()).unwrap().contains("\"roots\""));
    assert_eq!(post(address, &session, call(6, "wipe").as_bytes()).said().json()["result"]["isError"], true);
    assert_eq!(post(address, &[], call(6, "add").as_bytes()).said().status, 400, "no session");
    assert_eq!(post(address, &[("mcp-session-id", "x")], call(6, "add").as_bytes()).said().status, 404);
    let dies =
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"die":1}}}"#;
    assert_eq!(post(address, &session, dies.as_bytes()).said().json()["result"]["isError"], true);
    wait_for(|| (post(address, &session, READY.as_bytes()).said().status == 404).then_some(()));
}

#[test]
fn stateless_requests_share_programs_unless_ambiguous() {
    let parts = Parts::new(&[("add", Free)]);
    let (front, address) = front();
    let backends = vec![program("maths", &parts)];
    std::thread::spawn(move || serve_sessions(front, backends, Names::Plain));
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "wipe")];
    let waiting: Vec<_> = (0..3).map(|_| post(address, &headers, call(1, "wipe").as_bytes())).collect();
    wait_for(|| (parts.notes.all.lock().unwrap().len() == 3).then_some(()));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "add")];
    let said = post(address, &headers, call(1, "add").as_bytes()).said();
    assert!(said.text().contains("\"id\": 1") && said.text().contains("add"), "{said:?}");
    drop(waiting);
    wait_for(|| (!parts.person.withdrawn.lock().unwrap().is_empty()).then_some(()));
    assert_eq!(request(address, "GET", &headers[..1], b"").said().status, 405);
}

#[test]
fn several_servers_are_merged_with_prefixed_names() {
    let (web, parts) = (Web::plain(), Parts::new(&[("add", Free), ("wipe", Deny)]));
    let other = Parts::named("notes", &[]);
    let backends = vec![at(&web, &parts), program("notes", &other)];
    let mut client = Client::before(backends, Names::Prefixed);
    client.say(HELLO);
    let hello = client.hear_json();
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "the older of the two");
    assert_eq!(hello["result"]["instructions"], "notes: be nice");
    client.say(READY);
    client.say(r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#);
    let list = client.hear_json();
    let names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["maths__add", "maths__wipe", "maths__ask", "notes__add", "notes__wipe"]);
    client.say(
        r#"{"jsonrpc":"2.0","id":1, "method":"tools/call","params":{"name":"maths__add","arguments":{}}}"#,
    );
    assert_eq!(client.hear_json()["id"], 1);
    let sent = web.heard.lock().unwrap().last().unwrap().body.clone();
    assert_eq!(
        String::from_utf8(sent).unwrap(),
        r#"{"jsonrpc":"2.0","id":1, "method":"tools/call","params":{"name":"add","arguments":{}}}"#
    );
    client.say(&call(2, "maths__wipe"));
    let told = client.hear_json();
    assert!(told["result"]["content"][0]["text"].as_str().unwrap().contains("mcp__maths__wipe"), "{told}");
    // No rule covers the tools of the other server, so a person is asked.
    client.say(&call(3, "notes__add"));
    other.person.answer(1, |question| {
        assert_eq!(question.members[0].request.tool_name, "mcp__notes__add");
        crate::fixture::yes()
    });
    let asked = client.hear_json();
    assert_eq!(asked["method"], "roots/list");
    assert_ne!(asked["id"], 1, "its id could be another server's too");
    assert_eq!(client.hear_json()["method"], "notifications/progress");
    assert_eq!(client.hear_json()["id"], 3);
    client.say(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":[]}}}}"#, asked["id"]));
    assert_eq!(client.hear_json()["params"]["data"]["id"], 1, "and it gets its own back");
    client.say(r#"{"jsonrpc":"2.0","id":4,"method":"resources/list"}"#);
    assert_eq!(client.hear_json()["result"]["resources"][0]["uri"], "file:///a");
    client.say(r#"{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"file:///a"}}"#);
    assert!(client.hear_json()["result"]["content"][0]["text"].as_str().unwrap().contains("file:///a"));
    for (method, code) in [("tasks/list", -32601), ("subscriptions/listen", -32601), ("x/y", -32601)] {
        client.say(&format!(r#"{{"jsonrpc":"2.0","id":6,"method":"{method}"}}"#));
        assert_eq!(client.hear_json()["error"]["code"], code, "{method}");
    }
    for name in ["add", "other__add", "notes_add", "maths__"] {
        client.say(&call(7, name));
        let told = client.hear_json();
        assert!(told["error"]["code"] == -32602 || told["result"]["isError"] == true, "{name}: {told}");
    }
    client.say(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#);
    assert_eq!(client.hear_json()["result"], json!({}));
}

#[test]
fn endless_list_of_one_server_is_cut_off() {
    // Each page is within its own limit, and has a next page.
    let web = Web::start(|request, out| {
        let message = request.json();
        let page: Vec<Value> = (0..10_000).map(|n| json!({"uri": n.to_string()})).collect();
        let result = match message["method"].as_str() {
            Some("resources/list") => json!({"resources": page, "nextCursor": "more"}),
            _ => json!({"protocolVersion": "2025-11-25", "capabilities": {"resources": {}}}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string();
        whole(out, "200 OK", &[("content-type", "application/json")], answer.as_bytes());
    });
    let (parts, other) = (Parts::new(&[]), Parts::named("notes", &[]));
    let backends = vec![at(&web, &parts), program("notes", &other)];
    let mut client = Client::before(backends, Names::Prefixed);
    client.say(r#"{"jsonrpc":"2.0","id":4,"method":"resources/list"}"#);
    let list = client.hear_json();
    // Each resource has 18 values, and the limit is 800,000: four pages fit, five do not.
    assert_eq!(list["result"]["resources"].as_array().unwrap().len(), 40_001, "the other's is there too");
}
