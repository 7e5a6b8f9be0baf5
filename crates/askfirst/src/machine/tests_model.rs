//! Random events, and what must hold after each of them.

use std::collections::{BTreeSet, HashMap, HashSet};

use proptest::prelude::*;

use super::*;

const TIME_OUT: u64 = 20;

/// What is asked: equal ones share a question unless a person must answer each.
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

/// A machine, and a plain account of everything that went into it.
struct World {
    machine: Machine,
    mode: Mode,
    somebody: Somebody,
    now: u64,
    specs: HashMap<Ticket, Spec>,
    waiting: BTreeSet<Ticket>,
    deadlines: HashMap<Ticket, u64>,
    /// The first of the equal calls that a call waits with.
    with: HashMap<Ticket, Ticket>,
    up: Option<QuestionId>,
    shown: Option<Question>,
    known: HashSet<QuestionId>,
    /// What a person wants remembered: by tool and argument, or by tool alone.
    agreed: HashMap<(u8, Option<u8>), bool>,
    looks: u64,
    stopped: bool,
}

type Told = HashMap<Ticket, (bool, Cause)>;

impl World {
    fn new(mode: Mode, somebody: Somebody) -> Self {
        let memory = ApprovalMemory::default();
        Self {
            machine: Machine::new(mode, somebody, memory, Some(Duration::from_millis(TIME_OUT))),
            mode,
            somebody,
            now: 1,
            specs: HashMap::new(),
            waiting: BTreeSet::new(),
            deadlines: HashMap::new(),
            with: HashMap::new(),
            up: None,
            shown: None,
            known: HashSet::new(),
            agreed: HashMap::new(),
            looks: 0,
            stopped: false,
        }
    }

    fn remembers(&self, spec: Spec) -> Option<bool> {
        let said = [self.agreed.get(&(spec.tool, Some(spec.arg))), self.agreed.get(&(spec.tool, None))];
        let said: Vec<bool> = said.into_iter().flatten().copied().collect();
        if said.contains(&false) { Some(false) } else { said.first().copied() }
    }

    /// What must become of a submission before anybody is asked.
    fn unasked(&self, spec: Spec) -> Option<(bool, Cause)> {
        let human = spec.approval == Approval::Human;
        match self.mode {
            _ if self.stopped => Some((false, Cause::Cancelled)),
            Mode::Strict => Some((false, Cause::Mode)),
            Mode::ApproveAll if !human => Some((true, Cause::Mode)),
            Mode::ApproveAll | Mode::Interactive => {
                let remembered =
                    self.remembers(spec).filter(|_| !human).map(|approved| (approved, Cause::Memory));
                remembered.or((self.somebody == Somebody::Absent).then_some((false, Cause::NobodyToAsk)))
            }
        }
    }

    fn submit(&mut self, specs: &[(Spec, Option<u8>)]) {
        let expected: Vec<_> = specs.iter().map(|(spec, _)| self.unasked(*spec)).collect();
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
                .min_by_key(|other| self.with[*other]);
            let deadline = equal.map_or(self.now + TIME_OUT, |other| self.deadlines[other]);
            let with = equal.map_or(*ticket, |other| self.with[other]);
            self.with.insert(*ticket, with);
            self.deadlines.insert(*ticket, deadline);
            if self.unasked(*spec).is_none() {
                self.waiting.insert(*ticket);
            }
        }
        self.waiting.extend(&tickets);
        let told = self.carry_out();
        for (ticket, expected) in tickets.iter().zip(expected) {
            assert_eq!(told.get(ticket).copied(), expected, "{:?}", self.specs[ticket]);
        }
        assert!(told.keys().all(|ticket| tickets.contains(ticket)));
    }

    fn present(&mut self) {
        let Some(id) = self.up else { return };
        let members = self.machine.requests_of(id).unwrap().len();
        self.looks += 1;
        let look = |at| Shown { basis: Some(json!([self.looks, at])), ..Shown::default() };
        let shown = self.machine.presented(id, (0..members).map(look).collect(), Timestamp(self.now));
        let question = shown.unwrap();
        assert!(question.position >= 1 && question.position <= question.of);
        for member in &question.members {
            assert_eq!(self.tickets_of(member).len(), member.calls);
        }
        self.shown = Some(question);
    }

    /// The waiting calls that a member stands for.
    fn tickets_of(&self, member: &super::super::Member) -> Vec<Ticket> {
        let of = |ticket: &&Ticket| member.request.call_id == format!("c{}", self.with[*ticket].0);
        self.waiting.iter().filter(of).copied().collect()
    }

    /// Whether the question that a call waits with is being looked at.
    fn is_on_screen(&self, ticket: Ticket) -> bool {
        let members = self.shown.iter().flat_map(|question| &question.members);
        members.into_iter().any(|member| self.tickets_of(member).contains(&ticket))
    }

    fn answer(&mut self, target: Target, decisions: Vec<ApprovalDecision>) {
        let id = match target {
            Target::Current => self.up.unwrap_or(QuestionId(0)),
            Target::Past(id) => QuestionId(id),
        };
        let counts = self.up == Some(id) && !self.up_is_over();
        let members = if self.up == Some(id) { self.members_up() } else { Vec::new() };
        let looked = self.shown.as_ref().is_some_and(|shown| shown.id == id);
        let answer = Answer { decisions: decisions.clone(), seen: None };
        self.machine.answer(id, answer, Timestamp(self.now));
        if !counts {
            let told = self.carry_out();
            self.only_time_and_memory(&told);
            return self.nothing_is_over();
        }
        let over: Vec<Ticket> =
            self.waiting.iter().filter(|ticket| self.is_over(**ticket)).copied().collect();
        let each = match decisions.as_slice() {
            [one] if members.len() > 1 && one.edited_args.is_some() => None,
            [one] => Some(vec![one.clone(); members.len()]),
            each => Some(each.to_vec()).filter(|each| each.len() == members.len()),
        };
        let mut expected = Told::new();
        for (at, tickets) in members.iter().enumerate() {
            let spec = self.specs[&tickets[0]];
            let decision = each.as_ref().map(|each| &each[at]);
            let what = decision
                .map_or((false, Cause::ApproverFailed), |decision| self.settled(spec, decision, looked));
            expected.extend(tickets.iter().map(|ticket| (*ticket, what)));
        }
        expected.extend(over.iter().map(|ticket| (*ticket, (false, Cause::TimeOut))));
        self.up = None;
        self.shown = None;
        if decisions.iter().any(|decision| decision.stop) {
            self.stopped = true;
        } else if each.is_some_and(|each| each.iter().any(|decision| decision.cause == Cause::Person)) {
            let anew = self.now + TIME_OUT;
            self.deadlines.values_mut().for_each(|deadline| *deadline = (*deadline).max(anew));
        }
        let told = self.carry_out();
        for (ticket, what) in &expected {
            assert_eq!(told.get(ticket), Some(what), "{:?}", self.specs[ticket]);
        }
        // Nobody else is told anything, but by memory or because of the stop.
        for (ticket, what) in told.iter().filter(|(ticket, _)| !expected.contains_key(ticket)) {
            let stopped = self.stopped.then_some((false, Cause::Cancelled));
            assert_eq!(Some(*what), stopped.or(self.by_memory(*ticket)));
        }
        self.nothing_is_over();
    }

    fn by_memory(&self, ticket: Ticket) -> Option<(bool, Cause)> {
        self.remembers(self.specs[&ticket]).map(|approved| (approved, Cause::Memory))
    }

    /// What no answer brought about: time went by, or the next question was answered before.
    fn only_time_and_memory(&self, told: &Told) {
        for (ticket, what) in told {
            assert!(
                *what == (false, Cause::TimeOut) || Some(*what) == self.by_memory(*ticket),
                "{ticket:?} {what:?}"
            );
        }
    }

    /// What an approver's word is worth, and what is remembered of it.
    fn settled(&mut self, spec: Spec, decision: &ApprovalDecision, looked: bool) -> (bool, Cause) {
        let person = decision.cause == Cause::Person;
        let offered = spec.tool == 0 && decision.pattern == Some(0);
        let no_answer = decision.approved && (!person || !looked || decision.stop)
            || decision.remember == ApprovalScope::Pattern && !offered;
        if no_answer {
            return (false, Cause::ApproverFailed);
        }
        let once = spec.approval == Approval::OncePerSession && decision.approved;
        let key = match decision.remember {
            ApprovalScope::None => once.then_some((spec.tool, Some(spec.arg))),
            ApprovalScope::Session => Some((spec.tool, Some(spec.arg))),
            ApprovalScope::Pattern => Some((spec.tool, None)),
        };
        let lasts = person && spec.approval != Approval::Human && decision.edited_args.is_none();
        if let Some(key) = key.filter(|_| lasts) {
            self.agreed.insert(key, decision.approved);
        }
        (decision.approved, decision.cause)
    }

    fn members_up(&self) -> Vec<Vec<Ticket>> {
        let requests = self.up.and_then(|id| self.machine.requests_of(id)).unwrap_or_default();
        let member = |request| super::super::Member { request, calls: 0, remembered_until: None };
        requests.into_iter().map(|(_, request)| self.tickets_of(&member(request))).collect()
    }

    fn is_over(&self, ticket: Ticket) -> bool {
        self.deadlines[&ticket] <= self.now
    }

    fn up_is_over(&self) -> bool {
        self.members_up().iter().flatten().any(|ticket| self.is_over(*ticket))
    }

    fn nothing_is_over(&self) {
        assert!(self.waiting.iter().all(|ticket| !self.is_over(*ticket)));
    }

    /// Carries the effects out and checks what each of them must never be.
    fn carry_out(&mut self) -> Told {
        let mut told = Told::new();
        for effect in self.machine.take_effects() {
            match effect {
                Effect::Show(id) => {
                    assert_eq!(self.up.replace(id), None, "two questions at once");
                    assert!(self.known.insert(id), "a question's name is used twice");
                }
                Effect::Withdraw(id, cause) => {
                    assert_eq!(self.up.take(), Some(id));
                    assert!(matches!(cause, Cause::TimeOut | Cause::Cancelled));
                    self.shown = None;
                }
                Effect::Resolve(ticket, resolution) => {
                    assert!(self.waiting.remove(&ticket), "{ticket:?} was resolved twice");
                    self.check(ticket, &resolution);
                    let what = (resolution.decision.approved, resolution.decision.cause);
                    if let Some(permit) = resolution.permit {
                        let (call, basis) = spend(permit);
                        assert_eq!(call, *submission(self.specs[&ticket], None).call);
                        assert_eq!(basis.is_some(), what.1 == Cause::Person);
                        assert!(
                            basis.is_none_or(|basis| basis[0] == json!(self.looks)),
                            "approved by an older look"
                        );
                    }
                    told.insert(ticket, what);
                }
            }
        }
        assert!(self.up.is_some() || self.waiting.is_empty(), "somebody waits for nothing");
        for members in self.members_up() {
            let spec = self.specs[&members[0]];
            assert!(
                spec.approval == Approval::Human || self.remembers(spec).is_none(),
                "asked what is remembered"
            );
            assert!(spec.approval != Approval::Human || members.len() == 1);
        }
        let earliest = self.waiting.iter().map(|ticket| self.deadlines[ticket]).min();
        assert_eq!(self.machine.wake_at(), earliest.map(Timestamp));
        told
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
                let mut told = self.carry_out();
                assert_eq!(told.remove(&ticket), waits.then_some((false, Cause::Cancelled)));
                self.only_time_and_memory(&told);
            }
            Op::Tick(time) => {
                self.now += time;
                let over: Vec<Ticket> =
                    self.waiting.iter().filter(|ticket| self.is_over(**ticket)).copied().collect();
                self.machine.tick(Timestamp(self.now));
                let told = self.carry_out();
                for ticket in over {
                    assert_eq!(told.get(&ticket), Some(&(false, Cause::TimeOut)));
                }
                self.only_time_and_memory(&told);
                self.nothing_is_over();
            }
            Op::Stop => {
                let waiting = self.waiting.clone();
                self.stopped = true;
                self.machine.stop(Timestamp(self.now));
                let told = self.carry_out();
                assert_eq!(
                    told,
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
            note: None,
            edited_args,
            cause,
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

/// In which a person is asked, mostly.
fn setting() -> impl Strategy<Value = (Mode, Somebody)> {
    prop_oneof![
        6 => Just((Mode::Interactive, Somebody::There)),
        2 => Just((Mode::ApproveAll, Somebody::There)),
        1 => Just((Mode::ApproveAll, Somebody::Absent)),
        1 => Just((Mode::Interactive, Somebody::Absent)),
        1 => Just((Mode::Strict, Somebody::There)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_call_is_resolved_once_and_runs_only_if_approved(
        (mode, somebody) in setting(),
        ops in prop::collection::vec(op(), 1..60),
        by_answers in any::<bool>(),
    ) {
        let mut world = World::new(mode, somebody);
        for op in ops {
            world.step(op);
        }
        // Nothing waits for ever.
        for _ in 0..400 {
            if world.waiting.is_empty() {
                break;
            }
            if by_answers {
                world.step(Op::Present);
                world.step(Op::Answer(Target::Current, vec![no()]));
            } else {
                world.step(Op::Tick(TIME_OUT));
            }
        }
        prop_assert!(world.waiting.is_empty() && world.up.is_none());
        prop_assert_eq!(world.machine.wake_at(), None);
    }
}
