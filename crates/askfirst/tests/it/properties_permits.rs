//! A yes that is given without a request is the yes that the request would have got: never another, and never more.

use std::sync::Arc;

use askfirst::machine::{Effect, Machine, Somebody, Submission};
use askfirst::{
    Approval, ApprovalDecision, ApprovalMemory, ApprovalScope, Assessment, Cause, Loosen, Mode,
    OfferedPattern, Permit, Policy, Risk, Timestamp, View, judge,
};
use proptest::prelude::*;
use serde_json::json;

use super::random::{assessment, call, overriding, policy, rules, walls};

const NOW: Timestamp = Timestamp(10);

/// What was decided before, and about what.
#[derive(Debug, Clone)]
struct Before {
    approved: bool,
    risk: Risk,
    about: About,
    stopped: bool,
}

#[derive(Debug, Clone, Copy)]
enum About {
    TheSame,
    Another,
    APattern,
}

fn before() -> impl Strategy<Value = Before> {
    let risk = prop::sample::select(vec![Risk::Low, Risk::High, Risk::Irreversible]);
    let about = prop_oneof![4 => Just(About::TheSame), 1 => Just(About::Another), 1 => Just(About::APattern)];
    (prop::bool::weighted(0.8), risk, about, prop::bool::weighted(0.1))
        .prop_map(|(approved, risk, about, stopped)| Before { approved, risk, about, stopped })
}

fn remembered(before: &[Before], request: &askfirst::ApprovalRequest) -> ApprovalMemory {
    let mut memory = ApprovalMemory::default();
    for each in before {
        let decision = if each.approved { ApprovalDecision::yes } else { ApprovalDecision::no };
        let decision = decision(Cause::Person).remembered(ApprovalScope::Session);
        let mut known = askfirst::ApprovalRequest { risk: each.risk, ..request.clone() };
        match each.about {
            About::TheSame => {}
            About::Another => known.payload = json!({"another": 1}),
            About::APattern => {
                let fields = known.payload.as_object().cloned().unwrap_or_default();
                let Some(first) = fields.keys().next().cloned() else { continue };
                known.patterns = vec![OfferedPattern::new("wider", fields, [(first.as_str(), Loosen::Any)])];
            }
        }
        let by_pattern = ApprovalDecision { pattern: Some(0), ..decision.clone() };
        let decision = match each.about {
            About::APattern => by_pattern.remembered(ApprovalScope::Pattern),
            About::TheSame | About::Another => decision,
        };
        memory.remember(&known, decision, NOW);
    }
    memory
}

fn machine(mode: Mode, memory: ApprovalMemory, before: &[Before]) -> Machine {
    let mut machine = Machine::new(mode, Somebody::There, memory, None);
    if before.iter().any(|each| each.stopped) {
        machine.stop(NOW);
    }
    machine
}

/// The permit that a request gets without anybody being asked.
fn submitted(machine: &mut Machine, submission: Submission) -> Option<Permit> {
    machine.submit(vec![submission], NOW);
    machine.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Resolve(_, resolution) => resolution.permit,
        Effect::Show(_) | Effect::Withdraw(..) => None,
    })
}

fn hits(machine: &Machine) -> Vec<u64> {
    machine.memory().list(NOW).into_iter().map(|entry| entry.hits).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn permit_without_request_equals_permit_with_request(
        main in rules(6),
        floors in prop::collection::vec(rules(3), 0..2),
        walls in walls(),
        always in overriding(),
        mode in prop::sample::select(vec![Mode::Interactive, Mode::Interactive, Mode::ApproveAll, Mode::Strict]),
        before in prop::collection::vec(before(), 0..4),
        call in call(),
        mut own in assessment(),
        risk in prop::sample::select(vec![Risk::Low, Risk::High]),
        hidden in prop::collection::vec(prop::sample::select(vec!["p", "q"]), 0..2),
    ) {
        own.risk = risk;
        own.exclude_keys = hidden.into_iter().map(str::to_owned).collect();
        let policy = policy(&main, &floors, walls, always.as_ref());
        let call = Arc::new(call);
        let judgement = judge(&call, &own, &policy);
        let Some(request) = judgement.request() else {
            let mut machine = machine(mode, ApprovalMemory::default(), &before);
            prop_assert!(machine.permit_unasked(&judgement, &call, NOW).is_none(), "nothing is asked here");
            return Ok(());
        };
        let mut short = machine(mode, remembered(&before, &request), &before);
        let mut long = machine(mode, remembered(&before, &request), &before);
        let untouched = hits(&short);
        let given = short.permit_unasked(&judgement, &call, NOW);
        let by_request = submitted(&mut long, Submission { call: call.clone(), request, shown_by: None });
        match given {
            Some(permit) => {
                let by_request = by_request.expect("the long way says no");
                prop_assert_eq!(permit.call(), by_request.call());
                prop_assert_eq!(permit.cause(), by_request.cause());
                prop_assert_eq!(hits(&short), hits(&long));
            }
            None => prop_assert_eq!(hits(&short), untouched, "it was counted and not given"),
        }
    }
}

fn asked() -> (Policy, Assessment, Arc<askfirst::ApprovalContext>) {
    let call = askfirst::ApprovalContext::new("mail", json!({"to": "a"}).as_object().unwrap().clone());
    (Policy::default(), Assessment::silent(), Arc::new(call))
}

#[test]
fn session_approval_permits_an_equal_call_without_request() {
    let (policy, own, call) = asked();
    let judgement = judge(&call, &own, &policy);
    let yes = ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Session);
    let mut memory = ApprovalMemory::default();
    memory.remember(&judgement.request().unwrap(), yes, NOW);
    let mut machine = Machine::new(Mode::Interactive, Somebody::There, memory, None);
    let permit = machine.permit_unasked(&judgement, &call, NOW).unwrap();
    assert_eq!((permit.call(), permit.cause()), (&*call, Cause::Memory));
    // Revoked, it is asked about again.
    let id = machine.memory().list(NOW)[0].id;
    assert!(machine.memory().revoke(id));
    assert!(machine.permit_unasked(&judgement, &call, NOW).is_none());
}

#[test]
fn permit_is_bound_to_the_exact_judged_call() {
    let (policy, own, call) = asked();
    let other = Arc::new((*call).clone());
    let judgement = judge(&call, &own, &policy);
    let mut machine = Machine::new(Mode::ApproveAll, Somebody::Absent, ApprovalMemory::default(), None);
    assert!(machine.permit_unasked(&judgement, &other, NOW).is_none());
    assert!(machine.permit_unasked(&judgement, &call, NOW).is_some());
    let harmless = Assessment::new(View::Harmless);
    let allowed = judge(&call, &harmless, &policy);
    assert_eq!(allowed.approval(), Approval::None);
    assert!(allowed.permit_shared(&other).is_none());
    assert!(allowed.permit_shared(&call).is_some_and(|permit| permit.call() == &*call));
    assert!(judgement.permit_shared(&call).is_none(), "it must be asked about");
}
