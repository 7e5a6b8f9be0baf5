//! Tests approval by the client: by a request of ours, or by a result that needs an answer first.

use serde_json::{Value, json};

use crate::fixture::wait_for;
use crate::shop::Shop;

fn offering() -> Shop {
    Shop::asking_client().greeted(json!({"elicitation": {}}))
}

fn answer(id: &Value, content: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": content}})
}

#[test]
fn client_with_elicitation_is_asked_and_its_answer_counts() {
    let mut shop = offering();
    shop.call(1, "ask", json!({"x": 3}));
    let asked = shop.hear();
    assert_eq!(asked["method"], "elicitation/create");
    let text = asked["params"]["message"].as_str().unwrap();
    assert!(text.contains("ask") && text.contains('3') && text.contains("tester 1"), "{text}");
    assert_eq!(asked["params"]["requestedSchema"]["required"], json!(["answer"]));
    // Other calls continue, and an answer with another id is ignored.
    shop.call(2, "free", json!({}));
    assert_eq!(shop.hear()["id"], 2);
    shop.say(answer(&json!("askfirst:ask-1"), json!({"answer": "approve once"})));
    shop.say(answer(&json!(1), json!({"answer": "approve once"})));
    shop.call(3, "free", json!({}));
    assert_eq!(shop.hear()["id"], 3);
    assert_eq!(shop.ran(), 2);
    shop.say(answer(&asked["id"], json!({"answer": "approve for the session"})));
    assert_eq!(shop.hear()["result"]["structuredContent"], json!({"got": {"x": 3}}));
    shop.call(4, "ask", json!({"x": 3}));
    assert_eq!(shop.hear()["id"], 4, "it was for the session");
    shop.call(5, "ask", json!({"x": 4}));
    assert_eq!(shop.hear()["method"], "elicitation/create", "and for that call alone");
}

#[test]
fn refusal_closed_form_error_and_odd_answer_run_nothing() {
    let mut shop = offering();
    let result = |result: Value| json!({"result": result});
    let said = [
        (result(json!({"action": "decline"})), "person"),
        (result(json!({"action": "cancel"})), "person"),
        (result(json!({"action": "accept", "content": {"answer": "deny", "reason": "not now"}})), "not now"),
        (result(json!({"action": "accept", "content": {"answer": "approve"}})), "approver failed"),
        (result(json!({"action": "accept"})), "approver failed"),
        (result(json!("approve once")), "approver failed"),
        (json!({"error": {"code": -32601, "message": "no"}}), "no one to ask"),
    ];
    for (number, (body, why)) in said.into_iter().enumerate() {
        shop.call(number as u64, "ask", json!({}));
        let asked = shop.hear();
        let mut message = json!({"jsonrpc": "2.0", "id": asked["id"]});
        message.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        shop.say(message);
        let told = shop.hear();
        assert_eq!(told["result"]["isError"], true, "{told}");
        assert!(told.to_string().contains(why), "{why}: {told}");
    }
    assert_eq!(shop.ran(), 0);
}

#[test]
fn client_without_elicitation_is_not_asked() {
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut shop = Shop::asking_client().greeted(capabilities.clone());
        shop.call(1, "ask", json!({}));
        let told = shop.hear();
        assert!(told.to_string().contains("no one to ask"), "{capabilities}: {told}");
    }
}

#[test]
fn canceled_call_withdraws_its_form() {
    let mut shop = offering();
    shop.call(1, "ask", json!({}));
    let asked = shop.hear();
    shop.say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    let over = shop.hear();
    assert_eq!(
        (&over["method"], &over["params"]["requestId"]),
        (&json!("notifications/cancelled"), &asked["id"])
    );
    shop.say(answer(&asked["id"], json!({"answer": "approve once"})));
    shop.call(2, "free", json!({}));
    assert_eq!(shop.hear()["id"], 2);
    assert_eq!(shop.ran(), 1, "an answer that is too late is none");
}

/// A call in the format of the stateless revision.
fn stateless(id: u64, args: Value, more: Value) -> Value {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "newer", "version": "2"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}});
    let mut params = json!({"name": "ask", "arguments": args, "_meta": meta});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn back(state: &Value, answer: &str) -> Value {
    json!({"requestState": state, "inputResponses": {"approval": {"action": "accept", "content": {"answer": answer}}}})
}

#[test]
fn stateless_client_gets_the_request_as_a_result() {
    let mut shop = Shop::asking_client();
    shop.say(stateless(1, json!({"x": 1}), json!({})));
    let told = shop.hear();
    assert_eq!(told["result"]["resultType"], "input_required", "{told}");
    let asked = &told["result"]["inputRequests"]["approval"];
    assert_eq!(asked["method"], "elicitation/create");
    assert!(asked["params"]["message"].as_str().unwrap().contains("newer 2"), "{asked}");
    let state = told["result"]["requestState"].clone();
    assert_eq!(shop.ran(), 0);
    shop.say(stateless(2, json!({"x": 1}), back(&state, "approve once")));
    assert_eq!(shop.hear()["result"]["structuredContent"], json!({"got": {"x": 1}}));
    shop.say(stateless(3, json!({"x": 1}), back(&state, "approve once")));
    assert_eq!(shop.hear()["error"]["code"], -32602, "an answer counts once");
    assert_eq!(shop.ran(), 1);
}

#[test]
fn answer_for_another_call_or_invalid_answer_runs_nothing() {
    let mut shop = Shop::asking_client();
    let ask = |shop: &mut Shop, id| {
        shop.say(stateless(id, json!({"x": 1}), json!({})));
        shop.hear()["result"]["requestState"].clone()
    };
    let state = ask(&mut shop, 1);
    shop.say(stateless(2, json!({"x": 2}), back(&state, "approve once")));
    assert_eq!(shop.hear()["error"]["code"], -32602, "the answer was to other arguments");
    shop.say(stateless(3, json!({"x": 1}), back(&state, "approve once")));
    assert_eq!(shop.hear()["error"]["code"], -32602);
    shop.say(stateless(4, json!({"x": 1}), back(&json!("made up"), "approve once")));
    assert_eq!(shop.hear()["error"]["code"], -32602);
    let state = ask(&mut shop, 5);
    shop.say(stateless(6, json!({"x": 1}), back(&state, "yes")));
    assert_eq!(shop.hear()["result"]["isError"], true);
    let state = ask(&mut shop, 7);
    shop.say(stateless(8, json!({"x": 1}), json!({"requestState": state})));
    assert_eq!(shop.hear()["result"]["isError"], true);
    let state = ask(&mut shop, 9);
    let declined = json!({"requestState": state, "inputResponses": {"approval": {"action": "decline"}}});
    shop.say(stateless(10, json!({"x": 1}), declined));
    assert!(shop.hear().to_string().contains("person"));
    assert_eq!(shop.ran(), 0);
    let notes = std::sync::Arc::clone(&shop.notes);
    wait_for(|| (!notes.all.lock().unwrap().is_empty()).then_some(()));
}
