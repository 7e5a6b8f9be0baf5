//! Tests that allowed calls and all other messages pass unchanged.

use std::io::Write as _;

use askfirst::Approval::{Deny, None as Free};
use serde_json::json;

use crate::fixture::{Desk, tool};

#[test]
fn allowed_call_passes_byte_for_byte_and_is_logged() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add")]);
    let call = r#"{ "jsonrpc":"2.0",  "id":1,"method":"tools\/call","params":{"name":"add","arguments":{"a":1.50,"b":"\u00e9"},"_meta":{"x":1}} }"#;
    desk.say(call);
    assert_eq!(desk.received(), call);
    let answer = r#"{"id":1,  "jsonrpc":"2.0","result":{"content":[{"type":"text","text":"\u0033"}]}}"#;
    desk.reply(answer);
    assert_eq!(desk.hear(), answer);
    let notes = desk.notes.all.lock().unwrap().clone();
    let kinds: Vec<&str> = notes.iter().map(|note| note["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["decided", "executed"]);
    assert_eq!(notes[0]["call"]["tool_name"], "mcp__maths__add");
    assert_eq!(notes[0]["call"]["metadata"]["mcp_tool"], "add");
    assert!(notes[0]["call"]["definition"].is_string());
    assert_eq!(notes[1]["ended"], "done");
}

#[test]
fn other_messages_pass_both_ways_unchanged_and_in_order() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add")]);
    let mut sent = vec![
        r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"clientInfo":{"name":"c"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"x"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":10,"method":"unknown/method","params":[1,2]}"#.to_owned(),
    ];
    for n in 0..50 {
        sent.push(format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"add"}}}}"#,
            100 + n
        ));
        sent.push(format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"n":{n}}}}}"#));
    }
    for line in &sent {
        desk.say(line);
        assert_eq!(&desk.received(), line);
    }
    let back = [
        r#"{"jsonrpc":"2.0","id":10,"error":{"code":-32601,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}"#,
        r#"{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{"contents":[]}}"#,
    ];
    for line in back {
        desk.reply(line);
        assert_eq!(desk.hear(), line);
    }
    let answer = r#"{"jsonrpc":"2.0","id":"s1","result":{"role":"assistant"}}"#;
    desk.say(answer);
    assert_eq!(desk.received(), answer);
}

#[test]
fn denied_call_never_reaches_the_server_and_returns_the_reason() {
    let mut desk = Desk::new(&[("wipe", Deny), ("add", Free)]);
    desk.list(&[tool("wipe"), tool("add")]);
    desk.call(1, "wipe", json!({}));
    let told = desk.hear_json();
    assert_eq!(told["id"], 1);
    assert_eq!(told["result"]["isError"], true);
    let text = told["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("mcp__maths__wipe") && text.contains("because: "), "{text}");
    assert!(text.ends_with("these tools of `maths` run without asking: `add`"), "{text}");
    let call = desk.call(2, "add", json!({}));
    assert_eq!(desk.received(), call, "the next thing that the server hears of");
}

#[test]
fn refusal_has_the_format_of_the_clients_revision() {
    let mut desk = Desk::new(&[("wipe", Deny)]);
    desk.list(&[tool("wipe")]);
    desk.call(1, "wipe", json!({}));
    assert_eq!(desk.hear_json()["result"].get("resultType"), None);
    desk.say(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wipe","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#);
    assert_eq!(desk.hear_json()["result"]["resultType"], "complete");
}

#[test]
fn call_before_any_list_waits_for_the_gateways_own_list() {
    let mut desk = Desk::new(&[("add", Free)]);
    let call = desk.call(1, "add", json!({"a": 1}));
    let asked: serde_json::Value = serde_json::from_str(&desk.received()).unwrap();
    assert_eq!(asked["method"], "tools/list");
    let page =
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": [tool("other")], "nextCursor": "2"}});
    desk.reply(page.to_string());
    let asked: serde_json::Value = serde_json::from_str(&desk.received()).unwrap();
    assert_eq!(asked["params"]["cursor"], "2");
    desk.reply(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": [tool("add")]}}).to_string());
    assert_eq!(desk.received(), call);
    desk.reply(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    assert_eq!(desk.hear(), r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
}

#[test]
fn unknown_tool_is_refused() {
    let mut desk = Desk::new(&[("nothing", Free)]);
    desk.call(1, "nothing", json!({}));
    let asked: serde_json::Value = serde_json::from_str(&desk.received()).unwrap();
    desk.reply(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": [tool("add")]}}).to_string());
    let told = desk.hear_json();
    assert_eq!((&told["id"], &told["result"]["isError"]), (&json!(1), &json!(true)));
    assert_eq!(told.to_string().matches("there is no tool").count(), 1, "{told}");
}

// invariant: 1
#[test]
fn call_that_cannot_be_logged_does_not_run() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add")]);
    *desk.notes.full.lock().unwrap() = true;
    desk.call(1, "add", json!({}));
    let told = desk.hear_json();
    assert!(told["result"]["content"][0]["text"].as_str().unwrap().contains("audit log"), "{told}");
    *desk.notes.full.lock().unwrap() = false;
    let call = desk.call(2, "add", json!({}));
    assert_eq!(desk.received(), call);
}

#[test]
fn open_request_gets_an_error_when_the_server_ends() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add"), tool("ask")]);
    desk.call(1, "add", json!({}));
    desk.received();
    desk.call(2, "ask", json!({}));
    desk.say(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#);
    desk.received();
    desk.server_ends();
    let mut told: Vec<serde_json::Value> = (0..3).map(|_| desk.hear_json()).collect();
    told.sort_by_key(|message| message["id"].as_u64());
    assert_eq!(told[0]["result"]["isError"], true);
    assert_eq!(told[1]["result"]["isError"], true);
    assert_eq!(told[2]["error"]["code"], -32000);
}

#[test]
fn thousand_calls_are_in_flight_at_once() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add")]);
    for id in 0..1000 {
        desk.call(id, "add", json!({}));
        desk.received();
    }
    for id in (0..1000).rev() {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
        desk.reply(&answer);
        assert_eq!(desk.hear(), answer);
    }
    assert_eq!(desk.notes.all.lock().unwrap().len(), 2000);
}

#[test]
fn server_that_hangs_or_sends_too_much_is_reported() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.call(1, "add", json!({}));
    assert!(desk.received().contains("tools/list"));
    desk.gateway.heartbeat_after(1, std::time::Duration::ZERO);
    let told = desk.hear_json();
    assert_eq!((&told["id"], &told["result"]["isError"]), (&json!(1), &json!(true)));
    assert!(told.to_string().contains("`maths` has listed no tools"), "{told}");
    assert!(desk.told.lock().unwrap().iter().any(|text| text.contains("too long to list")));
    desk.list(&[tool("add")]);
    desk.call(2, "add", json!({}));
    desk.received();
    let mut flood = desk.server_ends_with();
    std::thread::spawn(move || {
        let piece = vec![b' '; 1 << 20];
        while flood.write_all(&piece).is_ok() {}
    });
    let told = desk.hear_json();
    assert_eq!((&told["id"], &told["result"]["isError"]), (&json!(2), &json!(true)));
    assert!(told.to_string().contains("too long"), "{told}");
}
