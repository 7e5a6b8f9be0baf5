//! Tests that a condition in doubt never allows a call, and may deny it.

use serde_json::{Value, json};

use super::{Condition, Doubt, Glob, Test};
use crate::call::ApprovalContext;

fn call(args: Value) -> ApprovalContext {
    ApprovalContext::new("t", args.as_object().unwrap().clone())
}

fn glob(text: &str) -> Condition {
    Condition { field: "x".to_owned(), any_of: vec![Test::Glob(Glob::new(text).unwrap())] }
}

#[test]
fn star_stops_at_a_slash() {
    assert!(glob("public_*").holds(&call(json!({"x": "public_a"})), Doubt::Fails));
    assert!(!glob("public_*").holds(&call(json!({"x": "public_a/b"})), Doubt::Fails));
    assert!(glob("public_**").holds(&call(json!({"x": "public_a"})), Doubt::Fails));
    assert!(glob("a/**").holds(&call(json!({"x": "a/b/c"})), Doubt::Fails));
}

#[test]
fn climbing_path_satisfies_no_allow_condition() {
    assert!(!glob("a/**").holds(&call(json!({"x": "a/../etc"})), Doubt::Fails));
    assert!(glob("a/**").holds(&call(json!({"x": "a/../etc"})), Doubt::Matches));
}

#[test]
fn list_needs_every_item_to_match_but_one_to_deny() {
    let mixed = call(json!({"x": ["ok", "bad"]}));
    assert!(!glob("ok").holds(&mixed, Doubt::Fails));
    assert!(glob("bad").holds(&mixed, Doubt::Matches));
    assert!(!glob("*").holds(&call(json!({"x": []})), Doubt::Fails));
    assert!(!glob("*").holds(&call(json!({})), Doubt::Matches));
}

#[test]
fn number_condition_matches_only_that_number() {
    let one = Condition { field: "x".to_owned(), any_of: vec![Test::Exact(json!(1))] };
    assert!(one.holds(&call(json!({"x": 1})), Doubt::Fails));
    for other in [json!(1.0), json!("1"), json!(true), json!(null)] {
        assert!(!one.holds(&call(json!({"x": other})), Doubt::Fails), "{other}");
    }
}

#[test]
fn unresolved_path_denies_and_allows_nothing() {
    let path = Condition { field: "x".to_owned(), any_of: vec![Test::Path(Glob::new("/w/**").unwrap())] };
    let mut c = call(json!({"x": "a"}));
    assert!(!path.holds(&c, Doubt::Fails) && path.holds(&c, Doubt::Matches));
    c.resolved.insert("a".to_owned(), "/w/a".to_owned());
    assert!(path.holds(&c, Doubt::Fails));
    c.resolved.insert("a".to_owned(), "/etc/a".to_owned());
    assert!(!path.holds(&c, Doubt::Matches));
}

#[test]
fn prefix_glob_matches_like_the_full_matcher() {
    for prefix in ["", "a", "mcp__x__", "!a", "a b", "a/", "é", "a,b"] {
        let (short, long) = (format!("{prefix}*"), format!("{prefix}{{*,*}}"));
        for text in ["", "a", "ab", "a/", "a/b", "mcp__x__y", "mcp__x__y/z", "!ab", "a bc", "éa", "a,bc", "b"]
        {
            let (short, long) = (Glob::new(&short).unwrap(), Glob::new(&long).unwrap());
            assert_eq!(short.is_match(text), long.is_match(text), "{} {text}", short.text());
            let names = |text: &str| Glob::of_names(text).unwrap();
            assert_eq!(names(short.text()).is_match(text), names(long.text()).is_match(text), "{text}");
        }
    }
    for bad in ["a[", "{a", "a[z-a]*", "a{*"] {
        assert!(Glob::new(bad).is_err(), "{bad}");
    }
}
