//! Tests that messages with a short text but many values are refused from both sides.

use askfirst::Approval::None as Free;
use serde_json::{Value, json};

use crate::fixture::{Desk, tool, wait_for};
use crate::web::{self, Web};

/// An object with this many small objects, which would take about 200 times the memory of their text.
fn many(count: usize) -> String {
    format!(r#"{{"a":[{}]}}"#, vec![r#"{"a":1}"#; count].join(","))
}

fn call_with(id: &str, args: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"add","arguments":{args}}}}}"#
    )
}

#[test]
fn call_with_too_many_values_is_refused_with_its_id() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add")]);
    let ping = format!(r#"{{"jsonrpc":"2.0","id":"p","method":"ping","params":{}}}"#, many(400_000));
    for (id, line) in [(json!(1), call_with("1", &many(400_000))), (json!("p"), ping)] {
        desk.say(line);
        let told = desk.hear_json();
        assert_eq!((&told["id"], &told["error"]["code"]), (&id, &json!(-32600)), "{told}");
        assert!(told["error"]["message"].as_str().unwrap().contains("more than 200000 values"), "{told}");
    }
    let call = call_with("1", &many(10_000));
    desk.say(&call);
    assert_eq!(desk.received(), call, "the id is free again, and what is not too large passes");
}

#[test]
fn waiting_calls_hold_at_most_ten_of_the_largest_size() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add")]);
    let call = |id: usize| call_with(&id.to_string(), &many(11_000));
    for id in 1..=10 {
        desk.say(call(id));
        assert_eq!(desk.received(), call(id));
    }
    desk.say(call(11));
    let told = desk.hear_json();
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!(11), &json!(-32600)), "{told}");
    // There is room again after an answer.
    desk.reply(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    assert_eq!(desk.hear_json()["id"], json!(1));
    desk.say(call(12));
    assert_eq!(desk.received(), call(12));
}

#[test]
fn call_with_too_many_values_is_refused_over_http() {
    let web = Web::plain();
    let desk = web::Desk::before(&web, &[("add", Free)]);
    let said = desk.post(call_with("1", &many(400_000)));
    let told = said.json();
    assert_eq!(
        (said.status, &told["id"], &told["error"]["code"]),
        (400, &json!(1), &json!(-32600)),
        "{told}"
    );
    assert_eq!(web.methods(), Vec::<String>::new());
}

/// A server's list with a tool that is too large.
fn list(id: &Value) -> String {
    let tools = format!(r#"[{{"name":"add","inputSchema":{}}}]"#, many(20_000));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":{tools}}}}}"#)
}

#[test]
fn list_with_too_many_values_is_reported_and_not_used() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.say(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
    desk.received();
    desk.reply(list(&json!("list")));
    let told = desk.hear_json();
    assert_eq!((&told["id"], &told["error"]["code"]), (&json!("list"), &json!(-32603)), "{told}");
    desk.call(1, "add", json!({}));
    let asked: Value = serde_json::from_str(&desk.received()).unwrap();
    desk.reply(list(&asked["id"]));
    let told = desk.hear_json();
    assert_eq!((&told["id"], &told["result"]["isError"]), (&json!(1), &json!(true)));
    assert!(told.to_string().contains("there is no tool"), "{told}");
    let told = wait_for(|| Some(desk.told.lock().unwrap().clone()).filter(|told| told.len() == 2));
    assert!(
        told.iter().all(|text| text.contains("refused the server's list of tools: more than 200000 values")),
        "{told:?}"
    );
}
