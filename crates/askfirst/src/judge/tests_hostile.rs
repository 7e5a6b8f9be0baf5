//! Hostile input: an agent that controls all arguments, and a server that chooses the names of its tools.

use serde_json::json;

use super::*;
use crate::words::Approval::{Deny, Human, None as Free, Required};

/// Whether `{ approval: none, when: { x: TEST } }` allows a call with argument `x`. All other calls ask.
fn is_allowed(test: Test, x: Value) -> bool {
    let policy = policy(Required, vec![("t", vec![when(case(Free, 2), "x", [test])])]);
    verdict_of("t", json!({ "x": x }), &policy) == Verdict::Allow
}

/// Whether `{ approval: deny, when: { x: TEST } }` denies a call with argument `x`. All other calls run.
fn is_denied(test: Test, x: Value) -> bool {
    let list = vec![case(Free, 3), when(case(Deny, 2), "x", [test])];
    verdict_of("t", json!({ "x": x }), &policy(Free, vec![("t", list)])) == Verdict::Deny
}

#[test]
fn only_the_exact_value_satisfies_a_condition() {
    assert!(is_allowed(equals("users"), json!("users")));
    let others = [
        json!("Users"),
        json!("users "),
        json!("users\0"),
        json!("\u{feff}users"),
        json!("us\u{200b}ers"),
        json!(""),
        json!(null),
        json!({"users": "users"}),
        json!([]),
        json!(["users", "wages"]),
        json!([["users"]]),
        json!([null]),
    ];
    for other in others {
        assert!(!is_allowed(equals("users"), other.clone()), "{other}");
    }
    for other in [json!(1.0), json!("1"), json!(true), json!([1, 2])] {
        assert!(!is_allowed(equals(1), other.clone()), "{other}");
    }
    assert!(!is_allowed(equals(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64)));
}

#[test]
fn climbing_path_matches_no_allow_glob_in_any_spelling() {
    assert!(is_allowed(matches("notes/**"), json!("notes/a/b.md")));
    let climbing = [
        "notes/..",
        "notes/../x",
        "notes/a/../../x",
        "notes/..\\x",
        "notes/%2e%2e/x",
        "notes/%2E./x",
        "notes/.%2e",
        "../notes/x",
    ];
    for text in climbing {
        assert!(!is_allowed(matches("notes/**"), json!(text)), "{text}");
        assert!(!is_allowed(matches("**"), json!(text)), "{text}");
    }
    assert!(!is_allowed(matches("*"), json!("..")));
    assert!(is_allowed(matches("*"), json!("a..b")));
}

#[test]
fn glob_condition_matches_only_strings() {
    for other in
        [json!(1), json!(true), json!(null), json!({}), json!({"x": "x"}), json!([[]]), json!([{"x": 1}])]
    {
        assert!(!is_allowed(matches("**"), other.clone()), "{other}");
    }
}

#[test]
fn deny_covers_every_kind_of_equivalent_value() {
    // Values that a tool with loose types would treat as the denied value.
    for other in [
        json!(true),
        json!("true"),
        json!("yes"),
        json!(1),
        json!(1.0),
        json!([true]),
        json!([[true]]),
        json!({}),
    ] {
        assert!(is_denied(equals(true), other.clone()), "{other}");
    }
    for other in [json!(42), json!(42.0), json!("42"), json!(["a", 42])] {
        assert!(is_denied(equals(42), other.clone()), "{other}");
    }
    for other in [json!("42"), json!(42), json!(["7", "42"]), json!([["42"]]), json!({"$eq": "42"})] {
        assert!(is_denied(equals("42"), other.clone()), "{other}");
        assert!(is_denied(matches("4*"), other.clone()), "{other}");
    }
    for other in [json!(false), json!(null), json!([])] {
        assert!(!is_denied(equals(true), other.clone()), "{other}");
    }
    assert!(
        !is_denied(equals("42"), json!("43"))
            && !is_denied(equals(42), json!(43))
            && !is_denied(matches("4*"), json!("5"))
    );
}

#[test]
fn deny_covers_every_spelling_of_a_path() {
    for text in [
        "secrets/a",
        "./secrets/a",
        "secrets//a",
        "secrets/./a",
        "x/../secrets/a",
        ".//secrets/a",
        "x/%2e%2e/secrets/a",
    ] {
        assert!(is_denied(matches("secrets/**"), json!(text)), "{text}");
    }
    for text in ["/etc/passwd", "//etc/passwd", "/./etc//passwd"] {
        assert!(is_denied(matches("/etc/*"), json!(text)), "{text}");
    }
    assert!(!is_denied(matches("secrets/**"), json!("open/a")));
}

#[test]
fn deny_among_many_cases_is_found_for_any_kind_of_value() {
    let mut list: Vec<Case> =
        (0..50).map(|n| when(case(Free, n + 10), "x", [equals(format!("ok{n}"))])).collect();
    list.push(when(case(Deny, 2), "x", [equals("bad")]));
    let policy = policy(Free, vec![("t", list)]);
    assert_eq!(verdict_of("t", json!({"x": "ok7"}), &policy), Verdict::Allow);
    for x in [
        json!("bad"),
        json!(["ok7", "bad"]),
        json!([["bad"]]),
        json!({"bad": "bad"}),
        json!(["ok7", {"v": "bad"}]),
    ] {
        assert_eq!(verdict_of("t", json!({ "x": x }), &policy), Verdict::Deny, "{x}");
    }
}

#[test]
fn similar_argument_names_do_not_match_a_condition() {
    let list = vec![
        when(case(Deny, 2), "path", [equals("/etc")]),
        when(case(Free, 3), "path", [equals("/w")]),
        case(Human, 4),
    ];
    let policy = policy(None, vec![("t", list)]);
    for key in ["Path", "path ", " path", "path\0", "pаth", "PATH", "", "\0path", "path.0"] {
        let mut args = json!({ key: "/w" });
        assert_eq!(verdict_of("t", args.clone(), &policy), Verdict::Ask, "{key:?}");
        args["path"] = json!("/etc");
        assert_eq!(verdict_of("t", args, &policy), Verdict::Deny, "{key:?}");
    }
}

#[test]
fn deny_glob_covers_every_odd_tool_name() {
    let policy = policy(Free, vec![("mcp__git__*", vec![case(Deny, 2)]), ("a*", vec![case(Free, 3)])]);
    for tool in
        ["delete", "", "a/b", "/", "a\nb", "a\0b", "..", "ü", "\u{202e}x", "*", "{a}", "[", "\\", "𝒹elete"]
    {
        assert_eq!(verdict_of(&format!("mcp__git__{tool}"), json!({}), &policy), Verdict::Deny, "{tool:?}");
    }
}

#[test]
fn glob_with_multibyte_prefix_is_found_beside_shorter_ones() {
    let globs =
        vec![("a*", vec![case(Free, 2)]), ("über*", vec![case(Deny, 3)]), ("üb*", vec![case(Free, 4)])];
    let policy = policy(Free, globs);
    assert_eq!(verdict_of("überweisen", json!({}), &policy), Verdict::Deny);
    assert_eq!(verdict_of("ü", json!({}), &policy), Verdict::Allow);
}

#[test]
fn odd_tool_name_matches_no_other_name() {
    let policy = policy(Required, vec![("calc", vec![case(Free, 2)]), ("shell", vec![case(Free, 3)])]);
    for name in ["", "Calc", "calc ", "calc\0", "cаlc", "shell\n", "SHELL", "calc/../shell"] {
        assert_eq!(verdict_of(name, json!({}), &policy), Verdict::Ask, "{name:?}");
    }
}

#[test]
fn huge_and_deep_arguments_are_judged_normally() {
    let deep = (0..60).fold(json!("bad"), |inner, _| json!([inner]));
    assert!(is_denied(equals("bad"), deep.clone()) && !is_allowed(equals("bad"), deep));
    let long = "x".repeat(1 << 20);
    assert!(is_allowed(matches("x*"), json!(long)) && !is_allowed(matches("y*"), json!(long)));
    let many: Vec<Value> = (0..10_000).map(|n| json!(format!("public_{n}"))).collect();
    assert!(is_allowed(matches("public_*"), json!(many)));
    let mut one_bad = many;
    one_bad.push(json!("wages"));
    assert!(!is_allowed(matches("public_*"), json!(one_bad)) && is_denied(equals("wages"), json!(one_bad)));
}

#[test]
fn condition_without_tests_never_holds() {
    let list = vec![when(case(Free, 2), "x", []), when(case(Deny, 3), "x", [])];
    assert_eq!(verdict_of("t", json!({"x": "a"}), &policy(Required, vec![("t", list)])), Verdict::Ask);
}
