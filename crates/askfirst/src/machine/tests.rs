//! Tests of the state machine: one example per rule, and a model test with random events.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Answer, Audience, Effect, LinesSeen, Machine, Question, QuestionId, Resolution, Submission, Ticket,
};
use crate::assess::Shown;
use crate::call::ApprovalContext;
use crate::decision::{ApprovalDecision, ApprovalScope};
use crate::memory::ApprovalMemory;
use crate::pattern::{Loosen, OfferedPattern};
use crate::permit::Permit;
use crate::ports::{Durability, RecordFailed, Recorder};
use crate::presentation::{ApprovalPresentation, PresentationKind};
use crate::record::Record;
use crate::request::{Action, ApprovalRequest, Fact};
use crate::words::{Approval, Cause, Mode, Timestamp};

mod tests_answers;
mod tests_model;
mod tests_modes;
mod tests_project;
mod tests_queue;

/// A machine with a driver that carries out its effects.
struct Driver {
    machine: Machine,
    now: Timestamp,
    showing: Option<QuestionId>,
    withdrawn: Vec<(QuestionId, Cause)>,
    done: BTreeMap<Ticket, Resolution>,
}

impl Driver {
    fn new(mode: Mode, audience: Audience, time_out: Option<u64>) -> Self {
        let time_out = time_out.map(Duration::from_millis);
        let machine = Machine::new(mode, audience, ApprovalMemory::default(), time_out);
        Self { machine, now: Timestamp(100), showing: None, withdrawn: Vec::new(), done: BTreeMap::new() }
    }

    fn interactive() -> Self {
        Self::new(Mode::Interactive, Audience::There, Some(1_000))
    }

    fn submit<const N: usize>(&mut self, submissions: [Submission; N]) -> [Ticket; N] {
        let tickets = self.machine.submit(submissions.into(), self.now);
        self.carry_out();
        tickets.try_into().unwrap()
    }

    /// Presents the current question without further content.
    fn present(&mut self) -> Question {
        self.present_with(&Shown::default())
    }

    fn present_with(&mut self, shown: &Shown) -> Question {
        let id = self.showing.expect("a question");
        let requests = self.machine.requests_of(id).unwrap();
        self.machine.presented(id, vec![shown.clone(); requests.len()], self.now).unwrap()
    }

    /// Presents and answers the current question.
    fn answer(&mut self, decisions: Vec<ApprovalDecision>) -> Question {
        let question = self.present();
        self.showing = None;
        self.machine.answer(question.id, Answer { decisions, seen: None }, self.now);
        self.carry_out();
        question
    }

    fn cancel(&mut self, ticket: Ticket) {
        self.machine.cancel(ticket, self.now);
        self.carry_out();
    }

    fn tick_at(&mut self, now: u64) {
        self.now = Timestamp(now);
        self.machine.tick(self.now);
        self.carry_out();
    }

    fn carry_out(&mut self) {
        for effect in self.machine.take_effects() {
            match effect {
                Effect::Show(id) => assert_eq!(self.showing.replace(id), None, "two questions at once"),
                Effect::Withdraw(id, cause) => {
                    assert_eq!(self.showing.take(), Some(id));
                    self.withdrawn.push((id, cause));
                }
                Effect::Resolve(ticket, resolution) => {
                    assert!(self.done.insert(ticket, *resolution).is_none(), "{ticket:?} was resolved twice");
                }
            }
        }
    }

    /// Returns whether the call was approved, and the cause. `None` while it waits.
    fn result(&self, ticket: Ticket) -> Option<(bool, Cause)> {
        self.done.get(&ticket).map(|found| (found.decision.approved, found.decision.cause))
    }

    fn has_permit(&self, ticket: Ticket) -> bool {
        self.done[&ticket].permit.is_some()
    }
}

fn ask(tool: &str, args: Value, approval: Approval) -> Submission {
    let call = ApprovalContext::new(tool, args.as_object().unwrap().clone());
    let request = ApprovalRequest { approval, ..ApprovalRequest::new(tool, "a description", args) };
    Submission { call: call.into(), request, shown_by: None, no_ends_run: false }
}

fn plain(n: u64) -> Submission {
    ask("t", json!({ "n": n }), Approval::Required)
}

fn human(n: u64) -> Submission {
    ask("t", json!({ "n": n }), Approval::Human)
}

fn grouped(mut submission: Submission, group: &str) -> Submission {
    submission.request.group_id = Some(group.to_owned());
    submission
}

fn offering(mut submission: Submission) -> Submission {
    let fields = submission.call.args.clone();
    submission.request.patterns.push(OfferedPattern::new("any n", fields, [("n", Loosen::Any)]));
    submission
}

fn yes() -> ApprovalDecision {
    ApprovalDecision::yes(Cause::Person)
}

fn no() -> ApprovalDecision {
    ApprovalDecision::no(Cause::Person)
}

fn for_session(decision: ApprovalDecision) -> ApprovalDecision {
    decision.remembered(ApprovalScope::Session)
}

fn for_pattern(decision: ApprovalDecision, at: usize) -> ApprovalDecision {
    ApprovalDecision { pattern: Some(at), ..decision.remembered(ApprovalScope::Pattern) }
}

fn content(text: &str) -> ApprovalPresentation {
    ApprovalPresentation::new(PresentationKind::Diff, text)
}

/// A recorder that accepts every entry.
struct AcceptingRecorder;

impl Recorder for AcceptingRecorder {
    fn record(&self, _: &Record, _: Durability) -> Result<(), RecordFailed> {
        Ok(())
    }
}

/// Records and spends a permit.
fn spend(permit: Permit) -> (ApprovalContext, Option<Value>) {
    let entry = crate::permit::decided_entry(&permit);
    permit.record(&AcceptingRecorder, &entry, Durability::Written).unwrap().spend()
}
