//! A model test: random events, and checks against a simple model after each event.

use std::collections::{BTreeSet, HashMap, HashSet};

use proptest::prelude::*;

use super::*;

const TIME_OUT: u64 = 20;

/// The content of a submission. Equal ones share a question, unless the value is `human`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Spec {
    tool: u8,
    arg: u8,
    approval: Approval,
}

#[derive(Debug, Clone)]
enum Op {
    Submit(Vec<(Spec, Option<u8>)>),
    Present,
    Answer(Target, Vec<ApprovalDecision>),
    Cancel(prop::sample::Index),
    Tick(u64),
    Stop,
}

#[derive(Debug, Clone, Copy)]
enum Target {
    Current,
    Past(u64),
}

/// A machine, and a simple model of its state.
struct Model {
    machine: Machine,
    mode: Mode,
    audience: Audience,
    now: u64,
    specs: HashMap<Ticket, Spec>,
    waiting: BTreeSet<Ticket>,
    deadlines: HashMap<Ticket, u64>,
    /// The first of the equal calls with which a call shares its request.
    first_equal: HashMap<Ticket, Ticket>,
    current: Option<QuestionId>,
    shown: Option<Question>,
    known: HashSet<QuestionId>,
    /// The remembered decisions, by tool and argument, or by tool alone.
    remembered: HashMap<(u8, Option<u8>), bool>,
    presentations: u64,
    stopped: bool,
}

/// The calls that were resolved: approved or not, and the cause.
type Results = HashMap<Ticket, (bool, Cause)>;

impl Model {
    fn new(mode: Mode, audience: Audience) -> Self {
        let memory = ApprovalMemory::default();
        Self {
            machine: Machine::new(mode, audience, memory, Some(Duration::from_millis(TIME_OUT))),
            mode,
            audience,
            now: 1,
            specs: HashMap::new(),
            waiting: BTreeSet::new(),
            deadlines: HashMap::new(),
            first_equal: HashMap::new(),
            current: None,
            shown: None,
            known: HashSet::new(),
            remembered: HashMap::new(),
            presentations: 0,
            stopped: false,
        }
    }

    fn recall(&self, spec: Spec) -> Option<bool> {
        let found =
            [self.remembered.get(&(spec.tool, Some(spec.arg))), self.remembered.get(&(spec.tool, None))];
        let found: Vec<bool> = found.into_iter().flatten().copied().collect();
        if found.contains(&false) { Some(false) } else { found.first().copied() }
    }

    /// Returns the expected result of a submission without asking. `None` if the machine must ask.
    fn result_without_asking(&self, spec: Spec) -> Option<(bool, Cause)> {
        let human = spec.approval == Approval::Human;
        match self.mode {
            _ if self.stopped => Some((false, Cause::Cancelled)),
            Mode::Strict => Some((false, Cause::Mode)),
            Mode::ApproveAll if !human => Some((true, Cause::Mode)),
            Mode::ApproveAll | Mode::Interactive => {
                let recalled = self.recall(spec).filter(|_| !human).map(|approved| (approved, Cause::Memory));
                recalled.or((self.audience == Audience::Absent).then_some((false, Cause::NoOneToAsk)))
            }
        }
    }

    fn submit(&mut self, specs: &[(Spec, Option<u8>)]) {
        let expected: Vec<_> = specs.iter().map(|(spec, _)| self.result_without_asking(*spec)).collect();
        let submissions = specs.iter().map(|(spec, group)| submission(*spec, *group)).collect();
        let tickets = self.machine.submit(submissions, Timestamp(self.now));
        assert_eq!(tickets.len(), specs.len());
        for (ticket, (spec, _)) in tickets.iter().zip(specs) {
            assert!(self.specs.insert(*ticket, *spec).is_none());
            let equal = self
                .waiting
                .iter()
                .filter(|other| self.specs[*other] == *spec && spec.approval != Approval::Human)
                .filter(|other| !self.is_on_screen(**other))
                .min_by_key(|other| self.first_equal[*other]);
            let deadline = equal.map_or(self.now + TIME_OUT, |other| self.deadlines[other]);
            let first_equal = equal.map_or(*ticket, |other| self.first_equal[other]);
            self.first_equal.insert(*ticket, first_equal);
            self.deadlines.insert(*ticket, deadline);
            if self.result_without_asking(*spec).is_none() {
                self.waiting.insert(*ticket);
            }
        }
        self.waiting.extend(&tickets);
        let results = self.carry_out();
        for (ticket, expected) in tickets.iter().zip(expected) {
            assert_eq!(results.get(ticket).copied(), expected, "{:?}", self.specs[ticket]);
        }
        assert!(results.keys().all(|ticket| tickets.contains(ticket)));
    }

    fn present(&mut self) {
        let Some(id) = self.current else { return };
        let members = self.machine.requests_of(id).unwrap().len();
        self.presentations += 1;
        let content = |at| Shown { basis: Some(json!([self.presentations, at])), ..Shown::default() };
        let shown = self.machine.presented(id, (0..members).map(content).collect(), Timestamp(self.now));
        let question = shown.unwrap();
        assert!(question.position >= 1 && question.position <= question.of);
        for member in &question.members {
            assert_eq!(self.tickets_of(member).len(), member.calls);
        }
        self.shown = Some(question);
    }

    /// Returns the waiting calls that share the request of a member.
    fn tickets_of(&self, member: &super::super::Member) -> Vec<Ticket> {
        let of = |ticket: &&Ticket| member.request.call_id == format!("c{}", self.first_equal[*ticket].0);
        self.waiting.iter().filter(of).copied().collect()
    }

    /// Whether the question of a call is on screen.
    fn is_on_screen(&self, ticket: Ticket) -> bool {
        let members = self.shown.iter().flat_map(|question| &question.members);
        members.into_iter().any(|member| self.tickets_of(member).contains(&ticket))
    }

    fn answer(&mut self, target: Target, decisions: Vec<ApprovalDecision>) {
        let id = match target {
            Target::Current => self.current.unwrap_or(QuestionId(0)),
            Target::Past(id) => QuestionId(id),
        };
        let counts = self.current == Some(id) && !self.current_is_over();
        let members = if self.current == Some(id) { self.current_members() } else { Vec::new() };
        let was_shown = self.shown.as_ref().is_some_and(|shown| shown.id == id);
        let answer = Answer { decisions: decisions.clone(), seen: None };
        self.machine.answer(id, answer, Timestamp(self.now));
        if !counts {
            let results = self.carry_out();
            self.check_time_and_memory(&results);
            return self.check_deadlines();
        }
        let timed_out: Vec<Ticket> =
            self.waiting.iter().filter(|ticket| self.is_over(**ticket)).copied().collect();
        let each = match decisions.as_slice() {
            [one] if members.len() > 1 && one.edited_args.is_some() => None,
            [one] => Some(vec![one.clone(); members.len()]),
            each => Some(each.to_vec()).filter(|each| each.len() == members.len()),
        };
        let mut expected = Results::new();
        for (at, tickets) in members.iter().enumerate() {
            let spec = self.specs[&tickets[0]];
            let decision = each.as_ref().map(|each| &each[at]);
            let result = decision
                .map_or((false, Cause::ApproverFailed), |decision| self.settle(spec, decision, was_shown));
            expected.extend(tickets.iter().map(|ticket| (*ticket, result)));
        }
        expected.extend(timed_out.iter().map(|ticket| (*ticket, (false, Cause::TimeOut))));
        self.current = None;
        self.shown = None;
        if decisions.iter().any(|decision| decision.stop) {
            self.stopped = true;
        } else if each.is_some_and(|each| each.iter().any(|decision| decision.cause == Cause::Person)) {
            let new_deadline = self.now + TIME_OUT;
            self.deadlines.values_mut().for_each(|deadline| *deadline = (*deadline).max(new_deadline));
        }
        let results = self.carry_out();
        for (ticket, result) in &expected {
            assert_eq!(results.get(ticket), Some(result), "{:?}", self.specs[ticket]);
        }
        // Only memory or a stop may resolve other calls.
        for (ticket, result) in results.iter().filter(|(ticket, _)| !expected.contains_key(ticket)) {
            let stopped = self.stopped.then_some((false, Cause::Cancelled));
            assert_eq!(Some(*result), stopped.or(self.result_by_memory(*ticket)));
        }
        self.check_deadlines();
    }

    fn result_by_memory(&self, ticket: Ticket) -> Option<(bool, Cause)> {
        self.recall(self.specs[&ticket]).map(|approved| (approved, Cause::Memory))
    }

    /// Checks results that come from no answer: each call timed out, or memory answered it.
    fn check_time_and_memory(&self, results: &Results) {
        for (ticket, result) in results {
            assert!(
                *result == (false, Cause::TimeOut) || Some(*result) == self.result_by_memory(*ticket),
                "{ticket:?} {result:?}"
            );
        }
    }

    /// Returns the expected result of a decision, and remembers the decision if it lasts.
    fn settle(&mut self, spec: Spec, decision: &ApprovalDecision, was_shown: bool) -> (bool, Cause) {
        let by_person = decision.cause == Cause::Person;
        let is_offered = spec.tool == 0 && decision.pattern == Some(0);
        let is_invalid = decision.approved && (!by_person || !was_shown || decision.stop)
            || decision.remember == ApprovalScope::Pattern && !is_offered;
        if is_invalid {
            return (false, Cause::ApproverFailed);
        }
        let once = spec.approval == Approval::OncePerSession && decision.approved;
        let key = match decision.remember {
            ApprovalScope::None => once.then_some((spec.tool, Some(spec.arg))),
            ApprovalScope::Session => Some((spec.tool, Some(spec.arg))),
            ApprovalScope::Pattern => Some((spec.tool, None)),
        };
        let lasts = by_person && spec.approval != Approval::Human && decision.edited_args.is_none();
        if let Some(key) = key.filter(|_| lasts) {
            self.remembered.insert(key, decision.approved);
        }
        (decision.approved, decision.cause)
    }

    fn current_members(&self) -> Vec<Vec<Ticket>> {
        let requests = self.current.and_then(|id| self.machine.requests_of(id)).unwrap_or_default();
        let member = |request| super::super::Member { calls: 0, ..super::super::Member::new(request) };
        requests.into_iter().map(|(_, request)| self.tickets_of(&member(request))).collect()
    }

    fn is_over(&self, ticket: Ticket) -> bool {
        self.deadlines[&ticket] <= self.now
    }

    fn current_is_over(&self) -> bool {
        self.current_members().iter().flatten().any(|ticket| self.is_over(*ticket))
    }

    fn check_deadlines(&self) {
        assert!(self.waiting.iter().all(|ticket| !self.is_over(*ticket)));
    }

    /// Carries out the effects, and checks the invariants of each effect.
    fn carry_out(&mut self) -> Results {
        let mut results = Results::new();
        for effect in self.machine.take_effects() {
            match effect {
                Effect::Show(id) => {
                    assert_eq!(self.current.replace(id), None, "two questions at once");
                    assert!(self.known.insert(id), "the id of a question is used twice");
                }
                Effect::Withdraw(id, cause) => {
                    assert_eq!(self.current.take(), Some(id));
                    assert!(matches!(cause, Cause::TimeOut | Cause::Cancelled));
                    self.shown = None;
                }
                Effect::Resolve(ticket, resolution) => {
                    assert!(self.waiting.remove(&ticket), "{ticket:?} was resolved twice");
                    self.check(ticket, &resolution);
                    let result = (resolution.decision.approved, resolution.decision.cause);
                    if let Some(permit) = resolution.permit {
                        let (call, basis) = spend(permit);
                        assert_eq!(call, *submission(self.specs[&ticket], None).call);
                        assert_eq!(basis.is_some(), result.1 == Cause::Person);
                        assert!(
                            basis.is_none_or(|basis| basis[0] == json!(self.presentations)),
                            "approved by an older presentation"
                        );
                    }
                    results.insert(ticket, result);
                }
            }
        }
        assert!(self.current.is_some() || self.waiting.is_empty(), "a call waits without a question");
        for members in self.current_members() {
            let spec = self.specs[&members[0]];
            assert!(
                spec.approval == Approval::Human || self.recall(spec).is_none(),
                "asked although memory has a decision"
            );
            assert!(spec.approval != Approval::Human || members.len() == 1);
        }
        let earliest = self.waiting.iter().map(|ticket| self.deadlines[ticket]).min();
        assert_eq!(self.machine.wake_at(), earliest.map(Timestamp));
        results
    }

    fn check(&self, ticket: Ticket, resolution: &Resolution) {
        let (spec, decision) = (self.specs[&ticket], &resolution.decision);
        assert_eq!(resolution.request.call_id, format!("c{}", ticket.0));
        assert_eq!(resolution.permit.is_some(), decision.approved && decision.edited_args.is_none());
        assert_eq!(
            resolution.shown.is_some() && decision.approved,
            decision.approved && decision.cause == Cause::Person
        );
        if decision.approved {
            assert!(self.mode != Mode::Strict);
            let human = spec.approval == Approval::Human;
            match decision.cause {
                Cause::Person => {}
                Cause::Memory => assert!(!human && self.mode == Mode::Interactive && !self.stopped),
                Cause::Mode => assert!(!human && self.mode == Mode::ApproveAll && !self.stopped),
                other => panic!("approved by {other}"),
            }
        }
        if decision.cause == Cause::TimeOut {
            assert!(self.is_over(ticket));
        }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Submit(specs) => self.submit(&specs),
            Op::Present => self.present(),
            Op::Answer(target, decisions) => self.answer(target, decisions),
            Op::Cancel(index) => {
                let all: BTreeSet<Ticket> = self.specs.keys().copied().collect();
                let Some(ticket) = all.iter().nth(index.index(all.len().max(1))).copied() else { return };
                let waits = self.waiting.contains(&ticket);
                self.machine.cancel(ticket, Timestamp(self.now));
                let mut results = self.carry_out();
                assert_eq!(results.remove(&ticket), waits.then_some((false, Cause::Cancelled)));
                self.check_time_and_memory(&results);
            }
            Op::Tick(time) => {
                self.now += time;
                let timed_out: Vec<Ticket> =
                    self.waiting.iter().filter(|ticket| self.is_over(**ticket)).copied().collect();
                self.machine.tick(Timestamp(self.now));
                let results = self.carry_out();
                for ticket in timed_out {
                    assert_eq!(results.get(&ticket), Some(&(false, Cause::TimeOut)));
                }
                self.check_time_and_memory(&results);
                self.check_deadlines();
            }
            Op::Stop => {
                let waiting = self.waiting.clone();
                self.stopped = true;
                self.machine.stop(Timestamp(self.now));
                let results = self.carry_out();
                assert_eq!(
                    results,
                    waiting.into_iter().map(|ticket| (ticket, (false, Cause::Cancelled))).collect()
                );
            }
        }
    }
}

fn tool_name(spec: Spec) -> String {
    format!("t{}", spec.tool)
}

fn submission(spec: Spec, group: Option<u8>) -> Submission {
    let mut submission = ask(&tool_name(spec), json!({ "n": spec.arg }), spec.approval);
    submission.request.group_id = group.map(|group| group.to_string());
    if spec.tool == 0 { offering(submission) } else { submission }
}

fn spec() -> impl Strategy<Value = Spec> {
    let approval = prop::sample::select(vec![Approval::Required, Approval::OncePerSession, Approval::Human]);
    (0..2_u8, 0..3_u8, approval).prop_map(|(tool, arg, approval)| Spec { tool, arg, approval })
}

fn decision() -> impl Strategy<Value = ApprovalDecision> {
    let cause = prop_oneof![8 => Just(Cause::Person), 1 => prop::sample::select(vec![Cause::Memory, Cause::EndOfInput])];
    let scope = prop_oneof![
        4 => Just((ApprovalScope::None, None)),
        2 => Just((ApprovalScope::Session, None)),
        1 => prop::option::of(0..2_usize).prop_map(|at| (ApprovalScope::Pattern, at)),
    ];
    let edited = prop::option::weighted(0.1, Just(crate::json::Args::new()));
    (prop::bool::weighted(0.7), cause, scope, edited, prop::bool::weighted(0.03)).prop_map(
        |(approved, cause, (remember, pattern), edited_args, stop)| ApprovalDecision {
            approved,
            remember,
            pattern,
            always: false,
            note: None,
            edited_args,
            cause,
            rest_unseen: false,
            stop,
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let target = prop_oneof![6 => Just(Target::Current), 1 => (0..40_u64).prop_map(Target::Past)];
    let decisions = prop_oneof![
        3 => prop::collection::vec(decision(), 1..=1),
        2 => prop::collection::vec(decision(), 0..5),
    ];
    prop_oneof![
        20 => prop::collection::vec((spec(), prop::option::weighted(0.7, 0..2_u8)), 0..5).prop_map(Op::Submit),
        25 => Just(Op::Present),
        25 => (target, decisions).prop_map(|(target, decisions)| Op::Answer(target, decisions)),
        8 => any::<prop::sample::Index>().prop_map(Op::Cancel),
        10 => (0..15_u64).prop_map(Op::Tick),
        1 => Just(Op::Stop),
    ]
}

/// Modes and audiences. In most of them, the machine asks a person.
fn setting() -> impl Strategy<Value = (Mode, Audience)> {
    prop_oneof![
        6 => Just((Mode::Interactive, Audience::There)),
        2 => Just((Mode::ApproveAll, Audience::There)),
        1 => Just((Mode::ApproveAll, Audience::Absent)),
        1 => Just((Mode::Interactive, Audience::Absent)),
        1 => Just((Mode::Strict, Audience::There)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_call_is_resolved_once_and_runs_only_if_approved(
        (mode, audience) in setting(),
        ops in prop::collection::vec(op(), 1..60),
        by_answers in any::<bool>(),
    ) {
        let mut model = Model::new(mode, audience);
        for op in ops {
            model.step(op);
        }
        // Answers or timeouts resolve all waiting calls.
        for _ in 0..400 {
            if model.waiting.is_empty() {
                break;
            }
            if by_answers {
                model.step(Op::Present);
                model.step(Op::Answer(Target::Current, vec![no()]));
            } else {
                model.step(Op::Tick(TIME_OUT));
            }
        }
        prop_assert!(model.waiting.is_empty() && model.current.is_none());
        prop_assert_eq!(model.machine.wake_at(), None);
    }
}
