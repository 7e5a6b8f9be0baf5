//! The text that a model reads for an outcome.

use askfirst::{Cause, Refusal};

use super::*;

#[test]
fn refused_changes_come_with_the_output_of_the_command() {
    let output = Some(Box::new(json!({"stdout": "built\n", "exit_code": 0})));
    let refusal = Refusal { output, ..Refusal::new("shell", Cause::Person, "its changes were not kept") };
    let result = of_outcome(Outcome::Denied(refusal), "");
    let texts = serde_json::to_string(&result.content).unwrap();
    assert!(texts.contains("its changes were not kept") && texts.contains("built"), "{texts}");
    assert_eq!(result.is_error, Some(true));
    let plain = of_outcome(Outcome::Denied(Refusal::new("shell", Cause::Person, "no")), "");
    assert_eq!(plain.content.len(), 1);
}
