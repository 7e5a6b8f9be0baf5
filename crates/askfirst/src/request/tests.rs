//! Tests that descriptions and payloads leave out excluded keys.

use serde_json::{Value, json};

use super::{Action, Args, Template, simple_approval_request};

fn args(value: Value) -> Args {
    value.as_object().unwrap().clone()
}

#[test]
fn excluded_key_is_shown_and_nowhere_else() {
    let args = args(json!({"to": "ada@example.org", "body": "the secret"}));
    let request = simple_approval_request("send_email", &args, None, &["body".to_owned()]);
    assert_eq!(request.payload, json!({"to": "ada@example.org"}));
    assert_eq!(request.description, r#"send_email(to="ada@example.org")"#);
    assert_eq!(request.args["body"], "the secret");
}

#[test]
fn template_fills_in_all_but_excluded_arguments() {
    let args = args(json!({"to": "ada", "n": 3, "body": "the secret"}));
    let fill = |text: &str| Template::new(text).fill(&args, &["body".to_owned()]);
    assert_eq!(fill("Send {n} to {to}"), "Send 3 to ada");
    assert_eq!(fill("{body}{nope} {to"), "{body}{nope} {to");
    assert_eq!(Template::new("a {x} b {y}").names().collect::<Vec<_>>(), ["x", "y"]);
}

#[test]
fn action_of_a_template_separates_words_and_values() {
    let args = args(json!({"to": "{n} or words", "n": 3}));
    let action = Template::new("Send {n} to {to}{").action(&args, &[]);
    let expected = Action::new("Send ").value("3").words(" to ").value("{n} or words").words("").words("{");
    assert_eq!(action, expected);
    assert_eq!(action.to_string(), "Send 3 to {n} or words{");
}

#[test]
fn argument_that_looks_like_a_template_stays_unchanged() {
    let args = args(json!({"to": "{body}", "body": "the secret"}));
    assert_eq!(Template::new("to {to}").fill(&args, &[]), "to {body}");
}
