//! Properties of the judge: denies and floors never loosen a verdict, stricter modes never run more calls, and every
//! verdict has a reason.

use askfirst::machine::{Answer, Audience, Effect, Machine, Submission};
use askfirst::{
    Approval, ApprovalContext, ApprovalDecision, ApprovalMemory, Assessment, Cause, Judgement, Mode, Policy,
    SandboxStatus, Shown, Timestamp, Verdict, judge,
};
use proptest::prelude::*;
use serde_json::Value;

use super::model::expected_approval;
use super::random::{
    ConstantOverride, RandomCase, RandomEntry, RandomRules, assessment, call, case, constant_override, entry,
    policy, rules, sandbox_status,
};

/// The place where a `deny` is added.
#[derive(Debug, Clone)]
enum Place {
    Entry(RandomEntry),
    Again(prop::sample::Index, RandomCase),
    List(prop::sample::Index, prop::sample::Index, RandomCase),
    Floor(RandomEntry),
}

fn denying(mut case: RandomCase) -> RandomCase {
    case.approval = Some(Approval::Deny);
    case
}

fn place() -> impl Strategy<Value = Place> {
    let entry = || (entry(), case()).prop_map(|((name, _), case)| (name, vec![denying(case)]));
    prop_oneof![
        entry().prop_map(Place::Entry),
        (any::<prop::sample::Index>(), case()).prop_map(|(entry, case)| Place::Again(entry, denying(case))),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), case())
            .prop_map(|(entry, at, case)| Place::List(entry, at, denying(case))),
        entry().prop_map(Place::Floor),
    ]
}

fn add(place: Place, main: &mut RandomRules, floors: &mut Vec<RandomRules>) {
    match place {
        Place::Entry(entry) => main.entries.push(entry),
        Place::Floor(entry) => floors.push(RandomRules { default: None, entries: vec![entry] }),
        Place::Again(entry, case) => {
            let count = main.entries.len();
            if count > 0 {
                let (name, _) = main.entries[entry.index(count)];
                main.entries.push((name, vec![case]));
            }
        }
        Place::List(entry, at, case) => {
            let count = main.entries.len();
            if count > 0 {
                let (_, cases) = &mut main.entries[entry.index(count)];
                let at = at.index(cases.len() + 1);
                cases.insert(at, case);
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_call() -> impl Strategy<Value = ApprovalContext> {
    let key = prop_oneof![any::<String>(), Just("p".to_owned()), Just("q".to_owned())];
    let name = prop_oneof![any::<String>(), Just("shell".to_owned()), "[a-cü\0/]{0,4}"];
    (name, prop::collection::btree_map(key, any_json(), 0..4))
        .prop_map(|(name, args)| ApprovalContext::new(name, args.into_iter().collect()))
}

/// Checks that the parts of a judgement agree, and returns them as text.
fn check_judgement(judgement: &Judgement<'_>, call: &ApprovalContext) -> String {
    let (because, verdict) = (judgement.because(), judgement.verdict());
    let first = because.first().expect("a verdict without a reason");
    assert!(!first.rule.is_empty() && !first.text.is_empty());
    assert_eq!(first.file.is_some(), first.line.is_some());
    assert_eq!(verdict, Verdict::from(judgement.approval()));
    assert_eq!(
        judgement.refusal().is_some_and(|refusal| !refusal.reason.is_empty()),
        verdict == Verdict::Deny
    );
    let request = judgement.request();
    assert_eq!(request.is_some(), verdict == Verdict::Ask);
    if let Some(request) = &request {
        assert_eq!((&request.tool_name, &request.args), (&call.tool_name, &call.args));
        assert_eq!(request.approval, judgement.approval());
    }
    let permit = judgement.permit();
    assert_eq!(permit.is_some(), verdict <= Verdict::Rehearse);
    assert!(permit.is_none_or(|permit| permit.call() == call));
    format!("{:?} {because:?} {request:?} {:?}", judgement.approval(), judgement.refusal())
}

/// Whether a call runs in a mode, with an approver that always gives the same decision.
fn runs(
    mode: Mode,
    audience: Audience,
    decision: &ApprovalDecision,
    call: &ApprovalContext,
    own: &Assessment,
    policy: &Policy,
) -> bool {
    let judgement = judge(call, own, policy);
    let Some(request) = judgement.request() else { return judgement.permit().is_some() };
    let now = Timestamp(1);
    let mut machine = Machine::new(mode, audience, ApprovalMemory::default(), None);
    let [ticket] = machine.submit(
        vec![Submission { call: call.clone().into(), request, shown_by: None, no_ends_run: false }],
        now,
    )[..] else {
        panic!("one ticket")
    };
    let mut permit = None;
    for _ in 0..2 {
        for effect in machine.take_effects() {
            match effect {
                Effect::Show(id) => {
                    machine.presented(id, vec![Shown::default()], now).unwrap();
                    machine.answer(id, Answer::all(decision.clone()), now);
                }
                Effect::Withdraw(..) => panic!("the question was withdrawn"),
                Effect::Resolve(resolved, resolution) => {
                    assert_eq!(resolved, ticket);
                    permit = resolution.permit;
                }
            }
        }
    }
    permit.is_some_and(|permit| permit.call() == call)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn judge_agrees_with_the_plain_model(
        main in rules(40),
        floors in prop::collection::vec(rules(8), 0..2),
        sandbox in sandbox_status(),
        calls in prop::collection::vec((call(), assessment()), 1..8),
    ) {
        let policy = policy(&main, &floors, sandbox, None);
        for (call, own) in &calls {
            let judgement = judge(call, own, &policy);
            let expected = expected_approval(call, own, &main, &floors, sandbox);
            prop_assert_eq!(judgement.approval(), expected, "{:?} {:?} {:?}", call, own, judgement.because());
        }
    }

    #[test]
    fn named_reason_matches_the_verdict(main in rules(12), call in call(), own in assessment()) {
        let policy = policy(&main, &[], SandboxStatus::Settled, None);
        let judgement = judge(&call, &own, &policy);
        let because = judgement.because();
        if let Some(line) = because.first().and_then(|first| first.line) {
            let cases = main.entries.iter().flat_map(|(_, cases)| cases);
            let configured = cases.filter(|case| case.line == line).find_map(|case| case.approval);
            prop_assert_eq!(configured.or(main.default), Some(judgement.approval()));
        }
    }

    // invariant: 2
    #[test]
    fn added_deny_never_loosens_the_verdict(
        main in rules(8),
        floors in prop::collection::vec(rules(4), 0..2),
        sandbox in sandbox_status(),
        constant in constant_override(),
        place in place(),
        call in call(),
        own in assessment(),
    ) {
        let (mut more, mut more_floors) = (main.clone(), floors.clone());
        add(place, &mut more, &mut more_floors);
        let before = policy(&main, &floors, sandbox, constant.as_ref());
        let after = policy(&more, &more_floors, sandbox, constant.as_ref());
        let (before, after) = (judge(&call, &own, &before).approval(), judge(&call, &own, &after).approval());
        prop_assert!(after >= before, "{} became {}", before, after);
        prop_assert!(after == before || after == Approval::Deny || before < Approval::Deny);
    }

    #[test]
    fn added_floor_never_loosens_the_verdict(
        main in rules(8),
        floor in rules(8),
        sandbox in sandbox_status(),
        constant in constant_override(),
        call in call(),
        own in assessment(),
    ) {
        let before = policy(&main, &[], sandbox, constant.as_ref());
        let after = policy(&main, std::slice::from_ref(&floor), sandbox, constant.as_ref());
        let (before, after) = (judge(&call, &own, &before).approval(), judge(&call, &own, &after).approval());
        prop_assert!(after >= before, "{} became {}", before, after);
    }

    #[test]
    fn block_and_deny_hold_under_every_override(
        main in rules(8),
        constant in constant_override(),
        call in call(),
        own in assessment(),
    ) {
        let plain = policy(&main, &[], SandboxStatus::Settled, None);
        let overridden = policy(&main, &[], SandboxStatus::Settled, constant.as_ref());
        let blocked = matches!(own.view, askfirst::View::Blocked(_));
        let by_rule = judge(&call, &own, &plain).because().first().is_some_and(|first| &*first.rule == "tools");
        let denied = judge(&call, &own, &plain).verdict() == Verdict::Deny && (blocked || by_rule);
        prop_assert!(!denied || judge(&call, &own, &overridden).verdict() == Verdict::Deny);
    }

    #[test]
    fn stricter_mode_never_runs_more_calls(
        main in rules(6),
        sandbox in sandbox_status(),
        call in call(),
        own in assessment(),
    ) {
        let policy = policy(&main, &[], sandbox, None);
        let (yes, no) = (ApprovalDecision::yes(Cause::Person), ApprovalDecision::no(Cause::Person));
        let runs = |mode, audience, decision: &ApprovalDecision| {
            runs(mode, audience, decision, &call, &own, &policy)
        };
        let approval = judge(&call, &own, &policy).approval();
        let strict = runs(Mode::Strict, Audience::There, &yes);
        let asked = runs(Mode::Interactive, Audience::There, &yes);
        prop_assert_eq!(strict, approval <= Approval::Rehearse);
        prop_assert_eq!(strict, runs(Mode::Interactive, Audience::There, &no));
        prop_assert_eq!(strict, runs(Mode::Interactive, Audience::Absent, &yes));
        prop_assert_eq!(asked, approval != Approval::Deny);
        prop_assert_eq!(asked, runs(Mode::ApproveAll, Audience::There, &yes));
        let without_asking = approval < Approval::Human;
        prop_assert_eq!(without_asking, runs(Mode::ApproveAll, Audience::There, &no));
        prop_assert_eq!(without_asking, runs(Mode::ApproveAll, Audience::Absent, &yes));
    }

    #[test]
    fn judge_is_total_and_deterministic(
        main in rules(12),
        sandbox in sandbox_status(),
        constant in constant_override(),
        call in prop_oneof![any_call(), call()],
        own in assessment(),
    ) {
        let policy = policy(&main, &[], sandbox, constant.as_ref());
        let first = check_judgement(&judge(&call, &own, &policy), &call);
        prop_assert_eq!(first, check_judgement(&judge(&call, &own, &policy), &call));
        let _ = policy.paths_to_resolve(&call);
    }
}

#[test]
fn added_denies_change_some_verdicts() {
    // The property about an added deny proves nothing if the deny never matches a call.
    let mut changed = 0;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let case = (rules(8), place(), call(), assessment());
    for _ in 0..200 {
        let (main, place, call, own) =
            proptest::strategy::ValueTree::current(&case.new_tree(&mut runner).unwrap());
        let (mut more, mut floors) = (main.clone(), Vec::new());
        add(place, &mut more, &mut floors);
        let sandbox = SandboxStatus::Settled;
        let (before, after) =
            (policy(&main, &[], sandbox, None::<&ConstantOverride>), policy(&more, &floors, sandbox, None));
        let verdicts = (judge(&call, &own, &before).verdict(), judge(&call, &own, &after).verdict());
        changed += u32::from(verdicts.0 != Verdict::Deny && verdicts.1 == Verdict::Deny);
    }
    assert!(changed >= 5, "the added deny changed only {changed} of 200 verdicts");
}
