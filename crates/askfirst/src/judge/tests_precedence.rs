//! The five steps of precedence, each with the rule that the verdict must name.

use serde_json::json;

use super::*;
use crate::words::Approval::{Deny, Human, None as Free, OncePerSession, Rehearse, Required};

const OWN: &str = "tool's own assessment";

/// Checks the verdict about a call of the tool `t`, and the rule and line that decide it.
fn check(assessment: &Assessment, policy: &Policy, approval: Approval, rule: &str, line: Option<u32>) {
    let call = call("t", json!({"a": "x"}));
    let assessment = &Assessment { rehearses: true, ..assessment.clone() };
    let policy = &policy.clone().with_rehearsal_probe(|| None::<std::sync::Arc<str>>);
    let judgement = judge(&call, assessment, policy);
    assert_eq!((judgement.approval(), decider(&judgement)), (approval, (rule.to_owned(), line)));
    assert_eq!(judgement.permit().is_some(), matches!(approval, Free | Rehearse));
    assert_eq!(judgement.refusal().is_some(), approval == Deny);
    assert_eq!(judgement.request().is_some(), !matches!(approval, Free | Rehearse | Deny));
}

#[test]
fn step_1_tool_block_cannot_be_lifted() {
    for approval in Approval::ALL {
        let policy = policy(Free, vec![("t", vec![case(approval, 2)]), ("*", vec![case(Free, 3)])]);
        check(&Assessment::blocked("outside"), &policy, Deny, OWN, None);
        let refusal =
            judge(&call("t", json!({})), &Assessment::blocked("outside"), &policy).refusal().unwrap();
        assert_eq!(refusal.reason, "outside");
    }
}

#[test]
fn step_2_deny_on_any_matching_entry_denies() {
    for mild in [Free, OncePerSession, Required, Human] {
        let by_glob = policy(Free, vec![("t", vec![case(mild, 2)]), ("*", vec![case(Deny, 3)])]);
        check(&Assessment::harmless(), &by_glob, Deny, "tools@3", Some(3));
        let by_name = policy(Free, vec![("t", vec![case(Deny, 2)]), ("*", vec![case(mild, 3)])]);
        check(&firm(Assessment::harmless()), &by_name, Deny, "tools@2", Some(2));
        let by_middle =
            vec![("t", vec![case(mild, 2)]), ("t*", vec![case(Deny, 3)]), ("*", vec![case(mild, 4)])];
        check(&asks(mild), &policy(Free, by_middle), Deny, "tools@3", Some(3));
    }
}

#[test]
fn step_3_config_overrides_the_tools_own_view() {
    for own in [Assessment::harmless(), Assessment::silent(), asks(Required), asks(Human)] {
        for approval in Approval::ALL {
            let exact = policy(None, vec![("t", vec![case(approval, 2)])]);
            check(&own, &exact, approval, "tools@2", Some(2));
            let glob = policy(None, vec![("?", vec![case(approval, 7)])]);
            check(&own, &glob, approval, "tools@7", Some(7));
        }
    }
}

#[test]
fn step_4_tools_own_view_applies_without_a_config_entry() {
    let policy = policy(Free, vec![("other", vec![case(Deny, 2)])]);
    check(&Assessment::harmless(), &policy, Free, OWN, None);
    check(&asks(Human), &policy, Human, OWN, None);
    // A function that requires approval asks, even if the default is `none`.
    check(&asks(Required), &policy, Required, OWN, None);
    // A request with the value `none` still asks.
    check(&asks(Free), &policy, OncePerSession, OWN, None);
    check(&asks(Deny), &policy, Deny, OWN, None);
}

#[test]
fn step_5_default_applies_without_entry_or_tool_view() {
    for approval in Approval::ALL {
        check(&Assessment::silent(), &policy(approval, vec![]), approval, "default_approval", Some(1));
        // The tool's own assessment applies, even if the default is stricter.
        check(&Assessment::harmless(), &policy(approval, vec![]), Free, OWN, None);
    }
    check(&Assessment::silent(), &policy(None, vec![]), Required, "default_approval", None);
    let bare = Policy::default();
    assert_eq!(approval_of(&call("t", json!({})), &Assessment::silent(), &bare), Required);
}

#[test]
fn most_specific_name_wins() {
    let entries = || {
        vec![
            ("*", vec![case(Human, 2)]),
            ("mcp__*", vec![case(Required, 3)]),
            ("mcp__git_*", vec![case(Free, 4)]),
        ]
    };
    let of =
        |name: &str| approval_of(&call(name, json!({})), &Assessment::silent(), &policy(Deny, entries()));
    assert_eq!((of("calc"), of("mcp__x"), of("mcp__git_log")), (Human, Required, Free));
    let mut with_name = entries();
    with_name.push(("mcp__git_log", vec![case(OncePerSession, 5)]));
    let policy = policy(Deny, with_name);
    let call = call("mcp__git_log", json!({}));
    assert_eq!(decider(&judge(&call, &Assessment::silent(), &policy)).1, Some(5));
}

#[test]
fn strictest_of_equally_specific_names_wins() {
    for (a, b) in [(Free, Human), (Human, Free)] {
        let policy = policy(None, vec![("ab*", vec![case(a, 2)]), ("a*b", vec![case(b, 3)])]);
        assert_eq!(approval_of(&call("ab", json!({})), &Assessment::silent(), &policy), Human);
    }
}

#[test]
fn alternatives_are_not_more_specific_than_a_literal_prefix() {
    let entries =
        vec![("{get,list,read,search}_*", vec![case(Free, 2)]), ("get_secret*", vec![case(Human, 3)])];
    let policy = policy(None, entries);
    assert_eq!(approval_of(&call("get_secrets", json!({})), &Assessment::silent(), &policy), Human);
    assert_eq!(approval_of(&call("get_time", json!({})), &Assessment::silent(), &policy), Free);
}

#[test]
fn case_list_falls_back_to_globs_then_to_the_tools_view() {
    let list = || {
        vec![
            when(case(Free, 2), "table", [equals("users"), matches("public_*")]),
            when(case(Required, 3), "table", [matches("*")]),
        ]
    };
    let with_glob = policy(Free, vec![("rows", list()), ("r*", vec![case(OncePerSession, 4)])]);
    let of = |args, own: &Assessment, policy: &Policy| {
        let call = call("rows", args);
        let judgement = judge(&call, own, policy);
        (judgement.approval(), decider(&judgement).1)
    };
    let silent = Assessment::silent();
    assert_eq!(of(json!({"table": "users"}), &silent, &with_glob), (Free, Some(2)));
    assert_eq!(of(json!({"table": "public_x"}), &silent, &with_glob), (Free, Some(2)));
    assert_eq!(of(json!({"table": "wages"}), &silent, &with_glob), (Required, Some(3)));
    assert_eq!(of(json!({}), &silent, &with_glob), (OncePerSession, Some(4)));
    let alone = policy(Free, vec![("rows", list())]);
    assert_eq!(of(json!({}), &asks(Human), &alone), (Human, None));
    assert_eq!(of(json!({}), &silent, &alone), (Free, Some(1)));
}

#[test]
fn case_list_is_tried_in_order_for_any_conditions() {
    let list = || {
        vec![
            when(case(Human, 2), "table", [matches("user*")]),
            when(case(Free, 3), "table", [equals("users")]),
            when(case(Required, 4), "table", [equals("wages")]),
            when(case(Free, 5), "table", [matches("w*")]),
        ]
    };
    let policy = policy(Deny, vec![("rows", list())]);
    for (table, line) in [("users", 2), ("wages", 4), ("w", 5)] {
        let (call, own) = (call("rows", json!({ "table": table })), Assessment::silent());
        assert_eq!(decider(&judge(&call, &own, &policy)).1, Some(line), "{table}");
    }
}

#[test]
fn deny_with_conditions_wins_at_any_position() {
    for at in 0..3 {
        let mut list = vec![when(case(Free, 2), "table", [equals("users")]), case(Human, 3)];
        list.insert(at, when(case(Deny, 9), "drop", [equals(true)]));
        let policy = policy(None, vec![("rows", list)]);
        let both = call("rows", json!({"table": "users", "drop": true}));
        assert_eq!(decider(&judge(&both, &Assessment::silent(), &policy)).1, Some(9), "at {at}");
        let kept = call("rows", json!({"table": "users", "drop": false}));
        assert_eq!(approval_of(&kept, &Assessment::silent(), &policy), Free, "at {at}");
    }
}

#[test]
fn unconditional_deny_at_list_end_covers_the_rest() {
    let list = vec![when(case(Free, 2), "table", [equals("users")]), case(Deny, 3)];
    let policy = policy(None, vec![("rows", list)]);
    assert_eq!(verdict_of("rows", json!({"table": "users"}), &policy), Verdict::Allow);
    assert_eq!(verdict_of("rows", json!({"table": "wages"}), &policy), Verdict::Deny);
    assert_eq!(verdict_of("rows", json!({}), &policy), Verdict::Deny);
}

#[test]
fn empty_entry_leaves_the_decision_to_the_tool() {
    let alone = policy(Free, vec![("t", vec![case(None, 2)])]);
    check(&Assessment::harmless(), &alone, Free, OWN, None);
    check(&asks(Human), &alone, Human, OWN, None);
    check(&Assessment::silent(), &alone, Free, "default_approval", Some(1));
    // The empty entry is more specific than the glob, so the glob's approval does not count.
    let soft = policy(Human, vec![("t", vec![case(None, 2)]), ("*", vec![case(Free, 3)])]);
    check(&asks(Required), &soft, Required, OWN, None);
    check(&Assessment::silent(), &soft, Human, "default_approval", Some(1));
    let denied = policy(Free, vec![("t", vec![case(None, 2)]), ("*", vec![case(Deny, 3)])]);
    check(&Assessment::harmless(), &denied, Deny, "tools@3", Some(3));
}

#[test]
fn entry_without_approval_falls_back_to_globs() {
    let entries = vec![("t", vec![risky(case(None, 2), Risk::High)]), ("*", vec![case(Human, 3)])];
    check(&Assessment::harmless(), &policy(Free, entries), Human, "tools@3", Some(3));
}

#[test]
fn exact_name_overrides_a_firm_view_but_a_glob_does_not() {
    let exact = policy(None, vec![("t", vec![case(Free, 2)])]);
    check(&firm(asks(Required)), &exact, Free, "tools@2", Some(2));
    let glob = policy(None, vec![("*", vec![case(Free, 2)])]);
    check(&firm(asks(Required)), &glob, Required, OWN, None);
    check(&firm(asks(Human)), &glob, Human, OWN, None);
    let stricter = policy(None, vec![("*", vec![case(Human, 2)])]);
    check(&firm(asks(Required)), &stricter, Human, "tools@2", Some(2));
    check(&firm(Assessment::harmless()), &stricter, Human, "tools@2", Some(2));
}

#[test]
fn glob_keeps_firm_view_behind_entry_without_approval() {
    let entries = vec![("t", vec![described(case(None, 2), "writes")]), ("*", vec![case(Free, 3)])];
    check(&firm(asks(Required)), &policy(None, entries), Required, OWN, None);
}

#[test]
fn guarded_name_asks_unless_the_config_names_it_exactly() {
    for name in crate::policy::GUARDED {
        let call = call(name, json!({}));
        for glob in ["*", "?*", "{shell,exec,worker_call,worker_create}", "[sew]*"] {
            let policy = policy(Free, vec![(glob, vec![case(Free, 2)])]);
            assert_eq!(approval_of(&call, &Assessment::silent(), &policy), Required, "{name} under {glob}");
        }
        let exact = policy(None, vec![(name, vec![case(Free, 2)])]);
        assert_eq!(approval_of(&call, &Assessment::silent(), &exact), Free, "{name}");
        assert_eq!(approval_of(&call, &asks(Human), &exact), Free, "{name}");
        assert_eq!(approval_of(&call, &Assessment::blocked("no"), &exact), Deny, "{name}");
        let empty = policy(Free, vec![(name, vec![case(None, 2)])]);
        assert_eq!(approval_of(&call, &Assessment::silent(), &empty), Required, "{name}");
    }
}

#[test]
fn guarded_name_still_follows_stricter_rules() {
    for name in crate::policy::GUARDED {
        let call = call(name, json!({}));
        for default in [Human, Deny] {
            let policy = policy(default, vec![]);
            let own = Assessment::silent();
            let judgement = judge(&call, &own, &policy);
            assert_eq!((judgement.approval(), decider(&judgement).1), (default, Some(1)), "{name}");
        }
        let denied = policy(Free, vec![("*", vec![case(Deny, 2)])]);
        assert_eq!(approval_of(&call, &Assessment::harmless(), &denied), Deny, "{name}");
    }
}

#[test]
fn shell_view_applies_but_a_worker_always_asks() {
    let policy = policy(Free, vec![("*", vec![case(Free, 2)])]);
    assert_eq!(approval_of(&call("shell", json!({})), &Assessment::harmless(), &policy), Free);
    assert_eq!(approval_of(&call("shell", json!({})), &asks(Human), &policy), Human);
    for worker in ["worker_call", "worker_create"] {
        assert_eq!(approval_of(&call(worker, json!({})), &Assessment::harmless(), &policy), Required);
        assert_eq!(approval_of(&call(worker, json!({})), &asks(OncePerSession), &policy), Required);
        assert_eq!(approval_of(&call(worker, json!({})), &asks(Human), &policy), Human);
    }
}

#[test]
fn duplicate_tool_name_keeps_its_deny() {
    for (a, b) in [(Deny, Free), (Free, Deny)] {
        let policy = policy(None, vec![("t", vec![case(a, 2)]), ("t", vec![case(b, 3)])]);
        assert_eq!(verdict_of("t", json!({}), &policy), Verdict::Deny);
    }
    let twice = policy(None, vec![("t", vec![case(Free, 2)]), ("t", vec![case(Human, 3)])]);
    assert_eq!(approval_of(&call("t", json!({})), &Assessment::silent(), &twice), Human);
}

#[test]
fn unsettled_call_needs_a_person_under_every_rule() {
    for approval in Approval::ALL {
        let policy = policy(Free, vec![("t", vec![case(approval, 2)])]);
        let unsettled = Assessment { unsettled: Some("it changed".to_owned()), ..Assessment::silent() };
        let (rule, line) = if approval < Human { ("unsettled", None) } else { ("tools@2", Some(2)) };
        check(&unsettled, &policy, approval.max(Human), rule, line);
    }
    let blocked = Assessment { unsettled: Some("it changed".to_owned()), ..Assessment::blocked("outside") };
    check(&blocked, &policy(Free, vec![]), Deny, OWN, None);
}

#[test]
fn call_that_cannot_be_rehearsed_asks() {
    let call = call("t", json!({"a": "x"}));
    let rehearse = policy(None, vec![("t", vec![case(Rehearse, 2)])]);
    let on_view = Assessment { rehearses: true, ..Assessment::silent() };
    let decide = |own: &Assessment, policy: &Policy| {
        let judgement = judge(&call, own, policy);
        (judgement.approval(), decider(&judgement).0, judgement.permit().is_some())
    };
    let works = rehearse.clone().with_rehearsal_probe(|| None::<std::sync::Arc<str>>);
    assert_eq!(decide(&on_view, &works), (Rehearse, "tools@2".to_owned(), true));
    assert_eq!(decide(&Assessment::silent(), &works), (Required, "rehearsal".to_owned(), false));
    let broken = rehearse.with_rehearsal_probe(|| Some("no namespaces".into()));
    assert_eq!(decide(&on_view, &broken), (Required, "rehearsal".to_owned(), false));
    let request = judge(&call, &on_view, &broken).request().unwrap();
    assert!(request.facts.iter().any(|fact| fact.text.contains("no namespaces")), "{:?}", request.facts);
}

#[test]
fn milder_floor_over_a_broken_rehearsal_still_asks_each_time() {
    let call = call("t", json!({"a": "x"}));
    let own = Assessment { rehearses: true, ..Assessment::silent() };
    let rehearse = policy(None, vec![("t", vec![case(Rehearse, 2)])]);
    let floored = rehearse.with_floor(rules(None, vec![("t", vec![case(OncePerSession, 9)])]));
    let broken = floored.clone().with_rehearsal_probe(|| Some("no namespaces".into()));
    assert_eq!(judge(&call, &own, &broken).approval(), Required);
    let works = floored.with_rehearsal_probe(|| None::<std::sync::Arc<str>>);
    assert_eq!(judge(&call, &own, &works).approval(), OncePerSession);
}
