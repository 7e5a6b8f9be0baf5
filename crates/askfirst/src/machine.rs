//! The controller as a state machine: mode, then memory, then one question at a time.
//!
//! It does nothing by itself. Requests, answers, cancellations and the time go in; what to show, withdraw and
//! resolve comes out as [`Effect`]s, and [`Machine::wake_at`] says when it wants to hear of the time again.

mod waiting;

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use serde_json::Value;

use crate::assess::Shown;
use crate::call::ApprovalContext;
use crate::decision::ApprovalDecision;
use crate::digest::digest_of;
use crate::judge::Judgement;
use crate::memory::{ApprovalMemory, SharedMemory};
use crate::permit::Permit;
pub use crate::question::{
    Answer, Effect, Member, Question, QuestionId, Resolution, Seen, ShownBy, Somebody, Submission, Ticket,
};
use crate::request::ApprovalRequest;
use crate::words::{Approval, Cause, Mode, Timestamp};
use waiting::{Caller, Own, Pending, Waiting, not_an_answer, settle};

/// The state.
#[derive(Debug)]
pub struct Machine {
    mode: Mode,
    somebody: Somebody,
    memory: SharedMemory,
    time_out: Option<Duration>,
    queue: VecDeque<Pending>,
    showing: bool,
    position: usize,
    stopped: bool,
    next: u64,
    effects: Vec<Effect>,
}

impl Machine {
    /// A machine with nothing to do.
    #[must_use]
    pub fn new(
        mode: Mode,
        somebody: Somebody,
        memory: impl Into<SharedMemory>,
        time_out: Option<Duration>,
    ) -> Self {
        Self {
            mode,
            somebody,
            memory: memory.into(),
            time_out,
            queue: VecDeque::new(),
            showing: false,
            position: 0,
            stopped: false,
            next: 1,
            effects: Vec::new(),
        }
    }

    /// The mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What is remembered.
    pub fn memory(&self) -> MutexGuard<'_, ApprovalMemory> {
        self.memory.lock()
    }

    /// Whether the run was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// When it wants to hear of the time.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.queue.iter().filter_map(|pending| pending.deadline).min()
    }

    /// Takes what must be done.
    #[must_use]
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Takes calls that were submitted together. Those with one `group_id` become one question.
    pub fn submit(&mut self, submissions: Vec<Submission>, now: Timestamp) -> Vec<Ticket> {
        let first_new = self.queue.len();
        let take_in = |submission| self.take_in(submission, first_new, now);
        let tickets = submissions.into_iter().map(take_in).collect();
        self.show_next(now);
        tickets
    }

    /// The permit of a call that must be asked about, if mode or memory say yes to it: as if it had been submitted, but
    /// without a request. Where that cannot be told nothing happens, and it is to be submitted.
    #[must_use]
    pub fn permit_unasked(
        &mut self,
        judgement: &Judgement<'_>,
        call: &Arc<ApprovalContext>,
        now: Timestamp,
    ) -> Option<Permit> {
        let asked = judgement.asked().filter(|asked| asked.approval < Approval::Human)?;
        if self.stopped || !judgement.is_about(call) {
            return None;
        }
        let cause = match self.mode {
            Mode::Strict => return None,
            Mode::ApproveAll => Cause::Mode,
            Mode::Interactive => self.memory.lock().recall_yes(&asked, now)?,
        };
        Some(Permit::approved(Arc::clone(call), None, cause))
    }

    fn take_in(&mut self, mut submission: Submission, first_new: usize, now: Timestamp) -> Ticket {
        let ticket = Ticket(self.fresh());
        submission.request.complete(&submission.call);
        if submission.request.call_id.is_empty() {
            submission.request.call_id = format!("c{}", ticket.0);
        }
        if let Some(decision) = self.answer_unasked(&submission.request, now) {
            self.resolve(ticket, submission.call, submission.request, decision);
        } else {
            self.enqueue(ticket, submission, first_new, now);
        }
        ticket
    }

    /// Mode and memory, without a person.
    fn answer_unasked(&mut self, request: &ApprovalRequest, now: Timestamp) -> Option<ApprovalDecision> {
        if self.stopped {
            return Some(ApprovalDecision::no(Cause::Cancelled).with_note("the run was stopped"));
        }
        let person = match request.approval {
            Approval::Deny => return Some(ApprovalDecision::no(Cause::Policy)),
            Approval::Human => true,
            Approval::None | Approval::OncePerSession | Approval::Required => false,
        };
        match self.mode {
            Mode::Strict => {
                let note = format!("`{}` needs approval", request.tool_name);
                return Some(ApprovalDecision::no(Cause::Mode).with_note(note));
            }
            Mode::ApproveAll if !person => return Some(ApprovalDecision::yes(Cause::Mode)),
            Mode::ApproveAll | Mode::Interactive => {}
        }
        let recalled = if person { None } else { self.memory.lock().recall(request, now) };
        let nobody = || ApprovalDecision::no(Cause::NobodyToAsk).with_note("nobody can be asked");
        recalled.or_else(|| (self.somebody == Somebody::Absent).then(nobody))
    }

    fn enqueue(&mut self, ticket: Ticket, submission: Submission, first_new: usize, now: Timestamp) {
        let Submission { call, mut request, shown_by } = submission;
        let caller = Caller { ticket, call, call_id: request.call_id.clone(), name: request.caller.clone() };
        let members = self.queue.iter_mut().flat_map(|pending| &mut pending.members);
        if let Some(equal) =
            members.into_iter().find(|member| member.shows_the_same_as(&request, &caller.call, shown_by))
        {
            equal.calls.push(caller);
            return;
        }
        let deadline = self.time_out.map(|time| now.after(time));
        request.deadline = deadline;
        let group = request.group_id.clone();
        let own = Own { presentation: request.presentation.clone(), facts: request.facts.len() };
        let (request, calls) = (Arc::new(request), vec![caller]);
        let waiting = Waiting { request, own, shown_by, calls, basis: None, shown: None };
        let together = self.queue.iter_mut().skip(first_new).find(|pending| {
            let of_group = |member: &Waiting| group.is_some() && member.request.group_id == group;
            pending.members.first().is_some_and(of_group)
        });
        match together {
            Some(pending) => pending.members.push(waiting),
            None => {
                let id = QuestionId(self.fresh());
                self.queue.push_back(Pending { id, members: vec![waiting], deadline });
            }
        }
    }

    /// The requests of the question that is about to be asked, if it is still waiting, each with a call that it is about.
    #[must_use]
    pub fn requests_of(&self, id: QuestionId) -> Option<Vec<(Ticket, Arc<ApprovalRequest>)>> {
        let first = |member: &Waiting| Some((member.calls.first()?.ticket, Arc::clone(&member.request)));
        self.shown_question(id)?.members.iter().map(first).collect()
    }

    /// Takes what the members of a question look like, and gives the question to ask.
    pub fn presented(&mut self, id: QuestionId, shown: Vec<Shown>, now: Timestamp) -> Option<Question> {
        self.shown_question(id)?;
        let (position, of) = (self.position, self.position + self.queue.len() - 1);
        let until = self.memory.lock().until(now);
        let pending = self.queue.front_mut()?;
        for (member, shown) in pending.members.iter_mut().zip(shown) {
            member.look_away();
            let request = Arc::make_mut(&mut member.request);
            request.presentation = request.presentation.take().or(shown.presentation);
            request.facts.extend(shown.facts);
            member.basis = shown.basis;
            member.shown = Some(Arc::clone(&member.request));
        }
        let member = |waiting: &Waiting| Member {
            request: Arc::clone(&waiting.request),
            calls: waiting.calls.len(),
            remembered_until: until,
        };
        Some(Question { id, members: pending.members.iter().map(member).collect(), position, of })
    }

    /// Takes an answer. One that comes too late or to a question that was never shown changes nothing.
    pub fn answer(&mut self, id: QuestionId, answer: Answer, now: Timestamp) {
        self.time_out_all(now);
        if self.shown_question(id).is_none() {
            return self.show_next(now);
        }
        let Some(pending) = self.queue.pop_front() else { return };
        self.showing = false;
        let decisions = match answer.decisions.as_slice() {
            [one] if one.edited_args.is_some() && pending.members.len() > 1 => {
                vec![not_an_answer("it edits several requests at once"); pending.members.len()]
            }
            [one] => vec![one.clone(); pending.members.len()],
            each if each.len() == pending.members.len() => each.to_vec(),
            _ => vec![not_an_answer("it does not answer each request"); pending.members.len()],
        };
        let stop = answer.decisions.iter().any(|decision| decision.stop);
        let person = decisions.iter().any(|decision| decision.cause == Cause::Person);
        for (member, decision) in pending.members.into_iter().zip(decisions) {
            let decision = settle(&member, decision);
            if decision.edited_args.is_none() && decision.cause == Cause::Person {
                self.memory.lock().remember(&member.request, decision.clone(), now);
            }
            self.resolve_all(member, &decision, answer.seen);
        }
        if stop {
            self.stop(now);
        }
        if let Some(time) = self.time_out.filter(|_| person) {
            // Somebody is there: the clock of those who wait behind starts anew.
            for pending in &mut self.queue {
                pending.deadline = pending.deadline.map(|deadline| deadline.max(now.after(time)));
                for member in &mut pending.members {
                    Arc::make_mut(&mut member.request).deadline = pending.deadline;
                }
            }
        }
        self.show_next(now);
    }

    /// A waiting call gives up.
    pub fn cancel(&mut self, ticket: Ticket, now: Timestamp) {
        self.refuse(ticket, &ApprovalDecision::no(Cause::Cancelled), now);
    }

    /// A waiting call is not to be asked about after all.
    pub fn refuse(&mut self, ticket: Ticket, no: &ApprovalDecision, now: Timestamp) {
        let waits = |member: &Waiting| member.calls.iter().any(|known| known.ticket == ticket);
        let Some(at) = self.queue.iter().position(|pending| pending.members.iter().any(waits)) else {
            return;
        };
        let fresh = QuestionId(self.fresh());
        let Some(pending) = self.queue.get_mut(at) else { return };
        let listed = pending.members.len();
        let mut gone = Vec::new();
        for member in &mut pending.members {
            let request = &member.request;
            let given_up = member.calls.extract_if(.., |known| known.ticket == ticket);
            gone.extend(given_up.map(|caller| (caller.request(request), caller)));
        }
        pending.members.retain(|member| !member.calls.is_empty());
        if pending.members.len() < listed {
            // One answer covers exactly what was listed, so a list that changed is another question.
            if at == 0 && self.showing {
                self.effects.push(Effect::Withdraw(pending.id, no.cause));
                self.showing = false;
                self.position = self.position.saturating_sub(1);
            }
            pending.id = fresh;
            pending.members.iter_mut().for_each(Waiting::look_away);
            if pending.members.is_empty() {
                self.queue.remove(at);
            }
        }
        for (request, Caller { ticket, call, .. }) in gone {
            self.resolve(ticket, call, request, ApprovalDecision { approved: false, ..no.clone() });
        }
        self.show_next(now);
    }

    /// Hears of the time.
    pub fn tick(&mut self, now: Timestamp) {
        self.time_out_all(now);
        self.show_next(now);
    }

    /// Ends the run: everything that waits is refused, and so is whatever comes.
    pub fn stop(&mut self, now: Timestamp) {
        self.stop_because(Cause::Cancelled, "the run was stopped", now);
    }

    /// The same for another reason.
    pub fn stop_because(&mut self, cause: Cause, note: &str, now: Timestamp) {
        self.stopped = true;
        self.refuse_where(|_| true, cause, note);
        self.show_next(now);
    }

    fn time_out_all(&mut self, now: Timestamp) {
        let over = |pending: &Pending| pending.deadline.is_some_and(|deadline| deadline <= now);
        self.refuse_where(over, Cause::TimeOut, "nobody answered in time");
    }

    fn refuse_where(&mut self, over: impl Fn(&Pending) -> bool, cause: Cause, note: &str) {
        if self.showing && self.queue.front().is_some_and(&over) {
            self.effects.extend(self.queue.front().map(|pending| Effect::Withdraw(pending.id, cause)));
            self.showing = false;
        }
        let refused: Vec<Pending> = self.queue.extract_if_where(over);
        for member in refused.into_iter().flat_map(|pending| pending.members) {
            self.resolve_all(member, &ApprovalDecision::no(cause).with_note(note), None);
        }
    }

    /// Brings the next question up. What was remembered since it came in answers it first.
    fn show_next(&mut self, now: Timestamp) {
        while !self.showing {
            let Some(mut pending) = self.queue.pop_front() else {
                self.position = 0;
                return;
            };
            let mut left = Vec::new();
            for member in pending.members.drain(..) {
                match self.answer_unasked(&member.request, now) {
                    Some(decision) => self.resolve_all(member, &decision, None),
                    None => left.push(member),
                }
            }
            if left.is_empty() {
                continue;
            }
            pending.members = left;
            self.position += 1;
            self.showing = true;
            self.effects.push(Effect::Show(pending.id));
            self.queue.push_front(pending);
        }
    }

    fn shown_question(&self, id: QuestionId) -> Option<&Pending> {
        self.queue.front().filter(|pending| self.showing && pending.id == id)
    }

    fn resolve_all(&mut self, member: Waiting, decision: &ApprovalDecision, seen: Option<Seen>) {
        let Waiting { request, own: _, shown_by: _, calls, basis, shown } = member;
        let shown = shown.map(|shown| digest_of(&shown));
        for caller in calls {
            let request = caller.request(&request);
            let Caller { ticket, call, .. } = caller;
            let permit = permit_for(decision, call, basis.clone());
            let decision = decision.clone();
            let resolution = Resolution { decision, permit, request, shown, seen };
            self.effects.push(Effect::Resolve(ticket, Box::new(resolution)));
        }
    }

    fn resolve(
        &mut self,
        ticket: Ticket,
        call: Arc<ApprovalContext>,
        request: ApprovalRequest,
        decision: ApprovalDecision,
    ) {
        let permit = permit_for(&decision, call, None);
        let resolution = Resolution { decision, permit, request, shown: None, seen: None };
        self.effects.push(Effect::Resolve(ticket, Box::new(resolution)));
    }

    fn fresh(&mut self) -> u64 {
        let fresh = self.next;
        self.next += 1;
        fresh
    }
}

fn permit_for(
    decision: &ApprovalDecision,
    call: Arc<ApprovalContext>,
    basis: Option<Value>,
) -> Option<Permit> {
    let runs = decision.approved && decision.edited_args.is_none();
    runs.then(|| Permit::approved(call, basis, decision.cause))
}

trait ExtractWhere<T> {
    fn extract_if_where(&mut self, over: impl Fn(&T) -> bool) -> Vec<T>;
}

impl<T> ExtractWhere<T> for VecDeque<T> {
    fn extract_if_where(&mut self, over: impl Fn(&T) -> bool) -> Vec<T> {
        let (out, kept): (Vec<T>, Vec<T>) = self.drain(..).partition(over);
        self.extend(kept);
        out
    }
}

#[cfg(test)]
#[path = "machine/tests.rs"]
mod tests;
