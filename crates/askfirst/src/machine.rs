//! The controller as a state machine: first the mode, then the memory, then one question at a time.
//!
//! It has no I/O, clock or thread. Its inputs are submissions, answers, cancellations and the time.
//! Its outputs are [`Effect`]s, and [`Machine::wake_at`] returns when it needs the next [`Machine::tick`].

mod project;
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
    Answer, Audience, Effect, LinesSeen, Member, OneByOne, PersonApproval, PresenterId, Question, QuestionId,
    Resolution, Submission, Ticket,
};
#[doc(hidden)]
pub use crate::question::{Audience as Somebody, LinesSeen as Seen, PresenterId as ShownBy};
use crate::request::{ApprovalRequest, Fact};
use crate::words::{Approval, Cause, Mode, Timestamp};
pub use project::ProjectApprovals;
use waiting::{OriginalContent, PendingQuestion, WaitingCall, WaitingRequest, invalid_answer, settle};

/// The state machine of a controller.
#[derive(Debug)]
pub struct Machine {
    mode: Mode,
    audience: Audience,
    memory: SharedMemory,
    project: Option<ProjectApprovals>,
    time_out: Option<Duration>,
    queue: VecDeque<PendingQuestion>,
    showing: bool,
    position: usize,
    stopped: bool,
    next: u64,
    effects: Vec<Effect>,
    /// Identifies this controller in the approvals of its requests.
    identity: Arc<()>,
}

impl Machine {
    /// Creates a machine with an empty queue.
    #[must_use]
    pub fn new(
        mode: Mode,
        audience: Audience,
        memory: impl Into<SharedMemory>,
        time_out: Option<Duration>,
    ) -> Self {
        Self {
            mode,
            audience,
            memory: memory.into(),
            project: None,
            time_out,
            queue: VecDeque::new(),
            showing: false,
            position: 0,
            stopped: false,
            next: 1,
            effects: Vec::new(),
            identity: Arc::default(),
        }
    }

    /// Returns the mode.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Locks and returns the memory.
    pub fn memory(&self) -> MutexGuard<'_, ApprovalMemory> {
        self.memory.lock()
    }

    /// Whether the run was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Returns when the driver must call [`tick`](Self::tick) next.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.queue.iter().filter_map(|pending| pending.deadline).min()
    }

    /// Takes the effects that the driver must carry out.
    #[must_use]
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Submits calls together. Calls with the same `group_id` become one question.
    pub fn submit(&mut self, submissions: Vec<Submission>, now: Timestamp) -> Vec<Ticket> {
        let first_new = self.queue.len();
        let accept = |submission| self.accept(submission, first_new, now);
        let tickets = submissions.into_iter().map(accept).collect();
        self.show_next(now);
        tickets
    }

    /// Returns a permit if the mode or the memory approves a call that needs approval.
    ///
    /// It gives the same permit as [`submit`](Self::submit), but without building a request.
    /// If it returns `None`, nothing changed, and the call must be submitted.
    #[must_use]
    pub fn permit_without_asking(
        &mut self,
        judgement: &Judgement<'_>,
        call: &Arc<ApprovalContext>,
        now: Timestamp,
    ) -> Option<Permit> {
        let query = judgement.memory_query().filter(|query| query.approval < Approval::Human)?;
        if self.stopped || !judgement.is_about(call) {
            return None;
        }
        let cause = match self.mode {
            Mode::Strict => return None,
            Mode::ApproveAll => Cause::Mode,
            Mode::Interactive => self.memory.lock().recall_approval(&query, now)?,
        };
        Some(Permit::approved(Arc::clone(call), None, cause))
    }

    fn accept(&mut self, mut submission: Submission, first_new: usize, now: Timestamp) -> Ticket {
        let ticket = Ticket(self.next_id());
        submission.request.complete(&submission.call);
        if submission.request.call_id.is_empty() {
            submission.request.call_id = format!("c{}", ticket.0);
        }
        if let Some(decision) = self.decide_without_asking(&submission.request, now) {
            self.resolve(ticket, submission.call, submission.request, decision, None);
        } else if let Some(approval) = self.approval_for(&submission) {
            let decision = ApprovalDecision::yes(Cause::Person);
            self.resolve(ticket, submission.call, submission.request, decision, Some(approval));
        } else {
            self.enqueue(ticket, submission, first_new, now);
        }
        ticket
    }

    /// Returns the decision of the mode or the memory, if a person need not or cannot be asked.
    fn decide_without_asking(
        &mut self,
        request: &ApprovalRequest,
        now: Timestamp,
    ) -> Option<ApprovalDecision> {
        if self.stopped {
            return Some(ApprovalDecision::no(Cause::Cancelled).with_note("the run was stopped"));
        }
        let needs_person = match request.approval {
            Approval::Deny => return Some(ApprovalDecision::no(Cause::Policy)),
            Approval::Human => true,
            Approval::None | Approval::Rehearse | Approval::OncePerSession | Approval::Required => false,
        };
        match self.mode {
            Mode::Strict => {
                let note = format!("`{}` needs approval", request.tool_name);
                return Some(ApprovalDecision::no(Cause::Mode).with_note(note));
            }
            Mode::ApproveAll if !needs_person => return Some(ApprovalDecision::yes(Cause::Mode)),
            Mode::ApproveAll | Mode::Interactive => {}
        }
        let recalled = if needs_person { None } else { self.recall(request, now) };
        let no_one = || ApprovalDecision::no(Cause::NoOneToAsk).with_note("there is no one to ask");
        recalled.or_else(|| (self.audience == Audience::Absent).then(no_one))
    }

    /// Returns the approval that a person has already given for this call.
    fn approval_for(&self, submission: &Submission) -> Option<PersonApproval> {
        let approval = submission.call.approved.as_ref()?;
        approval.covers(&self.identity, &submission.request).then(|| approval.clone())
    }

    fn enqueue(&mut self, ticket: Ticket, submission: Submission, first_new: usize, now: Timestamp) {
        let Submission { call, mut request, shown_by, no_ends_run } = submission;
        let waiting_call =
            WaitingCall { ticket, call, call_id: request.call_id.clone(), caller: request.caller.clone() };
        let members = self.queue.iter_mut().flat_map(|pending| &mut pending.members);
        if let Some(equal) = members
            .into_iter()
            .find(|member| member.shows_the_same_as(&request, &waiting_call.call, shown_by))
        {
            equal.calls.push(waiting_call);
            equal.no_ends_run |= no_ends_run;
            return;
        }
        let deadline = self.time_out.map(|time| now.after(time));
        request.deadline = deadline;
        let group = request.group_id.clone();
        let original = OriginalContent {
            action: request.action.clone(),
            presentation: request.presentation.clone(),
            facts: request.facts.len(),
            patterns: request.patterns.len(),
        };
        let (request, calls) = (Arc::new(request), vec![waiting_call]);
        let waiting =
            WaitingRequest { request, original, shown_by, no_ends_run, calls, basis: None, shown: None };
        let same_group = self.queue.iter_mut().skip(first_new).find(|pending| {
            let in_group = |member: &WaitingRequest| group.is_some() && member.request.group_id == group;
            pending.members.first().is_some_and(in_group)
        });
        match same_group {
            Some(pending) => pending.members.push(waiting),
            None => {
                let id = QuestionId(self.next_id());
                self.queue.push_back(PendingQuestion { id, members: vec![waiting], deadline });
            }
        }
    }

    /// Returns the requests of the current question, each with the ticket of one call that it is about.
    ///
    /// `None` if the question with this id is not the current one.
    #[must_use]
    pub fn requests_of(&self, id: QuestionId) -> Option<Vec<(Ticket, Arc<ApprovalRequest>)>> {
        let first =
            |member: &WaitingRequest| Some((member.calls.first()?.ticket, Arc::clone(&member.request)));
        self.current_question(id)?.members.iter().map(first).collect()
    }

    /// Adds the content to the requests of the current question, and returns the question for the approver.
    ///
    /// `None` if the question with this id is not the current one.
    pub fn presented(&mut self, id: QuestionId, shown: Vec<Shown>, now: Timestamp) -> Option<Question> {
        self.current_question(id)?;
        let (position, of) = (self.position, self.position + self.queue.len() - 1);
        let pending = self.queue.front_mut()?;
        for (member, shown) in pending.members.iter_mut().zip(shown) {
            member.discard_content();
            let request = Arc::make_mut(&mut member.request);
            match (&request.action, shown.action) {
                // The config's words are the headline, so the tool's own words become a fact.
                (Some(_), Some(own)) => request.facts.push(Fact::new("does", own.to_string())),
                (None, own) => request.action = own,
                (Some(_), None) => {}
            }
            request.presentation = request.presentation.take().or(shown.presentation);
            request.facts.extend(shown.facts);
            request.patterns.extend(shown.patterns);
            member.basis = shown.basis;
            member.shown = Some(Arc::clone(&member.request));
        }
        let members = self.members_of(self.queue.front()?, now);
        Some(Question { id, members, position, of })
    }

    /// Applies an answer. An answer that is too late, or to another question, decides nothing.
    pub fn answer(&mut self, id: QuestionId, answer: Answer, now: Timestamp) {
        self.time_out_all(now);
        if self.current_question(id).is_none() {
            return self.show_next(now);
        }
        let Some(pending) = self.queue.pop_front() else { return };
        self.showing = false;
        let decisions = match answer.decisions.as_slice() {
            [one] if one.edited_args.is_some() && pending.members.len() > 1 => {
                vec![invalid_answer("it edits several requests at once"); pending.members.len()]
            }
            [one] => vec![one.clone(); pending.members.len()],
            each if each.len() == pending.members.len() => each.to_vec(),
            _ => vec![invalid_answer("it has too few or too many decisions"); pending.members.len()],
        };
        let project = self.project_for(&pending);
        let stop = answer.decisions.iter().any(|decision| decision.stop);
        let by_person = decisions.iter().any(|decision| decision.cause == Cause::Person);
        for (member, decision) in pending.members.into_iter().zip(decisions) {
            let decision = settle(&member, decision, project.as_deref());
            // The driver has stored an approval that always holds.
            if decision.edited_args.is_none() && decision.cause == Cause::Person && !decision.always {
                self.memory.lock().remember(&member.request, decision.clone(), now);
            }
            self.resolve_all(member, &decision, answer.seen);
        }
        if stop {
            self.stop(now);
        }
        if let Some(time) = self.time_out.filter(|_| by_person) {
            // A person is present, so the deadlines of the waiting questions start again.
            for pending in &mut self.queue {
                pending.deadline = pending.deadline.map(|deadline| deadline.max(now.after(time)));
                for member in &mut pending.members {
                    Arc::make_mut(&mut member.request).deadline = pending.deadline;
                }
            }
        }
        self.show_next(now);
    }

    /// Cancels a waiting call.
    pub fn cancel(&mut self, ticket: Ticket, now: Timestamp) {
        self.refuse(ticket, &ApprovalDecision::no(Cause::Cancelled), now);
    }

    /// Refuses a waiting call without asking.
    pub fn refuse(&mut self, ticket: Ticket, no: &ApprovalDecision, now: Timestamp) {
        let waits = |member: &WaitingRequest| member.calls.iter().any(|known| known.ticket == ticket);
        let Some(at) = self.queue.iter().position(|pending| pending.members.iter().any(waits)) else {
            return;
        };
        let new_id = QuestionId(self.next_id());
        let Some(pending) = self.queue.get_mut(at) else { return };
        let members_before = pending.members.len();
        let mut removed = Vec::new();
        for member in &mut pending.members {
            let request = &member.request;
            let calls = member.calls.extract_if(.., |known| known.ticket == ticket);
            removed.extend(calls.map(|call| (call.request(request), call)));
        }
        pending.members.retain(|member| !member.calls.is_empty());
        if pending.members.len() < members_before {
            // One answer covers exactly the listed requests, so a changed list is another question.
            if at == 0 && self.showing {
                self.effects.push(Effect::Withdraw(pending.id, no.cause));
                self.showing = false;
                self.position = self.position.saturating_sub(1);
            }
            pending.id = new_id;
            pending.members.iter_mut().for_each(WaitingRequest::discard_content);
            if pending.members.is_empty() {
                self.queue.remove(at);
            }
        }
        for (request, WaitingCall { ticket, call, .. }) in removed {
            self.resolve(ticket, call, request, ApprovalDecision { approved: false, ..no.clone() }, None);
        }
        self.show_next(now);
    }

    /// Tells the machine the time, so that it refuses the questions that timed out.
    pub fn tick(&mut self, now: Timestamp) {
        self.time_out_all(now);
        self.show_next(now);
    }

    /// Stops the run: refuses all waiting calls and all later ones.
    pub fn stop(&mut self, now: Timestamp) {
        self.stop_because(Cause::Cancelled, "the run was stopped", now);
    }

    /// Stops the run like [`stop`](Self::stop), with another cause and note.
    pub fn stop_because(&mut self, cause: Cause, note: &str, now: Timestamp) {
        self.stopped = true;
        self.refuse_where(|_| true, cause, note);
        self.show_next(now);
    }

    fn time_out_all(&mut self, now: Timestamp) {
        self.refuse_where(|pending| pending.is_over(now), Cause::TimeOut, "no one answered in time");
    }

    fn refuse_where(&mut self, is_over: impl Fn(&PendingQuestion) -> bool, cause: Cause, note: &str) {
        if self.showing && self.queue.front().is_some_and(&is_over) {
            self.effects.extend(self.queue.front().map(|pending| Effect::Withdraw(pending.id, cause)));
            self.showing = false;
        }
        let refused: Vec<PendingQuestion> = self.queue.extract_where(is_over);
        for member in refused.into_iter().flat_map(|pending| pending.members) {
            self.resolve_all(member, &ApprovalDecision::no(cause).with_note(note), None);
        }
    }

    /// Shows the next question. Decisions that were remembered since its submission answer it first.
    fn show_next(&mut self, now: Timestamp) {
        while !self.showing {
            let Some(mut pending) = self.queue.pop_front() else {
                self.position = 0;
                return;
            };
            let mut left = Vec::new();
            for member in pending.members.drain(..) {
                match self.decide_without_asking(&member.request, now) {
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

    fn current_question(&self, id: QuestionId) -> Option<&PendingQuestion> {
        self.queue.front().filter(|pending| self.showing && pending.id == id)
    }

    fn resolve_all(&mut self, member: WaitingRequest, decision: &ApprovalDecision, seen: Option<LinesSeen>) {
        let WaitingRequest { request, original: _, shown_by: _, no_ends_run: _, calls, basis, shown } =
            member;
        let shown = shown.map(|shown| digest_of(&shown));
        let approval = is_person_approval(decision).then(|| {
            let (controller, request) = (Arc::clone(&self.identity), Arc::clone(&request));
            PersonApproval { controller, request, basis: basis.clone(), shown, seen }
        });
        for waiting_call in calls {
            let request = waiting_call.request(&request);
            let WaitingCall { ticket, call, .. } = waiting_call;
            let permit = permit_for(decision, call, basis.clone());
            let (decision, approval) = (decision.clone(), approval.clone());
            let resolution = Resolution { decision, permit, approval, request, shown, seen };
            self.effects.push(Effect::Resolve(ticket, Box::new(resolution)));
        }
    }

    fn resolve(
        &mut self,
        ticket: Ticket,
        call: Arc<ApprovalContext>,
        request: ApprovalRequest,
        decision: ApprovalDecision,
        approval: Option<PersonApproval>,
    ) {
        let earlier = approval.clone();
        let (basis, shown, seen) = match earlier {
            Some(PersonApproval { basis, shown, seen, .. }) => (basis, shown, seen),
            None => (None, None, None),
        };
        let permit = permit_for(&decision, call, basis);
        let resolution = Resolution { decision, permit, approval, request, shown, seen };
        self.effects.push(Effect::Resolve(ticket, Box::new(resolution)));
    }

    fn next_id(&mut self) -> u64 {
        let id = self.next;
        self.next += 1;
        id
    }
}

fn is_person_approval(decision: &ApprovalDecision) -> bool {
    decision.approved && decision.edited_args.is_none() && decision.cause == Cause::Person
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
    fn extract_where(&mut self, is_over: impl Fn(&T) -> bool) -> Vec<T>;
}

impl<T> ExtractWhere<T> for VecDeque<T> {
    fn extract_where(&mut self, is_over: impl Fn(&T) -> bool) -> Vec<T> {
        let (extracted, kept): (Vec<T>, Vec<T>) = self.drain(..).partition(is_over);
        self.extend(kept);
        extracted
    }
}

#[cfg(test)]
#[path = "machine/tests.rs"]
mod tests;
