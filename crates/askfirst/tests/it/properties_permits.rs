//! Properties of permits without a request: they equal the permits that the request would get.

use std::sync::Arc;

use askfirst::machine::{Audience, Effect, Machine, Submission};
use askfirst::{
    Approval, ApprovalDecision, ApprovalMemory, ApprovalScope, Assessment, Cause, Loosen, Mode,
    OfferedPattern, Permit, Policy, Risk, Timestamp, View, judge,
};
use proptest::prelude::*;
use serde_json::json;

use super::random::{assessment, call, constant_override, policy, rules, sandbox_status};

const NOW: Timestamp = Timestamp(10);

/// A decision before the call, and whether it stopped the run.
#[derive(Debug, Clone)]
struct EarlierDecision {
    approved: bool,
    risk: Risk,
    subject: Subject,
    stopped: bool,
}

/// The subject of an earlier decision.
#[derive(Debug, Clone, Copy)]
enum Subject {
    EqualCall,
    OtherCall,
    Pattern,
}

fn earlier_decision() -> impl Strategy<Value = EarlierDecision> {
    let risk = prop::sample::select(vec![Risk::Low, Risk::High, Risk::Irreversible]);
    let subject = prop_oneof![4 => Just(Subject::EqualCall), 1 => Just(Subject::OtherCall), 1 => Just(Subject::Pattern)];
    (prop::bool::weighted(0.8), risk, subject, prop::bool::weighted(0.1))
        .prop_map(|(approved, risk, subject, stopped)| EarlierDecision { approved, risk, subject, stopped })
}

fn memory_of(earlier: &[EarlierDecision], request: &askfirst::ApprovalRequest) -> ApprovalMemory {
    let mut memory = ApprovalMemory::default();
    for each in earlier {
        let decision = if each.approved { ApprovalDecision::yes } else { ApprovalDecision::no };
        let decision = decision(Cause::Person).remembered(ApprovalScope::Session);
        let mut known = askfirst::ApprovalRequest { risk: each.risk, ..request.clone() };
        match each.subject {
            Subject::EqualCall => {}
            Subject::OtherCall => known.payload = json!({"another": 1}),
            Subject::Pattern => {
                let fields = known.payload.as_object().cloned().unwrap_or_default();
                let Some(first) = fields.keys().next().cloned() else { continue };
                known.patterns = vec![OfferedPattern::new("wider", fields, [(first.as_str(), Loosen::Any)])];
            }
        }
        let by_pattern = ApprovalDecision { pattern: Some(0), ..decision.clone() };
        let decision = match each.subject {
            Subject::Pattern => by_pattern.remembered(ApprovalScope::Pattern),
            Subject::EqualCall | Subject::OtherCall => decision,
        };
        memory.remember(&known, decision, NOW);
    }
    memory
}

fn machine(mode: Mode, memory: ApprovalMemory, earlier: &[EarlierDecision]) -> Machine {
    let mut machine = Machine::new(mode, Audience::There, memory, None);
    if earlier.iter().any(|each| each.stopped) {
        machine.stop(NOW);
    }
    machine
}

/// Submits a request, and returns the permit that it gets without asking.
fn submit(machine: &mut Machine, submission: Submission) -> Option<Permit> {
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
        sandbox in sandbox_status(),
        constant in constant_override(),
        mode in prop::sample::select(vec![Mode::Interactive, Mode::Interactive, Mode::ApproveAll, Mode::Strict]),
        earlier in prop::collection::vec(earlier_decision(), 0..4),
        call in call(),
        mut own in assessment(),
        risk in prop::sample::select(vec![Risk::Low, Risk::High]),
        excluded in prop::collection::vec(prop::sample::select(vec!["p", "q"]), 0..2),
    ) {
        own.risk = risk;
        own.exclude_keys = excluded.into_iter().map(str::to_owned).collect();
        let policy = policy(&main, &floors, sandbox, constant.as_ref());
        let call = Arc::new(call);
        let judgement = judge(&call, &own, &policy);
        let Some(request) = judgement.request() else {
            let mut machine = machine(mode, ApprovalMemory::default(), &earlier);
            let permit = machine.permit_without_asking(&judgement, &call, NOW);
            prop_assert!(permit.is_none(), "the verdict is not ask");
            return Ok(());
        };
        let mut without_request = machine(mode, memory_of(&earlier, &request), &earlier);
        let mut with_request = machine(mode, memory_of(&earlier, &request), &earlier);
        let hits_before = hits(&without_request);
        let permit = without_request.permit_without_asking(&judgement, &call, NOW);
        let expected = submit(&mut with_request, Submission { call: call.clone(), request, shown_by: None, no_ends_run: false });
        match permit {
            Some(permit) => {
                let expected = expected.expect("the request got no permit");
                prop_assert_eq!(permit.call(), expected.call());
                prop_assert_eq!(permit.cause(), expected.cause());
                prop_assert_eq!(hits(&without_request), hits(&with_request));
            }
            None => prop_assert_eq!(hits(&without_request), hits_before, "a hit was counted without a permit"),
        }
    }
}

fn call_that_asks() -> (Policy, Assessment, Arc<askfirst::ApprovalContext>) {
    let call = askfirst::ApprovalContext::new("mail", json!({"to": "a"}).as_object().unwrap().clone());
    (Policy::default(), Assessment::silent(), Arc::new(call))
}

#[test]
fn session_approval_permits_an_equal_call_without_request() {
    let (policy, own, call) = call_that_asks();
    let judgement = judge(&call, &own, &policy);
    let yes = ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Session);
    let mut memory = ApprovalMemory::default();
    memory.remember(&judgement.request().unwrap(), yes, NOW);
    let mut machine = Machine::new(Mode::Interactive, Audience::There, memory, None);
    let permit = machine.permit_without_asking(&judgement, &call, NOW).unwrap();
    assert_eq!((permit.call(), permit.cause()), (&*call, Cause::Memory));
    // After the decision is revoked, the call needs approval again.
    let id = machine.memory().list(NOW)[0].id;
    assert!(machine.memory().revoke(id));
    assert!(machine.permit_without_asking(&judgement, &call, NOW).is_none());
}

// invariant: 3
#[test]
fn permit_is_bound_to_the_exact_judged_call() {
    let (policy, own, call) = call_that_asks();
    let other = Arc::new((*call).clone());
    let judgement = judge(&call, &own, &policy);
    let mut machine = Machine::new(Mode::ApproveAll, Audience::Absent, ApprovalMemory::default(), None);
    assert!(machine.permit_without_asking(&judgement, &other, NOW).is_none());
    assert!(machine.permit_without_asking(&judgement, &call, NOW).is_some());
    let harmless = Assessment::new(View::Harmless);
    let allowed = judge(&call, &harmless, &policy);
    assert_eq!(allowed.approval(), Approval::None);
    assert!(allowed.permit_shared(&other).is_none());
    assert!(allowed.permit_shared(&call).is_some_and(|permit| permit.call() == &*call));
    assert!(judgement.permit_shared(&call).is_none(), "an ask verdict gives no permit");
}
