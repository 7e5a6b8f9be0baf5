//! Maps that keep the order in which they were filled change nothing.

use askfirst::json::canonical;
use askfirst::{ApprovalContext, ApprovalDecision, ApprovalMemory, ApprovalScope, Cause, Timestamp, ToolDefinition};
use serde_json::{Value, json};

fn both() -> [Value; 2] {
    [json!({"a": {"x": 1, "y": [{"p": 1, "q": 2}]}, "b": 2}), json!({"b": 2, "a": {"y": [{"q": 2, "p": 1}], "x": 1}})]
}

#[test]
fn the_order_of_keys_is_kept_here_and_counts_nowhere() {
    let [one, other] = both();
    assert_ne!(one.to_string(), other.to_string(), "this build sorts maps, and tests nothing");
    assert_eq!(canonical(&one), canonical(&other));
    assert_eq!(canonical(&one), r#"{"a":{"x":1,"y":[{"p":1,"q":2}]},"b":2}"#);
    let definition = |schema: Value| ToolDefinition::new("t", "", schema).digest();
    assert_eq!(definition(one.clone()), definition(other.clone()));
    let call = |args: Value| ApprovalContext::new("t", args.as_object().unwrap().clone()).digest();
    assert_eq!(call(one), call(other));
}

#[test]
fn what_is_remembered_is_found_in_any_order() {
    for decision in [ApprovalDecision::yes(Cause::Person), ApprovalDecision::no(Cause::Person)] {
        let ([one, other], mut memory) = (both(), ApprovalMemory::default());
        memory.store("t", &one, decision.clone().remembered(ApprovalScope::Session), Timestamp(0));
        let found = memory.lookup("t", &other, Timestamp(0)).map(|found| found.approved);
        assert_eq!(found, Some(decision.approved));
    }
}
