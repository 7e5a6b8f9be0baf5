//! Tests of checking arguments against a schema.

use serde_json::json;

use super::*;

fn fault(schema: &Value, args: &Value) -> String {
    match check_args(schema, args.as_object().unwrap()) {
        Ok(()) => "fits".to_owned(),
        Err(mismatch) => mismatch.to_string(),
    }
}

/// A mismatch refuses the call, so the check must not report arguments that a tool could accept.
#[test]
fn rare_keywords_are_never_a_mismatch() {
    let cases = [
        (json!({"properties": {"n": {"enum": [1, 2]}}}), json!({"n": 1.0})),
        (json!({"properties": {"n": {"type": "integer"}}}), json!({"n": 2.0})),
        (json!({"properties": {"n": {"type": "string", "nullable": true}}}), json!({"n": null})),
        (json!({"patternProperties": {"^x-": {}}, "additionalProperties": false}), json!({"x-a": 1})),
        (
            json!({"properties": {"l": {"prefixItems": [{"type": "string"}], "items": {"type": "number"}}}}),
            json!({"l": ["a", 1, 2]}),
        ),
        (json!({"properties": {"l": {"items": [{"type": "string"}]}}}), json!({"l": [1]})),
        (
            json!({"properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "string"}}}),
            json!({"n": 1}),
        ),
        (json!({"properties": {"n": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}), json!({"n": null})),
        (json!(true), json!({"n": 1})),
        (Value::Null, json!({"n": 1})),
    ];
    for (schema, args) in cases {
        assert_eq!(fault(&schema, &args), "fits", "{schema} {args}");
    }
}

#[test]
fn mismatch_after_prefix_items_is_reported() {
    let schema = json!({"properties": {"l": {"prefixItems": [{}], "items": {"type": "number"}}}});
    assert_eq!(fault(&schema, &json!({"l": ["a", "b"]})), "`l` must be a number, not a string");
}
