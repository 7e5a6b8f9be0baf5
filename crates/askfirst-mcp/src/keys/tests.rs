//! Tests which keys a reader could take for another one.

use askfirst::Args;
use serde_json::{Value, json};

use super::{check_call, check_controls, check_twins, lookalike};

fn object(value: Value) -> Args {
    value.as_object().unwrap().clone()
}

#[test]
fn control_characters_are_refused_except_in_deeper_keys() {
    for control in ["\0", "\u{1}", "\t", "\n", "\u{1b}", "\u{7f}", "\u{85}", "\u{9f}"] {
        let odd = format!("note{control}");
        for params in [
            json!({ odd.as_str(): 1 }),
            json!({"_meta": { odd.as_str(): 1 }}),
            json!({"arguments": { odd.as_str(): 1 }}),
        ] {
            assert!(check_controls(&object(params.clone())).is_err(), "{params}");
        }
        let deeper =
            json!({"arguments": {"row": { odd.as_str(): 1 }}, "_meta": {"x": [{ odd.as_str(): 1 }]}});
        check_controls(&object(deeper)).unwrap();
    }
}

#[test]
fn key_that_folds_to_a_known_key_is_refused() {
    for odd in
        ["Name", "NAME", "n\u{200b}ame", "\u{ff4e}ame", " name", "na\u{ad}me", "argument\u{17f}", "_META"]
    {
        assert!(check_call(&object(json!({"name": "a", odd: "b"}))).is_err(), "{odd}");
    }
    for odd in ["ProgressToken", "progress\u{200d}token", "io.modelcontextprotocol/ClientInfo"] {
        assert!(check_call(&object(json!({"name": "a", "_meta": { odd: 1 }}))).is_err(), "{odd}");
    }
    let other =
        json!({"name": "a", "task": {"Name": 1}, "names": 1, "_meta": {"progressToken": 1, "A": 1, "a": 2}});
    check_call(&object(other)).unwrap();
}

#[test]
fn arguments_that_fold_to_one_name_are_refused() {
    for (one, other) in [
        ("table", "TaBLE"),
        ("sql", "\u{17f}ql"),
        ("key", "\u{212a}EY"),
        ("é", "É"),
        ("path", "pa\u{feff}th"),
        ("id", "\u{ff49}d"),
    ] {
        assert!(check_twins(&object(json!({ one: 1, other: 2 }))).is_err(), "{one} {other}");
    }
    for (one, other) in [("table", "tables"), ("a", "\u{430}"), ("a", "á")] {
        check_twins(&object(json!({ one: 1, other: 2 }))).unwrap();
    }
}

#[test]
fn known_name_is_no_lookalike_of_another_known_name() {
    let known = ["path", "Path"];
    let is_known = |key: &str| known.contains(&key);
    assert_eq!(lookalike(&object(json!({"Path": 1})), is_known, known), None);
    assert_eq!(lookalike(&object(json!({"PATH": 1})), is_known, known), Some(("PATH", "path")));
    assert_eq!(lookalike(&object(json!({"other": 1})), is_known, known), None);
}
