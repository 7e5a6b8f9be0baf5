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

/// Returns the mismatch of an argument `n` whose schema is given, with definitions as Pydantic writes them.
fn fault_of(schema: &Value, value: &Value) -> String {
    let defs = json!({
        "Point": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
        "Color": {"enum": ["red", "blue"]},
        "Tree": {
            "type": "object",
            "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]}, "v": {"type": "integer"}},
        },
    });
    fault(&json!({"type": "object", "properties": {"n": schema}, "$defs": defs}), &json!({"n": value}))
}

#[test]
fn alternatives_and_references_are_checked() {
    let optional = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
    let point = json!({"$ref": "#/$defs/Point"});
    let list = json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]});
    let tagged = json!({"oneOf": [
        {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
        {"properties": {"kind": {"const": "b"}}, "required": ["kind"]},
    ]});
    let both = json!({"allOf": [{"$ref": "#/$defs/Point"}, {"required": ["y"]}]});
    let above = json!({"exclusiveMinimum": 1, "exclusiveMaximum": 2.5});
    let cases = [
        (&optional, json!(1), "fits"),
        (&optional, json!(null), "fits"),
        (&optional, json!("1"), "`n` must be an integer or null, not a string"),
        (&point, json!({"x": 1}), "fits"),
        (&point, json!({"x": "1"}), "`x` must be an integer, not a string"),
        (&point, json!({}), "`x` is missing"),
        (&point, json!(1), "`n` must be an object, not a number"),
        (
            &json!({"anyOf": [point, {"type": "null"}]}),
            json!({"x": true}),
            "`x` must be an integer, not a boolean",
        ),
        (&json!({"$ref": "#/$defs/Color"}), json!("red"), "fits"),
        (&json!({"$ref": "#/$defs/Color"}), json!("green"), "`n` must be one of \"red\", \"blue\""),
        (&json!({"$ref": "#/$defs/Tree"}), json!({"v": 1, "next": {"v": 2, "next": null}}), "fits"),
        (
            &json!({"$ref": "#/$defs/Tree"}),
            json!({"next": {"next": {"v": "3"}}}),
            "`v` must be an integer, not a string",
        ),
        (&list, json!([1, 2]), "fits"),
        (&list, json!(["1"]), "`n` must be an integer, not a string"),
        (&list, json!("1"), "`n` must be an array or null, not a string"),
        (&tagged, json!({"kind": "b"}), "fits"),
        (&tagged, json!({"kind": "c"}), "`n` matches none of the forms that the schema allows"),
        (&both, json!({"x": 1, "y": 2}), "fits"),
        (&both, json!({"x": 1}), "`y` is missing"),
        (&json!({"const": {"a": [1]}}), json!({"a": [1.0]}), "fits"),
        (&json!({"const": "a"}), json!("b"), "`n` must be \"a\""),
        (&above, json!(2), "fits"),
        (&above, json!(1), "`n` must be more than 1"),
        (&above, json!(2.5), "`n` must be less than 2.5"),
        (&json!({"anyOf": [false, {"type": "string"}]}), json!(1), "`n` must be a string, not a number"),
        (&json!(false), json!(1), "`n` has a value where the schema allows none"),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(fault_of(schema, &value), expected, "{schema} {value}");
    }
}

#[test]
fn combined_schemas_of_all_arguments_are_checked() {
    let either = json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(fault(&either, &json!({"b": 1})), "fits");
    let none = "`arguments` matches none of the forms that the schema allows";
    assert_eq!(fault(&either, &json!({"c": 1})), none);
    let named = json!({"$ref": "#/$defs/Args", "$defs": {"Args": {"required": ["a"]}}});
    assert_eq!(fault(&named, &json!({"a": 1})), "fits");
    assert_eq!(fault(&named, &json!({})), "`a` is missing");
    let old =
        json!({"definitions": {"n": {"type": "integer"}}, "properties": {"n": {"$ref": "#/definitions/n"}}});
    assert_eq!(fault(&old, &json!({"n": "1"})), "`n` must be an integer, not a string");
}

/// A schema that the check cannot read must not refuse a call that the tool would accept.
#[test]
fn schema_that_is_not_understood_accepts() {
    let big = 9_007_199_254_740_993_i64;
    let cases = [
        (json!({"anyOf": []}), json!(1)),
        (json!({"anyOf": {"type": "string"}}), json!(1)),
        (json!({"anyOf": [{"type": "string"}, 5]}), json!(1)),
        (json!({"anyOf": [{"type": "string"}, {"type": "new"}]}), json!(1)),
        (json!({"anyOf": [{"type": "string"}], "nullable": true}), json!(null)),
        (json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}), json!(1)),
        (json!({"allOf": "Point"}), json!(1)),
        (json!({"type": ["string", 5]}), json!(1)),
        (json!({"$ref": "#/$defs/Missing"}), json!(1)),
        (json!({"$ref": "#/$defs/Point/properties/x"}), json!("1")),
        (json!({"$ref": "#/$defs/Po%69nt"}), json!(1)),
        (json!({"$ref": "https://example.com/#/$defs/Point"}), json!(1)),
        (json!({"$ref": 5}), json!(1)),
        (json!({"$id": "https://example.com/n", "$ref": "#/$defs/Point"}), json!(1)),
        (json!({"properties": [], "additionalProperties": false}), json!({"a": 1})),
        (json!({"exclusiveMinimum": true, "minimum": 1}), json!(1)),
        (json!({"exclusiveMinimum": "1"}), json!(1)),
        (json!({"exclusiveMinimum": big - 1}), json!(big)),
        (json!({"exclusiveMinimum": 9_007_199_254_740_992.0_f64}), json!(big)),
        (json!({"const": 9_007_199_254_740_992.0_f64}), json!(big)),
        (json!({"not": {}}), json!(1)),
    ];
    for (schema, value) in cases {
        assert_eq!(fault_of(&schema, &value), "fits", "{schema} {value}");
    }
    let old = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"n": {"type": "integer"}},
        "properties": {"n": {"$ref": "#/definitions/n", "type": "string"}},
    });
    assert_eq!(fault(&old, &json!({"n": 1})), "fits", "the words next to a `$ref` do not count");
}

#[test]
fn hostile_schema_cannot_keep_the_check_busy() {
    let many = |part: Value| json!({"anyOf": vec![part; 10_000]});
    let to_self = || json!({"$ref": "#/$defs/Loop"});
    let long = "x".repeat(1_000_000);
    let loops = [
        to_self(),
        json!({"$ref": "#"}),
        json!({"anyOf": [to_self(), to_self()]}),
        json!({"allOf": [to_self(), to_self(), {"anyOf": [to_self(), to_self()]}]}),
        many(to_self()),
        many(json!({"$ref": "#/$defs/Kinds"})),
        many(json!({"minLength": 10_000_000})),
        json!({"anyOf": vec![to_self(); 10_000], "enum": vec![long.as_str(); 10]}),
        json!({"allOf": vec![json!({"required": vec![long.as_str(); 3]}); 100]}),
    ];
    for hostile in loops {
        let schema = json!({"properties": {"n": to_self()}, "$defs": {"Loop": hostile, "Kinds": {"type": vec!["null"; 10_000]}}});
        for value in [json!(1), json!(long), json!({"n": {"n": 1}}), json!(vec![json!({}); 1000])] {
            // The result does not matter, only that there is one soon.
            drop(check_args(&schema, json!({"n": value}).as_object().unwrap()));
        }
    }
    let late =
        json!({"properties": {"n": {"anyOf": [many(json!({"type": "string"})), {"type": "integer"}]}}});
    assert_eq!(fault(&late, &json!({"n": 1})), "fits");
    assert_eq!(fault(&late, &json!({"n": []})), "`n` must be a string or an integer, not a list");
}
