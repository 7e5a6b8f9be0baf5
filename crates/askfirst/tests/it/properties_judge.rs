//! A `deny` or a floor never makes anything milder, a stricter mode never runs more, and there is always a reason.

use askfirst::machine::{Answer, Effect, Machine, Somebody, Submission};
use askfirst::{
    Approval, ApprovalContext, ApprovalDecision, ApprovalMemory, Assessment, Cause, Judgement, Mode, Policy,
    Shown, Timestamp, Verdict, judge,
};
use proptest::prelude::*;
use serde_json::Value;

use super::model::judged;
use super::random::{
    Always, RandomCase, RandomEntry, RandomRules, assessment, call, case, entry, overriding, policy, rules,
    walls,
};

/// Where a `deny` is added.
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

/// Everything that a judgement says, checked against itself.
fn answer(judgement: &Judgement<'_>, call: &ApprovalContext) -> String {
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
    assert_eq!(permit.is_some(), verdict == Verdict::Allow);
    assert!(permit.is_none_or(|permit| permit.call() == call));
    format!("{:?} {because:?} {request:?} {:?}", judgement.approval(), judgement.refusal())
}

/// Whether a call runs in a mode, asked of somebody who says the same to everything.
fn runs(
    mode: Mode,
    somebody: Somebody,
    says: &ApprovalDecision,
    call: &ApprovalContext,
    own: &Assessment,
    policy: &Policy,
) -> bool {
    let judgement = judge(call, own, policy);
    let Some(request) = judgement.request() else { return judgement.permit().is_some() };
    let now = Timestamp(1);
    let mut machine = Machine::new(mode, somebody, ApprovalMemory::default(), None);
    let [ticket] =
        machine.submit(vec![Submission { call: call.clone().into(), request, shown_by: None }], now)[..]
    else {
        panic!("one ticket")
    };
    let mut permit = None;
    for _ in 0..2 {
        for effect in machine.take_effects() {
            match effect {
                Effect::Show(id) => {
                    machine.presented(id, vec![Shown::default()], now).unwrap();
                    machine.answer(id, Answer::all(says.clone()), now);
                }
                Effect::Withdraw(..) => panic!("nobody withdrew"),
                Effect::Resolve(told, resolution) => {
                    assert_eq!(told, ticket);
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
        walls in walls(),
        calls in prop::collection::vec((call(), assessment()), 1..8),
    ) {
        let policy = policy(&main, &floors, walls, None);
        for (call, own) in &calls {
            let judgement = judge(call, own, &policy);
            let expected = judged(call, own, &main, &floors, walls);
            prop_assert_eq!(judgement.approval(), expected, "{:?} {:?} {:?}", call, own, judgement.because());
        }
    }

    #[test]
    fn named_reason_matches_the_verdict(main in rules(12), call in call(), own in assessment()) {
        let policy = policy(&main, &[], askfirst::Walls::Settled, None);
        let judgement = judge(&call, &own, &policy);
        let because = judgement.because();
        if let Some(line) = because.first().and_then(|first| first.line) {
            let cases = main.entries.iter().flat_map(|(_, cases)| cases);
            let said = cases.filter(|case| case.line == line).find_map(|case| case.approval);
            prop_assert_eq!(said.or(main.default), Some(judgement.approval()));
        }
    }

    #[test]
    fn added_deny_never_loosens_the_verdict(
        main in rules(8),
        floors in prop::collection::vec(rules(4), 0..2),
        walls in walls(),
        overriding in overriding(),
        place in place(),
        call in call(),
        own in assessment(),
    ) {
        let (mut more, mut more_floors) = (main.clone(), floors.clone());
        add(place, &mut more, &mut more_floors);
        let before = policy(&main, &floors, walls, overriding.as_ref());
        let after = policy(&more, &more_floors, walls, overriding.as_ref());
        let (before, after) = (judge(&call, &own, &before).approval(), judge(&call, &own, &after).approval());
        prop_assert!(after >= before, "{} became {}", before, after);
        prop_assert!(after == before || after == Approval::Deny || before < Approval::Deny);
    }

    #[test]
    fn added_floor_never_loosens_the_verdict(
        main in rules(8),
        floor in rules(8),
        walls in walls(),
        overriding in overriding(),
        call in call(),
        own in assessment(),
    ) {
        let before = policy(&main, &[], walls, overriding.as_ref());
        let after = policy(&main, std::slice::from_ref(&floor), walls, overriding.as_ref());
        let (before, after) = (judge(&call, &own, &before).approval(), judge(&call, &own, &after).approval());
        prop_assert!(after >= before, "{} became {}", before, after);
    }

    #[test]
    fn block_and_deny_hold_under_every_override(
        main in rules(8),
        always in overriding(),
        call in call(),
        own in assessment(),
    ) {
        let plain = policy(&main, &[], askfirst::Walls::Settled, None);
        let overridden = policy(&main, &[], askfirst::Walls::Settled, always.as_ref());
        let blocked = matches!(own.view, askfirst::View::Blocked(_));
        let by_rule = judge(&call, &own, &plain).because().first().is_some_and(|first| &*first.rule == "tools");
        let denied = judge(&call, &own, &plain).verdict() == Verdict::Deny && (blocked || by_rule);
        prop_assert!(!denied || judge(&call, &own, &overridden).verdict() == Verdict::Deny);
    }

    #[test]
    fn stricter_mode_never_runs_more_calls(
        main in rules(6),
        walls in walls(),
        call in call(),
        own in assessment(),
    ) {
        let policy = policy(&main, &[], walls, None);
        let (yes, no) = (ApprovalDecision::yes(Cause::Person), ApprovalDecision::no(Cause::Person));
        let runs = |mode, somebody, says: &ApprovalDecision| runs(mode, somebody, says, &call, &own, &policy);
        let approval = judge(&call, &own, &policy).approval();
        let strict = runs(Mode::Strict, Somebody::There, &yes);
        let asked = runs(Mode::Interactive, Somebody::There, &yes);
        prop_assert_eq!(strict, approval == Approval::None);
        prop_assert_eq!(strict, runs(Mode::Interactive, Somebody::There, &no));
        prop_assert_eq!(strict, runs(Mode::Interactive, Somebody::Absent, &yes));
        prop_assert_eq!(asked, approval != Approval::Deny);
        prop_assert_eq!(asked, runs(Mode::ApproveAll, Somebody::There, &yes));
        let unasked = approval < Approval::Human;
        prop_assert_eq!(unasked, runs(Mode::ApproveAll, Somebody::There, &no));
        prop_assert_eq!(unasked, runs(Mode::ApproveAll, Somebody::Absent, &yes));
    }

    #[test]
    fn judge_is_total_and_deterministic(
        main in rules(12),
        walls in walls(),
        always in overriding(),
        call in prop_oneof![any_call(), call()],
        own in assessment(),
    ) {
        let policy = policy(&main, &[], walls, always.as_ref());
        let first = answer(&judge(&call, &own, &policy), &call);
        prop_assert_eq!(first, answer(&judge(&call, &own, &policy), &call));
        let _ = policy.paths_to_resolve(&call);
    }
}

#[test]
fn added_denies_change_some_verdicts() {
    // A property about adding a deny proves nothing if the deny never meets a call.
    let mut met = 0;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let case = (rules(8), place(), call(), assessment());
    for _ in 0..200 {
        let (main, place, call, own) =
            proptest::strategy::ValueTree::current(&case.new_tree(&mut runner).unwrap());
        let (mut more, mut floors) = (main.clone(), Vec::new());
        add(place, &mut more, &mut floors);
        let walls = askfirst::Walls::Settled;
        let (before, after) =
            (policy(&main, &[], walls, None::<&Always>), policy(&more, &floors, walls, None));
        let verdicts = (judge(&call, &own, &before).verdict(), judge(&call, &own, &after).verdict());
        met += u32::from(verdicts.0 != Verdict::Deny && verdicts.1 == Verdict::Deny);
    }
    assert!(met >= 5, "only {met} of 200 were denied by what was added");
}
