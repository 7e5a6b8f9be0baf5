//! What could be read in two ways reaches nobody.

use askfirst::Approval::None as Free;
use serde_json::json;

use crate::fixture::{Desk, tool};

/// Every line here tries to bring `wipe` past a gateway that allows `add`.
pub const SMUGGLED: [&str; 30] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"},"params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","\u006eame":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","Name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"NAME":"wipe","name":"add"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","Arguments":{"path":"/"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","Params":{"name":"wipe"},"params":{"name":"add"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","PARAMS":{"name":"wipe"}}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe"}}]"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wipe"}}]"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wipe"}}"#,
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"wipe\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\u{0}{\"method\":\"tools/call\"}",
    r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":{"a":1},"method":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"id":1,"method":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["wipe"]}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["wipe"]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":"{}"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"a":2}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":"\ud800"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe"},"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}} // {"name":"wipe"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"n":1e999}}}"#,
];

#[test]
fn nothing_smuggled_reaches_the_server_and_each_is_answered() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add"), tool("wipe")]);
    for line in SMUGGLED {
        desk.say(line);
        let told = desk.hear_json();
        assert!(told["error"]["code"].is_i64(), "{line}: {told}");
    }
    desk.say(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xff\xfe\"}}");
    assert_eq!(desk.hear_json()["error"]["code"], -32700);
    let call = desk.call(77, "add", json!({}));
    assert_eq!(desk.received(), call, "the first thing that the server hears of");
    assert_eq!(desk.person.count(), 0);
}

#[test]
fn methods_that_only_look_like_a_call_are_no_methods() {
    let mut desk = Desk::new(&[]);
    for (id, method) in
        ["Tools/Call", "tools/call ", "TOOLS/CALL", "tools/c\u{0430}ll"].into_iter().enumerate()
    {
        let line =
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": "wipe"}}).to_string();
        desk.say(&line);
        let told = desk.hear_json();
        assert_eq!(told["error"]["code"], -32601, "{method}: {told}");
    }
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add")]);
    let call = desk.call(1, "add", json!({}));
    assert_eq!(desk.received(), call);
    desk.say(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(desk.hear_json()["error"]["code"], -32600);
    desk.say(r#"{"jsonrpc":"2.0","id":"askfirst:1","method":"ping"}"#);
    assert_eq!(desk.hear_json()["error"]["code"], -32600);
}

#[test]
fn answers_that_nobody_asked_for_reach_nobody() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add")]);
    desk.say(r#"{"jsonrpc":"2.0","id":"s1","result":{}}"#);
    desk.reply(r#"{"jsonrpc":"2.0","id":55,"result":{}}"#);
    desk.reply("garbage");
    desk.reply(r#"{"jsonrpc":"2.0","id":"askfirst:1","result":{"tools":[]}}"#);
    let call = desk.call(1, "add", json!({}));
    assert_eq!(desk.received(), call);
    desk.reply(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    assert_eq!(desk.hear_json()["id"], 1);
    assert_eq!(desk.told.lock().unwrap().len(), 4);
}

#[test]
fn a_line_without_an_end_is_no_message() {
    let mut desk = Desk::new(&[("add", Free)]);
    let line = vec![b' '; askfirst_mcp::MAX_LINE + 10];
    desk.say(line);
    assert_eq!(desk.hear_json()["error"]["code"], -32600);
}

#[test]
fn an_end_of_line_inside_a_message_reaches_nobody_as_one() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add"), tool("wipe")]);
    // Many servers read lines with universal newlines: what stands between two of them would be a message of its own.
    let inner = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wipe"}}"#;
    desk.say(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"x\":\r{inner}\r}}}}"
    ));
    let received = desk.received();
    assert!(received.contains(inner) && !received.contains('\r'), "{received:?}");
}
