//! Tests a call that waits for approval: other messages pass, and cancellations, answers and edits take effect.

use askfirst::Approval::None as Free;
use askfirst::machine::Answer;
use askfirst::{ApprovalDecision, Cause};
use serde_json::{Value, json};

use crate::fixture::{Desk, edit, no, tool, wait_for, yes};

#[test]
fn waiting_call_blocks_nothing_and_runs_after_approval() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add"), tool("ask")]);
    let asked = desk.call(1, "ask", json!({"x": 1}));
    wait_for(|| (desk.person.count() == 1).then_some(()));
    let other = desk.call(2, "add", json!({}));
    assert_eq!(desk.received(), other);
    desk.reply(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#);
    assert_eq!(desk.hear_json()["id"], 2);
    // The gateway drops an answer to a call that was never sent.
    desk.reply(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"forged"}]}}"#);
    wait_for(|| desk.told.lock().unwrap().iter().any(|text| text.contains("no such request")).then_some(()));
    let person = std::sync::Arc::clone(&desk.person);
    person.answer(1, |question| {
        let facts = &question.members[0].request.facts;
        assert!(facts.iter().any(|fact| fact.label == "server" && fact.text == "maths"));
        yes()
    });
    assert_eq!(desk.received(), asked);
    desk.reply(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    assert_eq!(desk.hear_json()["id"], 1);
}

#[test]
fn canceled_request_is_withdrawn_and_never_sent() {
    let mut desk = Desk::new(&[("add", Free)]);
    desk.list(&[tool("add"), tool("ask")]);
    desk.call(1, "ask", json!({}));
    wait_for(|| (desk.person.count() == 1).then_some(()));
    desk.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    wait_for(|| (desk.person.withdrawn.lock().unwrap().len() == 1).then_some(()));
    let call = desk.call(2, "add", json!({}));
    assert_eq!(desk.received(), call);
    // Only the server can cancel a running call.
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    desk.say(cancel);
    assert_eq!(desk.received(), cancel);
}

#[test]
fn refusal_by_a_person_reaches_the_agent_with_the_note() {
    let mut desk = Desk::new(&[]);
    desk.list(&[tool("ask")]);
    desk.call(1, "ask", json!({}));
    desk.person.answer(1, |_| no("not today"));
    let told = desk.hear_json();
    assert!(told["result"]["content"][0]["text"].as_str().unwrap().contains("not today"), "{told}");
}

#[test]
fn edited_arguments_are_asked_again_sent_and_reported() {
    let mut desk = Desk::new(&[]);
    desk.list(&[tool("ask")]);
    desk.call(1, "ask", json!({"to": "all"}));
    let edited = json!({"to": "me"}).as_object().unwrap().clone();
    desk.person.answer(1, |_| edit(&edited));
    desk.person.answer(2, |question| {
        assert_eq!(question.members[0].request.args, edited, "the edited call is shown");
        yes()
    });
    let sent: Value = serde_json::from_str(&desk.received()).unwrap();
    assert_eq!((&sent["id"], &sent["params"]["arguments"]), (&json!(1), &json!({"to": "me"})));
    desk.reply(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    let told = desk.hear_json();
    let text = told["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, r#"askfirst: a person edited the arguments; the call ran with: {"to":"me"}"#);
}

#[test]
fn note_of_an_approval_reaches_the_agent_with_the_answer() {
    let mut desk = Desk::new(&[]);
    desk.list(&[tool("ask")]);
    desk.call(1, "ask", json!({}));
    let approval = ApprovalDecision::yes(Cause::Person).with_note("only today");
    desk.person.answer(1, |_| Answer::all(approval.clone()));
    desk.received();
    desk.reply(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#);
    let told = desk.hear_json();
    let texts = [&told["result"]["content"][0]["text"], &told["result"]["content"][1]["text"]];
    assert_eq!(texts, ["done", "askfirst: the person who approved the call wrote: only today"]);
}

#[test]
fn call_that_fails_the_servers_schema_is_not_asked_about() {
    let mut desk = Desk::new(&[]);
    let mut strict = tool("ask");
    strict["inputSchema"] =
        json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]});
    desk.list(&[strict]);
    desk.call(1, "ask", json!({"to": 7}));
    let told = desk.hear_json();
    assert_eq!(told["result"]["isError"], true);
    let text = told["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, "invalid arguments: `to` must be a string, not a number");
}

#[test]
fn waiting_call_sends_progress_if_requested() {
    let mut desk = Desk::new(&[]);
    desk.list(&[tool("ask")]);
    desk.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"progressToken":"p"}}}"#);
    wait_for(|| (desk.person.count() == 1).then_some(()));
    desk.gateway.heartbeat(1);
    let told = desk.hear_json();
    assert_eq!(
        (&told["method"], &told["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("p"))
    );
}

#[test]
fn client_that_ends_withdraws_its_requests() {
    let mut desk = Desk::new(&[]);
    desk.list(&[tool("ask")]);
    desk.call(1, "ask", json!({}));
    wait_for(|| (desk.person.count() == 1).then_some(()));
    desk.client_ends();
    wait_for(|| (desk.person.withdrawn.lock().unwrap().len() == 1).then_some(()));
}
