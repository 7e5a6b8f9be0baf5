//! Submits, presents, answers, cancels, waits and stops in any order. The machine resolves every call exactly once.
//! A permit rests on a person's answer to a question that named the call, on the mode, or on memory.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use askfirst::machine::{Answer, Audience, Effect, Machine, Question, QuestionId, Submission, Ticket};
use askfirst::pattern::{Loosen, OfferedPattern};
use askfirst::{
    Approval, ApprovalContext, ApprovalDecision, ApprovalMemory, ApprovalRequest, ApprovalScope, Args, Cause,
    Mode, Shown, Timestamp,
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

#[derive(Debug, Arbitrary)]
struct Play {
    mode: u8,
    audience: bool,
    time_out: Option<u8>,
    ops: Vec<Op>,
}

#[derive(Debug, Arbitrary)]
enum Op {
    Submit(Vec<Wish>),
    Present,
    Answer { which: u8, decisions: Vec<Decides> },
    Cancel(u8),
    Wait(u8),
    Stop,
}

#[derive(Debug, Arbitrary)]
struct Wish {
    tool: bool,
    path: u8,
    n: u8,
    approval: u8,
    group: Option<bool>,
    offers: bool,
}

#[derive(Debug, Arbitrary)]
struct Decides {
    approved: bool,
    cause: u8,
    remember: u8,
    pattern: Option<u8>,
    edits: bool,
    stop: bool,
}

const CAUSES: [Cause; 6] =
    [Cause::Person, Cause::Person, Cause::Policy, Cause::Mode, Cause::Memory, Cause::TimeOut];
const PATHS: [&str; 4] = ["a/b", "a/b/c", "a", "a/../b"];
const APPROVALS: [Approval; 5] =
    [Approval::Required, Approval::OncePerSession, Approval::Human, Approval::Deny, Approval::None];

fn pick<T: Copy>(from: &[T], at: u8) -> T {
    from[usize::from(at) % from.len()]
}

fn submission(wish: &Wish) -> Submission {
    let tool = if wish.tool { "t" } else { "u" };
    let path = pick(&PATHS, wish.path);
    let payload = json!({"path": path, "n": wish.n % 2});
    let Value::Object(args) = payload.clone() else { unreachable!() };
    let call = ApprovalContext::new(tool, args);
    let mut request = ApprovalRequest::new(tool, "do it", payload.clone());
    request.approval = pick(&APPROVALS, wish.approval);
    request.group_id = wish.group.map(|first| if first { "g" } else { "h" }.to_owned());
    if wish.offers {
        let fields = |path: &str| {
            Args::from_iter([("path".to_owned(), json!(path)), ("n".to_owned(), payload["n"].clone())])
        };
        request.patterns = vec![
            OfferedPattern::new("under a", fields("a"), [("path", Loosen::Under)]),
            OfferedPattern::new("elsewhere", fields("z"), [("path", Loosen::Under)]),
        ];
    }
    Submission { call: call.into(), request, shown_by: None, no_ends_run: false }
}

fn decision(decides: &Decides) -> ApprovalDecision {
    let scopes = [ApprovalScope::None, ApprovalScope::Session, ApprovalScope::Pattern];
    ApprovalDecision {
        approved: decides.approved,
        remember: pick(&scopes, decides.remember),
        pattern: decides.pattern.map(|at| usize::from(at % 3)),
        note: None,
        always: false,
        edited_args: decides.edits.then(Args::new),
        cause: pick(&CAUSES, decides.cause),
        stop: decides.stop,
        rest_unseen: false,
    }
}

struct Watch {
    machine: Machine,
    mode: Mode,
    audience: Audience,
    now: Timestamp,
    calls: BTreeMap<Ticket, Submission>,
    resolved: BTreeSet<Ticket>,
    /// The question on screen, as the machine returned it.
    asked: Option<(QuestionId, Option<Question>)>,
    /// All questions that were shown.
    shown: Vec<QuestionId>,
    /// The calls that a person approved for the session.
    remembered: Vec<(String, Value, Option<OfferedPattern>)>,
    stopped: bool,
}

impl Watch {
    /// Handles the effects of the machine. `answered` is the last answer of a person, with its question.
    fn look(&mut self, answered: Option<(&Question, &[ApprovalDecision])>) {
        for effect in self.machine.take_effects() {
            match effect {
                Effect::Show(id) => {
                    assert!(self.asked.is_none(), "two questions at a time");
                    assert_ne!(self.mode, Mode::Strict, "a question in strict mode");
                    assert_eq!(self.audience, Audience::There, "a question without an audience");
                    assert!(!self.shown.contains(&id), "a question is shown twice");
                    self.shown.push(id);
                    self.asked = Some((id, None));
                }
                Effect::Withdraw(id, _) => {
                    assert_eq!(self.asked.take().map(|(asked, _)| asked), Some(id));
                }
                Effect::Resolve(ticket, resolution) => {
                    assert!(self.resolved.insert(ticket), "{ticket:?} is resolved twice");
                    // The test learns of a submission only after the machine has answered it.
                    let Some(wanted) = self.calls.get(&ticket) else { panic!("{ticket:?} was never given") };
                    let Some(permit) = &resolution.permit else { continue };
                    assert!(resolution.decision.approved && resolution.decision.edited_args.is_none());
                    assert_eq!(permit.call(), &*wanted.call, "another call than was submitted");
                    assert_ne!(wanted.request.approval, Approval::Deny);
                    assert_ne!(self.mode, Mode::Strict, "a permit in strict mode");
                    match permit.cause() {
                        Cause::Person => {
                            let (question, decisions) = answered.expect("a person's yes without an answer");
                            let covers = |at: usize| {
                                let decision =
                                    if decisions.len() == 1 { decisions.first() } else { decisions.get(at) };
                                decision.is_some_and(|d| d.approved && d.cause == Cause::Person)
                            };
                            let named = question.members.iter().enumerate().any(|(at, member)| {
                                member.request.tool_name == wanted.call.tool_name
                                    && member.request.args == wanted.call.args
                                    && covers(at)
                            });
                            assert!(named, "a yes to a question that did not name the call");
                        }
                        Cause::Mode => assert_eq!(self.mode, Mode::ApproveAll),
                        Cause::Memory => {
                            let payload = &wanted.request.payload;
                            let covers =
                                |(tool, known, pattern): &(String, Value, Option<OfferedPattern>)| {
                                    *tool == wanted.call.tool_name
                                        && match pattern {
                                            Some(pattern) => pattern.matches(payload),
                                            None => known == payload,
                                        }
                                };
                            assert!(self.remembered.iter().any(covers), "memory answers what nobody said");
                        }
                        other => panic!("a permit because of {other}"),
                    }
                    let by_person = permit.cause() == Cause::Person;
                    assert!(
                        wanted.request.approval != Approval::Human || by_person,
                        "nobody answered for `human`"
                    );
                }
            }
        }
        assert!(!self.stopped || self.calls.len() == self.resolved.len(), "something waits after the end");
    }

    fn play(&mut self, op: &Op) {
        match op {
            Op::Submit(wishes) => {
                let submissions: Vec<Submission> = wishes.iter().take(6).map(submission).collect();
                let tickets = self.machine.submit(submissions.clone(), self.now);
                assert_eq!(tickets.len(), submissions.len());
                for (ticket, submission) in tickets.into_iter().zip(submissions) {
                    assert!(self.calls.insert(ticket, submission).is_none(), "a ticket is given twice");
                }
                self.look(None);
            }
            Op::Present => {
                let Some((id, None)) = self.asked.take_if(|(_, question)| question.is_none()) else { return };
                let count = self.machine.requests_of(id).expect("the question waits").len();
                let question = self.machine.presented(id, vec![Shown::default(); count], self.now);
                assert!(question.as_ref().is_some_and(|question| question.members.len() == count));
                self.asked = Some((id, question));
            }
            Op::Answer { which, decisions } => self.answer(*which, decisions),
            Op::Cancel(which) => {
                let Some(ticket) = self.calls.keys().nth(usize::from(*which) % self.calls.len().max(1))
                else {
                    return;
                };
                let ticket = *ticket;
                self.machine.cancel(ticket, self.now);
                self.look(None);
                assert!(self.resolved.contains(&ticket), "a call that gave up still waits");
            }
            Op::Wait(time) => {
                self.now = self.now.after(Duration::from_millis(u64::from(*time)));
                self.machine.tick(self.now);
                self.look(None);
            }
            Op::Stop => {
                self.stopped = true;
                self.machine.stop(self.now);
                self.look(None);
            }
        }
    }

    /// Answers the question on screen or, every fourth time, an earlier one.
    fn answer(&mut self, which: u8, decisions: &[Decides]) {
        let decisions: Vec<ApprovalDecision> = decisions.iter().take(4).map(decision).collect();
        let answer = Answer { decisions: decisions.clone(), seen: None };
        if which % 4 == 3 {
            let Some(old) = self.shown.iter().rev().nth(1 + usize::from(which / 4)) else { return };
            self.machine.answer(*old, answer, self.now);
            return self.look(None);
        }
        let Some((id, Some(question))) = self.asked.clone() else { return };
        self.asked = None;
        let each = |at: usize| if decisions.len() == 1 { decisions.first() } else { decisions.get(at) };
        if decisions.len() == 1 || decisions.len() == question.members.len() {
            for (at, member) in question.members.iter().enumerate() {
                let Some(decision) = each(at).filter(|d| d.approved && d.cause == Cause::Person) else {
                    continue;
                };
                let request = &member.request;
                let pattern = decision.pattern.and_then(|at| request.patterns.get(at)).cloned();
                let kept = match decision.remember {
                    ApprovalScope::Pattern => pattern.map(Some),
                    ApprovalScope::Session | ApprovalScope::None => Some(None),
                };
                let asks_once = request.approval == Approval::OncePerSession;
                if decision.remember != ApprovalScope::None || asks_once {
                    let (tool, payload) = (request.tool_name.clone(), request.payload.clone());
                    self.remembered.extend(kept.map(|pattern| (tool, payload, pattern)));
                }
            }
            self.stopped |= decisions.iter().any(|decision| decision.stop);
        }
        self.machine.answer(id, answer, self.now);
        self.look(Some((&question, &decisions)));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(play) = Play::arbitrary(&mut Unstructured::new(bytes)) else { return };
    let mode = pick(&[Mode::Interactive, Mode::Interactive, Mode::ApproveAll, Mode::Strict], play.mode);
    let audience = if play.audience { Audience::There } else { Audience::Absent };
    let time_out = play.time_out.map(|time| Duration::from_millis(u64::from(time) + 1));
    let machine = Machine::new(mode, audience, ApprovalMemory::new(None), time_out);
    let mut watch = Watch {
        machine,
        mode,
        audience,
        now: Timestamp(1),
        calls: BTreeMap::new(),
        resolved: BTreeSet::new(),
        asked: None,
        shown: Vec::new(),
        remembered: Vec::new(),
        stopped: false,
    };
    for op in play.ops.iter().take(64) {
        watch.play(op);
    }
    // With a time-out, a long wait ends every call; without one, a stop does.
    while let Some(at) = watch.machine.wake_at() {
        let waiting = watch.calls.len() - watch.resolved.len();
        watch.now = watch.now.max(at);
        watch.machine.tick(watch.now);
        watch.look(None);
        assert!(watch.calls.len() - watch.resolved.len() < waiting, "it wakes for nothing");
    }
    watch.stopped = true;
    watch.machine.stop(watch.now);
    watch.look(None);
    assert_eq!(watch.calls.len(), watch.resolved.len(), "a call waits for ever");
    assert!(watch.asked.is_none(), "a question stays on screen");
});
