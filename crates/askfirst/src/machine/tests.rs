//! Mode, then memory, then one question at a time: each rule as an example, then all of them under random events.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Answer, Effect, Machine, Question, QuestionId, Resolution, Seen, Somebody, Submission, Ticket};
use crate::assess::Shown;
use crate::call::ApprovalContext;
use crate::decision::{ApprovalDecision, ApprovalScope};
use crate::memory::ApprovalMemory;
use crate::pattern::{Loosen, OfferedPattern};
use crate::permit::Permit;
use crate::ports::{Durability, RecordFailed, Recorder};
use crate::presentation::{ApprovalPresentation, PresentationKind};
use crate::record::Record;
use crate::request::{ApprovalRequest, Fact};
use crate::words::{Approval, Cause, Mode, Timestamp};

mod tests_answers;
mod tests_model;
mod tests_modes;
mod tests_queue;

/// A machine with somebody who carries out its effects.
struct Desk {
    machine: Machine,
    now: Timestamp,
    showing: Option<QuestionId>,
    withdrawn: Vec<(QuestionId, Cause)>,
    done: BTreeMap<Ticket, Resolution>,
}

impl Desk {
    fn new(mode: Mode, somebody: Somebody, time_out: Option<u64>) -> Self {
        let time_out = time_out.map(Duration::from_millis);
        let machine = Machine::new(mode, somebody, ApprovalMemory::default(), time_out);
        Self { machine, now: Timestamp(100), showing: None, withdrawn: Vec::new(), done: BTreeMap::new() }
    }

    fn interactive() -> Self {
        Self::new(Mode::Interactive, Somebody::There, Some(1_000))
    }

    fn submit<const N: usize>(&mut self, submissions: [Submission; N]) -> [Ticket; N] {
        let tickets = self.machine.submit(submissions.into(), self.now);
        self.carry_out();
        tickets.try_into().unwrap()
    }

    /// Shows the question that is up, with nothing more to say about it.
    fn present(&mut self) -> Question {
        self.present_with(&Shown::default())
    }

    fn present_with(&mut self, shown: &Shown) -> Question {
        let id = self.showing.expect("a question");
        let requests = self.machine.requests_of(id).unwrap();
        self.machine.presented(id, vec![shown.clone(); requests.len()], self.now).unwrap()
    }

    /// Shows and answers the question that is up.
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

    /// Whether it was approved and why; nothing while it waits.
    fn what(&self, ticket: Ticket) -> Option<(bool, Cause)> {
        self.done.get(&ticket).map(|found| (found.decision.approved, found.decision.cause))
    }

    fn has_permit(&self, ticket: Ticket) -> bool {
        self.done[&ticket].permit.is_some()
    }
}

fn ask(tool: &str, args: Value, approval: Approval) -> Submission {
    let call = ApprovalContext::new(tool, args.as_object().unwrap().clone());
    let request = ApprovalRequest { approval, ..ApprovalRequest::new(tool, "does it", args) };
    Submission { call: call.into(), request, shown_by: None }
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

struct Willing;

impl Recorder for Willing {
    fn record(&self, _: &Record, _: Durability) -> Result<(), RecordFailed> {
        Ok(())
    }
}

/// What a permit would run.
fn spend(permit: Permit) -> (ApprovalContext, Option<Value>) {
    let record = crate::permit::told(&permit);
    permit.record(&Willing, &record, Durability::Written).unwrap().spend()
}
