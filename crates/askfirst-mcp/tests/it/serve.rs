//! Tests our own server: one pipeline, strict parsing, and nothing blocked while a person decides.

use serde_json::{Value, json};

use crate::fixture::{no, wait_for, yes};
use crate::shop::{Shop, schema};

fn text(result: &Value) -> &str {
    result["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn tools_are_listed_run_refused_and_logged() {
    let mut shop = Shop::open();
    shop.say(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let list = shop.hear();
    let tools = list["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 4);
    assert!(tools.iter().all(|tool| tool["inputSchema"] == schema()), "{list}");
    shop.call(2, "free", json!({"x": 1}));
    let told = shop.hear();
    assert_eq!(told["result"]["structuredContent"], json!({"got": {"x": 1}}), "{told}");
    assert_ne!(told["result"]["isError"], true);
    shop.call(3, "never", json!({}));
    let told = shop.hear();
    assert_eq!(told["result"]["isError"], true);
    assert_eq!(told["result"]["structuredContent"]["refusal"]["cause"], "policy");
    assert!(text(&told).contains("says so") && text(&told).contains("run without asking: `free`"), "{told}");
    shop.call(4, "nothing", json!({}));
    assert_eq!(shop.hear()["result"]["isError"], true);
    assert_eq!(shop.ran(), 1);
    let notes = shop.notes.all.lock().unwrap();
    assert!(
        notes.iter().any(|note| note.to_string().contains("tester 1")),
        "who called is recorded: {notes:?}"
    );
}

#[test]
fn stateless_client_is_served_without_a_handshake() {
    let mut shop = Shop::new();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "newer", "version": "2"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    shop.say(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "free", "arguments": {}, "_meta": meta}}));
    let told = shop.hear();
    assert_eq!(told["result"]["structuredContent"], json!({"got": {}}), "{told}");
    assert_eq!(told["result"]["resultType"], "complete");
    shop.call(2, "free", json!({}));
    assert!(shop.hear()["error"]["code"].is_number(), "each request says for itself what it speaks");
    assert_eq!(shop.ran(), 1);
}

#[test]
fn waiting_call_sends_progress_while_other_calls_run() {
    let mut shop = Shop::open();
    shop.say(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "ask", "arguments": {}, "_meta": {"progressToken": "p"}}}));
    let beat = shop.hear();
    assert_eq!(beat["params"]["progressToken"], "p");
    assert!(beat["params"]["message"].as_str().unwrap().contains("person"), "{beat}");
    let second = shop.hear();
    assert!(second["params"]["progress"].as_f64() > beat["params"]["progress"].as_f64(), "{second}");
    shop.call(2, "free", json!({}));
    while shop.hear()["id"] != 2 {}
    assert_eq!(shop.ran(), 1);
    shop.person.answer(1, |question| {
        assert_eq!(question.members[0].request.caller.as_deref(), Some("tester 1"));
        yes()
    });
    let told = loop {
        let told = shop.hear();
        if told["id"] == 1 {
            break told;
        }
    };
    assert_eq!(told["result"]["structuredContent"], json!({"got": {}}));
}

#[test]
fn refusal_by_a_person_reaches_the_agent_with_the_reason() {
    let mut shop = Shop::open();
    shop.call(1, "ask", json!({}));
    shop.person.answer(1, |_| no("not today"));
    let told = shop.hear();
    assert_eq!(told["result"]["isError"], true);
    assert!(text(&told).contains("not today"), "{told}");
    assert_eq!(shop.ran(), 0);
}

#[test]
fn canceled_call_is_withdrawn_and_a_running_one_is_logged() {
    let mut shop = Shop::open();
    let cancel =
        |id: u64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    shop.call(1, "ask", json!({}));
    wait_for(|| (shop.person.count() == 1).then_some(()));
    shop.say(cancel(1));
    wait_for(|| (shop.person.withdrawn.lock().unwrap().len() == 1).then_some(()));
    assert_eq!(shop.ran(), 0);
    shop.call(2, "slow", json!({}));
    wait_for(|| (shop.ran() == 1).then_some(()));
    shop.say(cancel(2));
    shop.call(3, "free", json!({}));
    assert_eq!(shop.hear()["id"], 3);
    let executed = |shop: &Shop| {
        let notes = shop.notes.all.lock().unwrap();
        notes.iter().filter(|note| note.to_string().contains("executed")).count()
    };
    let before = executed(&shop);
    shop.let_go();
    wait_for(|| (executed(&shop) > before).then_some(()));
}

#[test]
fn client_that_ends_withdraws_requests_but_gets_answers() {
    let mut shop = Shop::open();
    shop.call(1, "ask", json!({}));
    wait_for(|| (shop.person.count() == 1).then_some(()));
    shop.call(2, "slow", json!({}));
    wait_for(|| (shop.ran() == 1).then_some(()));
    shop.to = None;
    wait_for(|| (shop.person.withdrawn.lock().unwrap().len() == 1).then_some(()));
    shop.let_go();
    let told = loop {
        let told = shop.hear();
        if told["id"] == 2 {
            break told;
        }
    };
    assert_eq!(told["result"]["structuredContent"], json!({"got": {}}));
    shop.end().unwrap();
    assert_eq!(shop.ran(), 1);
}

#[test]
fn ambiguous_message_is_refused_and_runs_nothing() {
    let mut shop = Shop::open();
    let call = r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"free","arguments":"#;
    let hostile: [(Vec<u8>, i64); 8] = [
        (b"garbage".to_vec(), -32700),
        (br#"[{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"free"}}]"#.to_vec(), -32600),
        (format!(r#"{call}{{"x":1,"x":2}}}}}}"#).into_bytes(), -32700),
        (format!(r#"{call}{{}}}}}} {{}}"#).into_bytes(), -32700),
        (format!(r#"{call}{{"x":18446744073709551617}}}}}}"#).into_bytes(), -32700),
        (format!(r#"{call}{{"x":"\ud800"}}}}}}"#).into_bytes(), -32700),
        ([call.as_bytes(), b"{\"x\":\"\xff\"}}}"].concat(), -32700),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"free"}}"#.to_vec(), -32600),
    ];
    for (line, code) in hostile {
        shop.line(&line);
        let told = shop.hear();
        assert_eq!(told["error"]["code"], code, "{told} for {}", String::from_utf8_lossy(&line));
    }
    shop.say(json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "free", "arguments": [1]}}));
    assert!(shop.hear()["error"]["code"].is_number());
    assert_eq!(shop.ran(), 0);
    // An id is in use until its request is answered.
    shop.call(1, "ask", json!({}));
    wait_for(|| (shop.person.count() == 1).then_some(()));
    shop.call(1, "free", json!({}));
    assert_eq!(shop.hear()["error"]["message"], "the id is in use");
    shop.person.answer(1, |_| no("no"));
    assert_eq!(shop.hear()["result"]["isError"], true);
    shop.call(1, "free", json!({}));
    assert_eq!(shop.hear()["result"]["structuredContent"], json!({"got": {}}));
}

#[test]
fn client_with_invalid_first_messages_runs_nothing() {
    assert!(Shop::new().end().is_ok());
    let mut shop = Shop::new();
    shop.call(1, "free", json!({}));
    assert!(shop.hear()["error"]["code"].is_number());
    shop.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let served = shop.served.take().unwrap().join().unwrap();
    assert!(served.is_err(), "a notification is no beginning, and the server does not wait for an end");
    assert_eq!(shop.ran(), 0);
}
