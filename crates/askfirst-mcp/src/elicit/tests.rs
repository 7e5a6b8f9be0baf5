//! Tests which answers to a form are accepted.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test says no by panicking")]

use askfirst::machine::{Member, QuestionId};
use askfirst::{Approval, ApprovalRequest, Risk};

use super::*;

fn question(change: impl FnOnce(&mut ApprovalRequest)) -> Question {
    let mut request = ApprovalRequest::new("send_mail", "Send a mail", json!({"to": "ann@example.org"}));
    request.args =
        json!({"to": "ann@example.org", "text": "hi\u{202e}\u{1b}[2J"}).as_object().unwrap().clone();
    change(&mut request);
    let members = vec![Member::new(request)];
    Question { id: QuestionId(1), members, position: 1, of: 1 }
}

fn form(change: impl FnOnce(&mut ApprovalRequest)) -> Form {
    Form::of(&question(change), &Redactor::default(), Timestamp(0)).unwrap()
}

fn read(form: &Form, result: Value) -> ApprovalDecision {
    form.read(result.as_object().unwrap()).decisions[0].clone()
}

fn offered(form: &Form) -> Value {
    form.params()["requestedSchema"]["properties"][ANSWER]["enum"].clone()
}

#[test]
fn form_shows_the_whole_call_escaped_with_its_answers() {
    let plain = form(|_| {});
    let text = plain.params()["message"].as_str().unwrap().to_owned();
    assert!(text.contains("send_mail") && text.contains("ann@example.org"), "{text}");
    assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{text}");
    assert!(!text.contains("[y]"), "the keys of a terminal mean nothing in a form: {text}");
    assert_eq!(offered(&plain), json!(["approve once", "approve for the session", "deny"]));
    let human = form(|request| request.approval = Approval::Human);
    assert_eq!(offered(&human), json!(["approve once", "deny"]));
    let once = form(|request| request.approval = Approval::OncePerSession);
    assert_eq!(offered(&once), json!(["approve for the session", "deny"]));
}

#[test]
fn only_an_offered_form_answer_approves() {
    let form = form(|_| {});
    let yes =
        read(&form, json!({"action": "accept", "content": {"answer": "approve once", "reason": " fine "}}));
    assert_eq!(yes, ApprovalDecision::yes(Cause::Person).with_note("fine"));
    let session = read(&form, json!({"action": "accept", "content": {"answer": "approve for the session"}}));
    assert_eq!(session, ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Session));
    let no = read(&form, json!({"action": "accept", "content": {"answer": "deny", "reason": "too early"}}));
    assert_eq!(no, ApprovalDecision::no(Cause::Person).with_note("too early"));
    for action in ["decline", "cancel"] {
        let no = read(&form, json!({"action": action, "content": {"answer": "approve once"}}));
        assert_eq!((no.approved, no.cause), (false, Cause::Person), "{action}");
    }
    let none = [
        json!({}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": "approve once"}),
        json!({"action": "accept", "content": {"answer": "Approve once"}}),
        json!({"action": "accept", "content": {"answer": "approve once "}}),
        json!({"action": "accept", "content": {"answer": true}}),
        json!({"action": "accept", "content": {"answer": ["approve once"]}}),
        json!({"action": "accept", "content": {"answer": "approve once", "remember": "session"}}),
        json!({"action": "accept", "content": {"answer": "approve once", "confirm": "x"}}),
        json!({"action": "accept", "content": {"answer": "approve once", "reason": 1}}),
        json!({"action": "accept", "content": {"answer": "approve once"}, "edited_args": {}}),
        json!({"action": "ACCEPT", "content": {"answer": "approve once"}}),
        json!({"action": 1, "content": {"answer": "approve once"}}),
    ];
    for result in none {
        let decision = read(&form, result.clone());
        assert_eq!((decision.approved, decision.cause), (false, Cause::ApproverFailed), "{result}");
    }
    let human = super::Form { offered: vec![FormAnswer::Once, FormAnswer::No], ..form };
    let beyond = read(&human, json!({"action": "accept", "content": {"answer": "approve for the session"}}));
    assert!(!beyond.approved, "what was not offered cannot be chosen");
}

#[test]
fn irreversible_call_is_approved_only_with_its_word() {
    let form = form(|request| request.risk = Risk::Irreversible);
    let word = form.confirm.clone().unwrap();
    assert!(
        form.params()["requestedSchema"]["properties"][CONFIRM]["title"].as_str().unwrap().contains(&word)
    );
    let with = |confirm: Value| json!({"action": "accept", "content": {"answer": "approve once", "confirm": confirm}});
    assert!(read(&form, with(json!(word))).approved);
    assert!(!read(&form, with(json!(format!("{word} ")))).approved);
    assert!(!read(&form, with(Value::Null)).approved);
    assert!(!read(&form, json!({"action": "accept", "content": {"answer": "approve once"}})).approved);
}

#[test]
fn form_hides_secrets_and_too_long_request_has_no_form() {
    let secret = "correct horse battery staple";
    let redactor = Redactor::new(&[], vec![secret.to_owned()]).unwrap();
    let asked = question(|request| drop(request.args.insert("text".to_owned(), secret.into())));
    let form = Form::of(&asked, &redactor, Timestamp(0)).unwrap();
    assert!(!form.text.contains(secret), "{}", form.text);
    let long = question(|request| drop(request.args.insert("text".to_owned(), "x ".repeat(MAX_TEXT).into())));
    assert_eq!(Form::of(&long, &redactor, Timestamp(0)), Err(TooLong));
}
