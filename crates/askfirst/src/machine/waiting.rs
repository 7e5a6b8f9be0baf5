//! Questions, requests and calls that wait for an answer, and the check of an answer against its request.

use std::sync::Arc;

use serde_json::Value;

use crate::call::ApprovalContext;
use crate::decision::{ApprovalDecision, ApprovalScope};
use crate::presentation::ApprovalPresentation;
use crate::question::{PresenterId, QuestionId, Ticket};
use crate::request::{Action, ApprovalRequest};
use crate::words::{Approval, Cause, Timestamp};

/// A request in the queue, with the equal calls that wait for it.
#[derive(Debug)]
pub(super) struct WaitingRequest {
    pub(super) request: Arc<ApprovalRequest>,
    pub(super) original: OriginalContent,
    pub(super) shown_by: Option<PresenterId>,
    pub(super) no_ends_run: bool,
    pub(super) calls: Vec<WaitingCall>,
    pub(super) basis: Option<Value>,
    /// The request as it was shown. It cannot change, so its digest can be computed as late as the answer.
    pub(super) shown: Option<Arc<ApprovalRequest>>,
}

/// The content, and the numbers of facts and patterns, that a request had when it was submitted.
#[derive(Debug)]
pub(super) struct OriginalContent {
    pub(super) action: Option<Action>,
    pub(super) presentation: Option<ApprovalPresentation>,
    pub(super) facts: usize,
    pub(super) patterns: usize,
}

/// One of the equal calls that wait for a request.
#[derive(Debug)]
pub(super) struct WaitingCall {
    pub(super) ticket: Ticket,
    pub(super) call: Arc<ApprovalContext>,
    pub(super) call_id: String,
    pub(super) caller: Option<String>,
}

/// A question in the queue: one request or a group.
#[derive(Debug)]
pub(super) struct PendingQuestion {
    pub(super) id: QuestionId,
    pub(super) members: Vec<WaitingRequest>,
    pub(super) deadline: Option<Timestamp>,
}

impl PendingQuestion {
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }
}

impl WaitingRequest {
    /// Whether another call can share this request.
    ///
    /// A request that is already on screen takes no further call, so an approval runs only calls that the person
    /// saw. The other call must also have the same presenter and the same metadata.
    pub(super) fn shows_the_same_as(
        &self,
        request: &ApprovalRequest,
        call: &ApprovalContext,
        shown_by: Option<PresenterId>,
    ) -> bool {
        self.shown.is_none()
            && self.shown_by == shown_by
            && self.calls.first().is_some_and(|first| first.call.has_same_setting_as(call))
            && self.request.shows_the_same_as(request)
    }

    /// Discards the content of an earlier presentation, because a request that is shown again is presented again.
    pub(super) fn discard_content(&mut self) {
        if self.shown.take().is_some() {
            let request = Arc::make_mut(&mut self.request);
            request.action.clone_from(&self.original.action);
            request.presentation.clone_from(&self.original.presentation);
            request.facts.truncate(self.original.facts);
            request.patterns.truncate(self.original.patterns);
            self.basis = None;
        }
    }
}

impl WaitingCall {
    /// Returns the shared request with the id and the caller of this call.
    pub(super) fn request(&self, shared: &ApprovalRequest) -> ApprovalRequest {
        ApprovalRequest { call_id: self.call_id.clone(), caller: self.caller.clone(), ..shared.clone() }
    }
}

/// Limits an approver's decision to what the request allows, and turns an invalid decision into a denial.
///
/// `project` is the project in which an approval may hold beyond the session.
pub(super) fn settle(
    member: &WaitingRequest,
    mut decision: ApprovalDecision,
    project: Option<&str>,
) -> ApprovalDecision {
    // An edit without changes is a plain decision.
    decision.edited_args = decision.edited_args.filter(|edited| *edited != member.request.args);
    decision.always &= decision.approved && decision.edited_args.is_none();
    if decision.always && project.is_none() {
        return invalid_answer("it would hold beyond the session, which the request does not offer");
    }
    if decision.edited_args.is_some() && !member.request.subject.may_be_edited() {
        return invalid_answer("it edits the arguments of a call that has already run");
    }
    if decision.approved && decision.cause != Cause::Person {
        return invalid_answer("only a person can approve");
    }
    if decision.approved && member.shown.is_none() {
        return invalid_answer("the request was not shown yet");
    }
    if decision.approved && decision.stop {
        return invalid_answer("it approves the call and stops the run");
    }
    let offered = decision.pattern.and_then(|at| member.request.patterns.get(at));
    match decision.remember {
        ApprovalScope::Pattern if !offered.is_some_and(|p| p.matches(&member.request.payload)) => {
            return invalid_answer("it names a pattern that the request does not offer");
        }
        ApprovalScope::Pattern | ApprovalScope::Session
            if member.request.approval == Approval::Human
                || !member.request.subject.may_last_in_session() =>
        {
            decision.remember = ApprovalScope::None;
        }
        ApprovalScope::None
            if decision.approved
                && (decision.always || member.request.approval == Approval::OncePerSession) =>
        {
            decision.remember = ApprovalScope::Session;
        }
        ApprovalScope::None | ApprovalScope::Session | ApprovalScope::Pattern => {}
    }
    decision
}

/// Creates the denial for an invalid answer.
pub(super) fn invalid_answer(why: &str) -> ApprovalDecision {
    ApprovalDecision::no(Cause::ApproverFailed).with_note(format!("invalid answer: {why}"))
}
