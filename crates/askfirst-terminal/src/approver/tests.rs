//! Tests of the requests that the approver keeps.

use askfirst::{ApprovalRequest, Args};
use serde_json::{Value, json};

use super::*;

fn question(payload: Value) -> Question {
    let request = ApprovalRequest { args: Args::new(), ..ApprovalRequest::new("send", "", payload) };
    let member = Member::new(request);
    Question { id: QuestionId(1), members: vec![member], position: 1, of: 1 }
}

#[test]
fn earlier_requests_have_a_limit_in_number_and_size() {
    let options = Options { style: Style::Plain, preview_lines: 10, ..Options::default() };
    let mut context = PromptContext::default();
    let mut ask = |payload: Value| {
        remember(&mut context, &question(payload), &options);
        context.history.iter().map(|past| past.payload.clone()).collect::<Vec<_>>()
    };
    for n in 0..MAX_HISTORY + 5 {
        ask(json!({ "n": n }));
    }
    let kept = ask(json!({"n": "last"}));
    assert_eq!(
        (kept.len(), &kept[0], &kept[MAX_HISTORY - 1]),
        (MAX_HISTORY, &json!({"n": 6}), &json!({"n": "last"}))
    );
    let third = Value::from("x".repeat(MAX_HISTORY_BYTES / 3));
    for _ in 0..4 {
        ask(third.clone());
    }
    assert_eq!(ask(json!({})), [third.clone(), third, json!({})], "as many of the newest as fit");
    // Small values take more memory than their text.
    assert!(ask(json!(vec![json!({"a": 1}); 5_000])).is_empty(), "too large alone");
}
