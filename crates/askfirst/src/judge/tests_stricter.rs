//! Tests of the override, the floors and the sandbox. Floors and a missing sandbox only make a verdict stricter.

use std::sync::Mutex;

use serde_json::{Map, json};

use super::*;
use crate::policy::{NeedsApproval, OverrideVerdict};
use crate::words::Approval::{Deny, Human, None as Free, OncePerSession, Required};
use crate::words::Cause;

/// An override with a fixed verdict. It keeps the line of each entry that it gets.
struct FixedOverride(OverrideVerdict, Mutex<Vec<Option<u32>>>);

impl NeedsApproval for FixedOverride {
    fn needs_approval(&self, _: &ApprovalContext, _: &Assessment, case: Option<&Case>) -> OverrideVerdict {
        self.1.lock().unwrap().push(case.and_then(|case| case.origin.line));
        self.0.clone()
    }

    fn check_options(&self, _: &str, options: &Map<String, Value>) -> Result<(), String> {
        if options.contains_key("bad") { Err("`bad` is not known".to_owned()) } else { Ok(()) }
    }
}

fn overridden(policy: Policy, verdict: OverrideVerdict) -> (Policy, Arc<FixedOverride>) {
    let fixed = Arc::new(FixedOverride(verdict, Mutex::default()));
    (policy.with_override(fixed.clone()).unwrap(), fixed)
}

#[test]
fn override_replaces_config_tool_view_and_default() {
    let entries = || vec![("t", vec![case(Human, 2)]), ("*", vec![case(Required, 3)])];
    for own in [Assessment::silent(), asks(Human), firm(asks(Human)), Assessment::harmless()] {
        let (policy, fixed) = overridden(policy(Human, entries()), OverrideVerdict::Allow);
        let call = call("t", json!({}));
        let judgement = judge(&call, &own, &policy);
        assert_eq!((judgement.approval(), decider(&judgement).0.as_str()), (Free, "override"));
        assert_eq!(*fixed.1.lock().unwrap(), [Some(2)]);
    }
}

#[test]
fn override_is_not_called_for_a_block_or_deny() {
    let denies = [("t", case(Deny, 2)), ("*", case(Deny, 2)), ("t", when(case(Deny, 2), "a", [equals(1)]))];
    for (name, deny) in denies {
        let (policy, fixed) = overridden(policy(Free, vec![(name, vec![deny])]), OverrideVerdict::Allow);
        assert_eq!(verdict_of("t", json!({"a": 1}), &policy), Verdict::Deny);
        assert!(fixed.1.lock().unwrap().is_empty());
    }
    let (policy, fixed) = overridden(policy(Free, vec![]), OverrideVerdict::Allow);
    assert_eq!(approval_of(&call("t", json!({})), &Assessment::blocked("no"), &policy), Deny);
    assert!(fixed.1.lock().unwrap().is_empty());
}

#[test]
fn override_asks_at_least_as_strictly_as_tool_and_config() {
    let of = |own: &Assessment, entry: Option<Approval>| {
        let entries = entry.map(|approval| ("t", vec![case(approval, 2)])).into_iter().collect();
        let (policy, _) = overridden(policy(Free, entries), OverrideVerdict::Ask);
        approval_of(&call("t", json!({})), own, &policy)
    };
    assert_eq!(of(&Assessment::harmless(), None), Required);
    assert_eq!(of(&Assessment::harmless(), Some(Free)), Required);
    assert_eq!(of(&Assessment::silent(), Some(Human)), Human);
    assert_eq!(of(&asks(Human), Some(Free)), Human);
}

#[test]
fn override_request_is_used_but_cannot_allow() {
    let with = |approval| {
        let request =
            ApprovalRequest { approval, ..ApprovalRequest::new("other tool", "mine", json!({"k": 1})) };
        overridden(
            policy(Free, vec![("t", vec![described(case(None, 2), "config's")])]),
            OverrideVerdict::AskWith(Box::new(request)),
        )
        .0
    };
    let call = call("t", json!({"a": 1}));
    let policy = with(Required);
    let request = judge(&call, &Assessment::harmless(), &policy).request().unwrap();
    assert_eq!((request.description.as_str(), &request.payload), ("mine", &json!({"k": 1})));
    // The override can describe the call, but it cannot show another call.
    assert_eq!((request.tool_name.as_str(), &request.args), ("t", &call.args));
    assert_eq!(approval_of(&call, &Assessment::harmless(), &with(Free)), OncePerSession);
    assert_eq!(approval_of(&call, &Assessment::harmless(), &with(Human)), Human);
    assert_eq!(approval_of(&call, &Assessment::harmless(), &with(Deny)), Deny);
}

#[test]
fn override_denies_with_its_reason() {
    let (policy, _) = overridden(policy(Free, vec![]), OverrideVerdict::Deny("not on fridays".to_owned()));
    let call = call("t", json!({}));
    let refusal = judge(&call, &Assessment::harmless(), &policy).refusal().unwrap();
    assert_eq!(
        (refusal.cause, refusal.reason.as_str()),
        (Cause::Policy, "denied by `override`: not on fridays")
    );
}

#[test]
fn unknown_override_options_are_refused_with_the_entry_name() {
    let mut bad = case(None, 2);
    bad.options.insert("bad".to_owned(), json!(1));
    let fixed = Arc::new(FixedOverride(OverrideVerdict::Allow, Mutex::default()));
    let error = policy(None, vec![("t", vec![bad])]).with_override(fixed).err();
    assert_eq!(error.as_deref(), Some("`tools.t.options`: `bad` is not known"));
}

#[test]
fn floor_raises_and_never_lowers_the_approval() {
    for main in Approval::ALL {
        for floor in Approval::ALL {
            let policy = policy(None, vec![("t", vec![case(main, 2)])]);
            let policy = policy.with_floor(rules(None, vec![("t", vec![case(floor, 9)])]));
            let call = call("t", json!({}));
            let own = Assessment { rehearses: true, ..Assessment::silent() };
            let policy = policy.with_rehearsal_probe(|| Option::None::<Arc<str>>);
            let judgement = judge(&call, &own, &policy);
            assert_eq!(judgement.approval(), main.max(floor), "{main} over {floor}");
            let line = if floor > main { 9 } else { 2 };
            assert_eq!(decider(&judgement).1, Some(line), "{main} over {floor}");
        }
    }
}

#[test]
fn floor_holds_under_override_by_glob_and_by_default() {
    let (policy, _) = overridden(policy(Free, vec![]), OverrideVerdict::Allow);
    let denied = policy.clone().with_floor(rules(None, vec![("*", vec![case(Deny, 9)])]));
    assert_eq!(verdict_of("t", json!({}), &denied), Verdict::Deny);
    let default = policy.with_floor(rules(Human, vec![]));
    assert_eq!(approval_of(&call("t", json!({})), &Assessment::silent(), &default), Human);
    // The tool has a view, so the floor's default does not apply.
    assert_eq!(approval_of(&call("t", json!({})), &Assessment::harmless(), &default), Free);
}

#[test]
fn strictest_of_several_floors_decides() {
    let policy = policy(None, vec![("t", vec![case(Free, 2)])])
        .with_floor(rules(None, vec![("t", vec![case(Human, 7)])]))
        .with_floor(rules(None, vec![("t", vec![case(Required, 8)])]));
    let call = call("t", json!({}));
    assert_eq!(decider(&judge(&call, &Assessment::silent(), &policy)).1, Some(7));
}

#[test]
fn floor_raises_risk_and_its_conditional_deny_denies() {
    let deny = when(case(Deny, 8), "to", [matches("*@rival.example")]);
    let floor =
        rules(None, vec![("mail", vec![deny]), ("m*", vec![risky(case(None, 9), Risk::Irreversible)])]);
    let policy = policy(Required, vec![]).with_floor(floor);
    let call = call("mail", json!({"to": "a@b.example"}));
    assert_eq!(judge(&call, &Assessment::silent(), &policy).request().unwrap().risk, Risk::Irreversible);
    assert_eq!(verdict_of("mail", json!({"to": "x@rival.example"}), &policy), Verdict::Deny);
}

#[test]
fn missing_sandbox_asks_and_demanded_sandbox_denies() {
    let call = call("t", json!({}));
    let free = || Policy::new(rules(None, vec![("t", vec![case(Free, 2)])]));
    let starts = starts_process(Assessment::harmless());
    assert_eq!(approval_of(&call, &starts, &free().with_sandbox(SandboxStatus::Settled)), Free);
    assert_eq!(approval_of(&call, &starts, &free().with_sandbox(SandboxStatus::Missing)), Required);
    // Without a statement about the sandbox, it counts as missing.
    assert_eq!(approval_of(&call, &starts, &free()), Required);
    let demanded = free().with_sandbox(SandboxStatus::Demanded);
    let judgement = judge(&call, &starts, &demanded);
    assert_eq!((judgement.approval(), judgement.refusal().unwrap().cause), (Deny, Cause::NoSandbox));
    assert_eq!(decider(&judgement).0, "sandbox.require_os_sandbox");
    // A call that starts no process needs no sandbox.
    assert_eq!(approval_of(&call, &Assessment::harmless(), &demanded), Free);
}

#[test]
fn missing_sandbox_only_raises_the_approval() {
    let call = call("t", json!({}));
    for approval in [Required, Human, Deny] {
        let policy = Policy::new(rules(None, vec![("t", vec![case(approval, 2)])]));
        assert_eq!(approval_of(&call, &starts_process(Assessment::harmless()), &policy), approval);
    }
    let once = Policy::new(rules(None, vec![("t", vec![case(OncePerSession, 2)])]));
    assert_eq!(approval_of(&call, &starts_process(Assessment::harmless()), &once), Required);
    let (policy, _) = overridden(Policy::new(rules(None, vec![])), OverrideVerdict::Allow);
    assert_eq!(approval_of(&call, &starts_process(Assessment::harmless()), &policy), Required);
    let blocked = starts_process(Assessment::blocked("never"));
    let demanded = Policy::default().with_sandbox(SandboxStatus::Demanded);
    assert_eq!(judge(&call, &blocked, &demanded).refusal().unwrap().cause, Cause::Policy);
}
