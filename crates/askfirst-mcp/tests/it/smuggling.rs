//! Tests that ambiguous messages are never forwarded.

use askfirst::Approval::None as Free;
use askfirst::when::{Condition, Test};
use askfirst::{Approval, Because, Case, Policy, Rules, SandboxStatus, ToolEntry};
use serde_json::json;

use crate::fixture::{Desk, tool};

/// Each line tries to smuggle `wipe` past a gateway that allows `add`.
pub const SMUGGLED: [&str; 55] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"},"params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","\u006eame":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","Name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"NAME":"wipe","name":"add"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","Arguments":{"path":"/"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","argument\u017f":{"path":"/"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","ARGUMENTſ":{"path":"/"},"arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","reque\u017ftState":"x"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tool\u017f/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"table":"a","Table":"b"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"key":"a","\u212aey":"b"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"\u017fql":"a","sql":"b"}}}"#,
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
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","name\u0000":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name\u0000 of the tool":"wipe","name":"add"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","name\u0085":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","other\u007f":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","na\u200bme":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","\uff4eame":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"," name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments\u0000":{"path":"/"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"path":"a","path\u0000":"/"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"path\u0001":"/"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"path":"a","pa\u00adth":"/"}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{"progressToken":1,"progressToken\u0000":2}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{"progresstoken":2}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"},"params\u0000":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","method\u0000":"tools/call","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping\u0000","params":{"name":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"add","name\u0000":"wipe"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"add","_meta":{"a\u0000":1}}}"#,
];

#[test]
fn smuggled_message_is_answered_and_never_forwarded() {
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
fn method_similar_to_a_tool_call_is_refused() {
    let mut desk = Desk::new(&[]);
    let methods = [
        "Tools/Call",
        "tools/call ",
        "TOOLS/CALL",
        "tools/c\u{0430}ll",
        "tools//call",
        "/tools/call",
        "tools/call/",
        "tools/./call",
        "tools.call",
        "tools_call",
        "toolscall",
        "tool/call",
        "call_tool",
        "callTool",
        "tools/callTool",
        "v1/tools/call",
    ];
    for (id, method) in methods.into_iter().enumerate() {
        let mut message = json!({"jsonrpc": "2.0", "method": method, "params": {"name": "wipe"}});
        desk.say(message.to_string());
        message["id"] = id.into();
        desk.say(message.to_string());
        let told = desk.hear_json();
        assert_eq!((&told["id"], &told["error"]["code"]), (&json!(id), &json!(-32601)), "{method}: {told}");
    }
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    desk.say(ping);
    assert_eq!(desk.received(), ping, "the first thing that the server hears of");
}

#[test]
fn protocol_method_is_not_taken_for_a_tool_call() {
    let mut desk = Desk::new(&[]);
    let methods = [
        "completion/complete",
        "elicitation/create",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "roots/list",
        "sampling/createMessage",
        "server/discover",
        "subscriptions/listen",
        "tasks/cancel",
        "tasks/get",
        "tasks/list",
        "tasks/result",
        "tasks/update",
        "tools/list",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/roots/list_changed",
        "notifications/tasks/status",
        "notifications/tools/list_changed",
    ];
    for method in methods {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if !method.starts_with("notifications/") {
            message["id"] = method.into();
        }
        desk.say(message.to_string());
        assert_eq!(desk.received(), message.to_string());
    }
}

#[test]
fn arguments_that_differ_only_in_case_are_refused() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add")]);
    desk.call(1, "add", json!({"table": "a", "Table": "b"}));
    let told = desk.hear_json();
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!(1), &json!(-32602)), "{told}");
    assert_eq!(told["error"]["message"], "`table` in `arguments` looks like `Table`");
    let call = desk.call(2, "add", json!({"row": {"a": 1, "A": 2}, "rows": [{"b": 1, "B": 2}], "Name": 1}));
    assert_eq!(desk.received(), call);
}

#[test]
fn control_characters_in_deeper_keys_are_data() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add")]);
    let odd = json!({"row": {"a\u{0}": 1, "a": 2, "A": 3}, "rows": [{"b\n": 1}]});
    let call = desk.call(1, "add", odd);
    assert_eq!(desk.received(), call);
    desk.call(2, "add", json!({"row\u{0}": 1}));
    let told = desk.hear_json();
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!(2), &json!(-32602)), "{told}");
    assert_eq!(told["error"]["message"], "a key in `arguments` has a control character");
}

#[test]
fn argument_similar_to_a_known_one_is_refused() {
    let case =
        |approval, when| Case { when, ..Case::new(Some(approval), Because::built_in("test", "says so")) };
    let secret = Condition { field: "mode".to_owned(), any_of: vec![Test::Exact("wipe".into())] };
    let cases = vec![case(Approval::Deny, vec![secret]), case(Free, Vec::new())];
    let rules = Rules::new(None, [ToolEntry::new("mcp__maths__add", cases)]).unwrap();
    let state = tempfile::tempdir().unwrap();
    let mut desk = Desk::at(state.path(), Policy::new(rules).with_sandbox(SandboxStatus::Settled), false);
    let mut add = tool("add");
    add["inputSchema"]["properties"] = json!({"path": {}, "Limit": {}});
    desk.list(&[add]);
    // The rules test `mode`, and the schema has the other two.
    for odd in ["Mode", "m\u{200d}ode", "Path", "pa\u{ad}th", "limit", "\u{ff30}ath"] {
        desk.call(1, "add", json!({ odd: "wipe" }));
        let told = desk.hear_json();
        assert_eq!(told["result"]["isError"], json!(true), "{odd}: {told}");
        assert!(told.to_string().contains("is too similar to"), "{odd}: {told}");
    }
    let call = desk.call(2, "add", json!({"path": "a", "Limit": 1, "mode": "keep", "more": 1}));
    assert_eq!(desk.received(), call, "the first thing that the server hears of");
}

#[test]
fn id_in_use_is_refused() {
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
fn answer_without_a_request_is_dropped() {
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
fn line_without_an_end_is_not_a_message() {
    let mut desk = Desk::new(&[("add", Free)]);
    let line = vec![b' '; askfirst_mcp::MAX_LINE + 10];
    desk.say(line);
    assert_eq!(desk.hear_json()["error"]["code"], -32600);
}

#[test]
fn line_break_inside_a_message_is_not_forwarded() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add"), tool("wipe")]);
    // Many servers read universal newlines: text between two of them would be a message of its own.
    let inner = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wipe"}}"#;
    desk.say(format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{{\"x\":\r{inner}\r}}}}"
    ));
    let received = desk.received();
    assert!(received.contains(inner) && !received.contains('\r'), "{received:?}");
}
