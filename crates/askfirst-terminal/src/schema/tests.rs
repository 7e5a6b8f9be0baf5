//! Tests of checking arguments against a schema.

use serde_json::json;

use super::*;

fn fault(schema: Value, args: Value) -> String {
    let schemas = Schemas::new(move |_| Some(schema.clone()));
    match schemas.check("tool", args.as_object().unwrap()) {
        Ok(()) => "fits".to_owned(),
        Err(mismatch) => mismatch.to_string(),
    }
}

#[test]
fn arguments_that_break_the_schema_are_reported() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "mode": {"enum": ["a", "b"]},
            "count": {"type": ["integer", "null"], "maximum": 9},
            "list": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    let fault = |args| fault(schema.clone(), args);
    assert_eq!(fault(json!({"path": "x", "count": 3, "list": ["a"]})), "fits");
    assert_eq!(fault(json!({})), "`path` is missing");
    assert_eq!(fault(json!({"path": 1})), "`path` must be a string, not a number");
    assert_eq!(fault(json!({"path": ""})), "`path` must have at least 1 character");
    assert_eq!(fault(json!({"path": "x", "mode": "c"})), "`mode` must be one of \"a\", \"b\"");
    assert_eq!(fault(json!({"path": "x", "count": 10})), "`count` must be at most 9");
    assert_eq!(fault(json!({"path": "x", "list": [1]})), "`list` must be a string, not a number");
    assert_eq!(fault(json!({"path": "x", "more": 1})), "unknown argument `more`");
}

#[test]
fn tool_without_a_schema_accepts_all_arguments() {
    assert!(Schemas::default().check("tool", &Args::new()).is_ok());
}
