//! Tests that withheld values are removed in every written form, and that nothing else is.

use serde_json::json;

use super::WithheldValues;

#[test]
fn withheld_value_is_found_when_quoted_or_cut_short() {
    let args = json!({"to": "ada", "body": "say \"hi\"\nnow", "pin": 7, "list": ["horse battery"]});
    let keys = ["body", "pin", "list"].map(str::to_owned);
    let withheld = WithheldValues::of(args.as_object().unwrap(), &keys);
    for (text, left) in [
        ("send(body=\"say \\\"hi\\\"\\nnow\", to=\"ada\")", "send(body=\"[left out]\", to=\"ada\")"),
        ("body was say \"hi\"\nnow", "body was [left out]"),
        ("invalid type: string \"horse battery\"", "invalid type: string \"[left out]\""),
        ("it begins with horse ba…", "it begins with [left out]…"),
        ("invalid value: integer `7`, expected u3", "invalid value: integer `[left out]`, expected u3"),
        ("17 and 7b stay", "17 and 7b stay"),
    ] {
        assert_eq!(withheld.text(text), left);
    }
    for value in [json!({"x": ["a horse battery"]}), json!({"pin": null}), json!([7]), json!("pin 7")] {
        assert!(withheld.is_in(&value), "{value}");
    }
    assert!(!withheld.is_in(&json!({"to": "ada", "n": 77, "sure": true, "none": null})));
}
