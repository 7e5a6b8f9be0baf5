//! Tests approval by clients over HTTP: on the stream of the call, or by its result.

use std::net::SocketAddr;
use std::sync::Arc;

use askfirst::Approval::{None as Free, Required};
use askfirst_mcp::http::{Backend, Names, Target, serve_sessions};
use serde_json::{Value, json};

use crate::web::{Asking, Desk, Parts, Said, Web, answer_to, front, post, whole};

/// A server that opens a session.
fn with_sessions() -> Web {
    Web::start(|request, out| {
        let message = request.json();
        match message["method"].as_str() {
            Some(method) if message.get("id").is_some() => {
                let body = answer_to(method, &message).to_string();
                let headers = [("content-type", "application/json"), ("mcp-session-id", "S")];
                whole(out, "200 OK", &headers, body.as_bytes());
            }
            _ => whole(out, "202 Accepted", &[], b""),
        }
    })
}

/// One client with a session.
struct Client {
    address: SocketAddr,
    session: String,
}

impl Client {
    fn greet(address: SocketAddr, capabilities: Value) -> Self {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": capabilities, "clientInfo": {"name": "far", "version": "1"}}});
        let said = post(address, &[], hello.to_string().as_bytes()).said();
        assert_eq!(said.status, 200, "{said:?}");
        Self { address, session: said.headers["mcp-session-id"].clone() }
    }

    fn post(&self, message: &Value) -> Asking {
        let headers = [("mcp-session-id", self.session.as_str()), ("mcp-protocol-version", "2025-11-25")];
        post(self.address, &headers, message.to_string().as_bytes())
    }

    fn call(&self, id: u64, tool: &str) -> Asking {
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": {"n": id}}}))
    }

    fn answer(&self, asked: &Value, result: Value) -> Said {
        self.post(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).said()
    }
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"answer": "approve once"}})
}

/// Checks a whole approval request on the stream of its call.
fn is_asked_on_the_stream_of_its_call(client: &Client, tool: &str) {
    let mut asking = client.call(5, tool);
    let (status, headers) = asking.head();
    assert_eq!((status, headers["content-type"].as_str()), (200, "text/event-stream"));
    let asked = asking.event();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert!(asked["params"]["message"].as_str().unwrap().contains("far 1"), "{asked}");
    // Other calls continue, and an answer with another id is ignored.
    assert_eq!(client.answer(&json!({"id": "askfirst:ask-1"}), yes()).status, 202);
    assert_eq!(client.answer(&json!({"id": 5}), yes()).status, 202);
    assert_eq!(client.answer(&asked, yes()).status, 202);
    let told = asking.event();
    assert_eq!((&told["id"], &told["result"]["content"][0]["text"]), (&json!(5), &json!("done")), "{told}");
    assert_eq!(asking.piece(), None, "and that is all");
    let mut asking = client.call(6, tool);
    asking.head();
    let asked = asking.event();
    assert_eq!(client.answer(&asked, json!({"action": "decline"})).status, 202);
    let told = asking.event();
    assert_eq!((&told["id"], &told["result"]["isError"]), (&json!(6), &json!(true)));
}

#[test]
fn client_with_a_session_is_asked_on_the_stream_of_its_call() {
    let web = with_sessions();
    let desk = Desk::with(&web, Parts::asking_clients("maths", &[("ask", Required)]));
    let client = Client::greet(desk.address, json!({"elicitation": {}}));
    is_asked_on_the_stream_of_its_call(&client, "ask");
    let called: Vec<String> = web.methods().into_iter().filter(|method| method != "tools/list").collect();
    assert_eq!(called, ["initialize", "tools/call"], "the server hears of neither question nor answer");
    let silent = Client { address: desk.address, session: "T".to_owned() };
    assert!(silent.call(7, "ask").said().text().contains("no one to ask"), "it never said that it can");
}

#[test]
fn client_of_several_servers_is_asked_with_an_own_id() {
    let (one, other) = (with_sessions(), Web::plain());
    let gated = |web: &Web, parts: &Parts, name: &str| {
        Backend::address(name, Arc::clone(&parts.gateway), Target::new(&web.url(), None, None).unwrap())
    };
    let (maths, files) = (Parts::asking_clients("maths", &[]), Parts::asking_clients("files", &[]));
    let backends = vec![gated(&one, &maths, "maths"), gated(&other, &files, "files")];
    let (server, address) = front();
    std::thread::spawn(move || serve_sessions(server, backends, Names::Prefixed));
    let client = Client::greet(address, json!({"elicitation": {"form": {}}}));
    is_asked_on_the_stream_of_its_call(&client, "maths__ask");
    is_asked_on_the_stream_of_its_call(&client, "files__ask");
    // A canceled call withdraws its approval request under the id that the client knows.
    let mut asking = client.call(8, "maths__ask");
    asking.head();
    let asked = asking.event();
    let gone = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 8}});
    assert_eq!(client.post(&gone).said().status, 202);
    let over = asking.event();
    assert_eq!(
        (&over["method"], &over["params"]["requestId"]),
        (&json!("notifications/cancelled"), &asked["id"])
    );
    assert_eq!(client.answer(&asked, yes()).status, 202, "too late");
    let ran = |web: &Web| web.methods().iter().filter(|method| *method == "tools/call").count();
    assert_eq!((ran(&one), ran(&other)), (1, 1));
}

#[test]
fn only_the_client_that_made_the_call_is_asked() {
    let web = with_sessions();
    let parts = Parts::asking_clients("maths", &[]);
    let target = Target::new(&web.url(), None, None).unwrap();
    let backends = vec![Backend::address("maths", Arc::clone(&parts.gateway), target)];
    let (server, address) = front();
    std::thread::spawn(move || serve_sessions(server, backends, Names::Plain));
    let [one, other] =
        [json!({"elicitation": {}}), json!({"elicitation": {}})].map(|can| Client::greet(address, can));
    let mut first = one.call(1, "ask");
    first.head();
    let asked = first.event();
    let mut second = other.call(2, "ask");
    assert_eq!(one.answer(&asked, yes()).status, 202);
    assert_eq!(first.event()["result"]["content"][0]["text"], "done");
    second.head();
    let asked = second.event();
    assert!(asked["params"]["message"].as_str().unwrap().contains('2'), "{asked}");
    // A client that leaves withdraws its approval request.
    drop(second);
    let mut third = one.call(3, "ask");
    third.head();
    let asked = third.event();
    assert_eq!(one.answer(&asked, yes()).status, 202);
    assert_eq!(third.event()["id"], 3);
    assert_eq!(web.methods().iter().filter(|method| *method == "tools/call").count(), 2);
}

fn stateless(id: u64, args: &Value, more: Value) -> Value {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": id,
        "io.modelcontextprotocol/clientInfo": {"name": "newer", "version": "2"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}});
    let mut params = json!({"name": "ask", "arguments": args, "_meta": meta});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

const NEWER: [(&str, &str); 3] =
    [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "ask")];

fn send(address: SocketAddr, message: &Value) -> Value {
    post(address, &NEWER, message.to_string().as_bytes()).said().json()
}

fn back(state: &Value, answer: Value) -> Value {
    json!({"requestState": state, "inputResponses": {"approval": answer}})
}

#[test]
fn stateless_client_gets_the_request_as_a_result() {
    for names in [None, Some(Names::Plain)] {
        let web = Web::plain();
        let parts = Parts::asking_clients("maths", &[("add", Free)]);
        let gateway = Arc::clone(&parts.gateway);
        let (server, address) = front();
        let target = Target::new(&web.url(), None, None).unwrap();
        std::thread::spawn(move || match names {
            None => askfirst_mcp::http::serve(server, gateway, target),
            Some(names) => serve_sessions(server, vec![Backend::address("maths", gateway, target)], names),
        });
        let (args, none) = (json!({"x": 1}), json!({}));
        let ask = |id: u64| {
            let told = send(address, &stateless(id, &args, none.clone()));
            assert_eq!(told["result"]["resultType"], "input_required", "{told}");
            assert_eq!(told["result"]["inputRequests"]["approval"]["method"], "elicitation/create");
            told["result"]["requestState"].clone()
        };
        let state = ask(1);
        let told = send(address, &stateless(2, &args, back(&state, yes())));
        assert_eq!(
            (&told["id"], &told["result"]["content"][0]["text"]),
            (&json!(2), &json!("done")),
            "{told}"
        );
        let again = send(address, &stateless(3, &args, back(&state, yes())));
        assert_eq!(again["error"]["code"], -32602, "an answer counts once");
        let state = ask(4);
        let other = send(address, &stateless(5, &json!({"x": 2}), back(&state, yes())));
        assert_eq!(other["error"]["code"], -32602, "the answer was to other arguments");
        let state = ask(6);
        let told = send(address, &stateless(7, &args, back(&state, json!({"action": "decline"}))));
        assert_eq!(
            (&told["result"]["isError"], &told["result"]["resultType"]),
            (&json!(true), &json!("complete"))
        );
        let made_up = json!("askfirst:ask-0123");
        let told = send(address, &stateless(8, &args, back(&made_up, yes())));
        assert_eq!(told["error"]["code"], -32602, "what is ours by its name never reaches the server");
        let heard = web.heard.lock().unwrap();
        let called: Vec<Value> =
            heard.iter().map(|heard| heard.json()).filter(|heard| heard["method"] == "tools/call").collect();
        assert_eq!(called.len(), 1);
        assert_eq!(
            (&called[0]["id"], &called[0]["params"]["_meta"]["progressToken"]),
            (&json!(2), &json!(2))
        );
        let said = called[0].to_string();
        assert!(!said.contains("requestState") && !said.contains("inputResponses"), "{said}");
    }
}

#[test]
fn input_request_of_the_server_passes_and_is_judged_again() {
    let web = Web::start(|request, out| {
        let message = request.json();
        let mut answer = answer_to(message["method"].as_str().unwrap(), &message);
        if message["method"] == "tools/call" && message["params"]["requestState"] != "theirs" {
            answer["result"] = json!({"resultType": "input_required", "requestState": "theirs",
                "inputRequests": {"name": {"method": "elicitation/create", "params": {}}}});
        }
        whole(out, "200 OK", &[("content-type", "application/json")], answer.to_string().as_bytes());
    });
    let desk = Desk::with(&web, Parts::asking_clients("maths", &[]));
    let args = json!({"x": 1});
    let told = send(desk.address, &stateless(1, &args, json!({})));
    let told = send(desk.address, &stateless(2, &args, back(&told["result"]["requestState"], yes())));
    assert_eq!(told["result"]["requestState"], "theirs", "{told}");
    let theirs =
        json!({"requestState": "theirs", "inputResponses": {"name": {"action": "accept", "content": {}}}});
    let told = send(desk.address, &stateless(3, &args, theirs));
    assert_eq!(
        told["result"]["inputRequests"]["approval"]["method"], "elicitation/create",
        "asked again: {told}"
    );
    let told = send(desk.address, &stateless(4, &args, back(&told["result"]["requestState"], yes())));
    assert_eq!(told["result"]["content"][0]["text"], "done", "{told}");
    let heard = web.heard.lock().unwrap();
    let last = heard.last().unwrap().json();
    assert_eq!((&last["id"], &last["params"]["requestState"]), (&json!(4), &json!("theirs")));
    assert_eq!(last["params"]["inputResponses"], json!({"name": {"action": "accept", "content": {}}}));
}
