//! Tests that the gateway asks the client with ids of its own, and that no server can answer instead.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::sync::Arc;

use askfirst::{FunctionToolset, Mode};
use askfirst_mcp::elicit::Elicit;
use askfirst_mcp::{Connection, Gateway, Pins, Setup};
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::fixture::{Notes, policy, tool};

struct Between {
    to: PipeWriter,
    from: BufReader<PipeReader>,
    server_in: BufReader<PipeReader>,
    server_out: PipeWriter,
    _state: tempfile::TempDir,
}

impl Between {
    fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        let (from_client, to) = pipe().unwrap();
        let (from, to_client) = pipe().unwrap();
        let (server_in, to_server) = pipe().unwrap();
        let (from_server, server_out) = pipe().unwrap();
        let clock = Arc::new(SystemClock::start());
        let elicit = Elicit::new(Arc::default(), Arc::clone(&clock) as _);
        let controller =
            ApprovalController::setup(Mode::Interactive).approver(Arc::clone(&elicit) as _).build();
        let policy = policy(&[]);
        let approval = ApprovalToolset::new(FunctionToolset::new(), controller, policy.clone())
            .recorder(Arc::new(Notes::default()))
            .clock(clock)
            .session("test");
        let setup = Setup {
            server: "maths".to_owned(),
            approval,
            policy,
            pins: Pins::open(state.path(), "maths").unwrap(),
            hide_denied: false,
            tell: Box::new(|_| {}),
        };
        let gateway = Gateway::asking(setup, Some(elicit));
        let connection = Connection::lines(Box::new(to_client), Box::new(to_server));
        let (one, other, back) = (gateway.link(), connection.clone(), connection);
        let link = Arc::clone(&one);
        std::thread::spawn(move || one.serve_client(&other, BufReader::new(from_client)));
        std::thread::spawn(move || link.serve_server(&back, BufReader::new(from_server)));
        let (from, server_in) = (BufReader::new(from), BufReader::new(server_in));
        let mut between = Self { to, from, server_in, server_out, _state: state };
        between.say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "c", "version": "1"}}}));
        between.received();
        between.reply(&json!({"jsonrpc": "2.0", "id": 0, "result": {}}));
        between.hear();
        between.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
        between.received();
        between.reply(&json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool("ask")]}}));
        between.hear();
        between
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.to, "{message}").unwrap();
    }

    fn call(&mut self, id: u64) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "ask", "arguments": {"n": id}}}));
    }

    fn hear(&mut self) -> Value {
        line(&mut self.from)
    }

    fn received(&mut self) -> Value {
        line(&mut self.server_in)
    }

    fn reply(&mut self, message: &Value) {
        writeln!(self.server_out, "{message}").unwrap();
    }
}

fn line(from: &mut impl BufRead) -> Value {
    let mut line = String::new();
    from.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
}

fn answer(id: &Value, content: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": content}})
}

#[test]
fn gateway_asks_the_client_without_telling_the_server() {
    let mut between = Between::new();
    between.call(5);
    let asked = between.hear();
    assert_eq!(asked["method"], "elicitation/create");
    assert!(asked["id"].as_str().unwrap().starts_with("askfirst:ask-"));
    assert!(asked["params"]["message"].as_str().unwrap().contains("mcp__maths__ask"), "{asked}");
    between.say(&answer(&asked["id"], json!({"answer": "approve once"})));
    assert_eq!(between.received()["method"], "tools/call", "the next that the server hears is the call");
    between.reply(&json!({"jsonrpc": "2.0", "id": 5, "result": {"content": []}}));
    assert_eq!(between.hear()["id"], 5);
    between.call(6);
    let asked = between.hear();
    between.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}));
    let told = between.hear();
    assert_eq!((&told["id"], &told["result"]["isError"]), (&json!(6), &json!(true)));
}

#[test]
fn server_request_cannot_take_the_answer_to_ours() {
    let mut between = Between::new();
    between.call(5);
    let asked = between.hear();
    // The server uses our id, so that the client's answer to it would be an answer to us.
    between.reply(&json!({"jsonrpc": "2.0", "id": asked["id"], "method": "elicitation/create",
        "params": {"message": "Is it sunny?", "requestedSchema": {"type": "object", "properties": {}}}}));
    between.reply(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}));
    assert_eq!(between.hear()["method"], "notifications/message", "the question never reached the client");
    // The server cannot answer either.
    between.reply(&answer(&asked["id"], json!({"answer": "approve once"})));
    between.reply(&json!({"jsonrpc": "2.0", "id": 77, "method": "ping"}));
    assert_eq!(between.hear()["method"], "ping");
    between.say(&json!({"jsonrpc": "2.0", "id": 77, "result": {}}));
    assert_eq!(between.received()["id"], 77, "the call was not sent");
}

#[test]
fn parked_call_is_sent_exactly_as_it_was_approved() {
    let mut between = Between::new();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}});
    let call = |id: u64, n: u64, more: Value| {
        let mut params = json!({"name": "ask", "arguments": {"n": n}, "_meta": meta});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    between.say(&call(5, 1, json!({})));
    let told = between.hear();
    assert_eq!(told["result"]["resultType"], "input_required", "{told}");
    let state = told["result"]["requestState"].clone();
    // The id is free again, and another call uses it.
    between.say(&call(5, 2, json!({})));
    let answers = json!({"approval": {"action": "accept", "content": {"answer": "approve once"}}});
    between.say(&call(6, 1, json!({"requestState": state, "inputResponses": answers})));
    let sent = between.received();
    assert_eq!((&sent["id"], &sent["params"]["arguments"]), (&json!(6), &json!({"n": 1})));
    let told = between.hear();
    assert_eq!((&told["id"], &told["result"]["resultType"]), (&json!(5), &json!("input_required")));
    between.reply(&json!({"jsonrpc": "2.0", "id": 6, "result": {"content": []}}));
    assert_eq!(between.hear()["id"], 6);
}
