//! What waits for an answer, and how far an answer reaches.

use std::sync::Arc;

use serde_json::Value;

use crate::call::ApprovalContext;
use crate::decision::{ApprovalDecision, ApprovalScope};
use crate::presentation::ApprovalPresentation;
use crate::question::{QuestionId, ShownBy, Ticket};
use crate::request::ApprovalRequest;
use crate::words::{Approval, Cause, Timestamp};

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) request: Arc<ApprovalRequest>,
    pub(super) own: Own,
    pub(super) shown_by: Option<ShownBy>,
    pub(super) calls: Vec<Caller>,
    pub(super) basis: Option<Value>,
    /// The very request that was shown. Nobody can change it, so its digest is taken when there is an answer.
    pub(super) shown: Option<Arc<ApprovalRequest>>,
}

/// What a request brought along, before anybody looked at what it is about.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) presentation: Option<ApprovalPresentation>,
    pub(super) facts: usize,
}

/// One of the equal calls that wait for a request.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) ticket: Ticket,
    pub(super) call: Arc<ApprovalContext>,
    pub(super) call_id: String,
    pub(super) name: Option<String>,
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: QuestionId,
    pub(super) members: Vec<Waiting>,
    pub(super) deadline: Option<Timestamp>,
}

impl Waiting {
    /// A question that is on screen takes no further call: one yes runs no more than the person saw. Nor does one take a call
    /// that would be looked at by somebody else, or with something else in sight.
    pub(super) fn shows_the_same_as(
        &self,
        request: &ApprovalRequest,
        call: &ApprovalContext,
        shown_by: Option<ShownBy>,
    ) -> bool {
        self.shown.is_none()
            && self.shown_by == shown_by
            && self.calls.first().is_some_and(|first| first.call.is_made_like(call))
            && self.request.shows_the_same_as(request)
    }

    /// What is shown again is looked at again: what an earlier look found is gone.
    pub(super) fn look_away(&mut self) {
        if self.shown.take().is_some() {
            let request = Arc::make_mut(&mut self.request);
            request.presentation.clone_from(&self.own.presentation);
            request.facts.truncate(self.own.facts);
            self.basis = None;
        }
    }
}

impl Caller {
    /// The request as this caller made it: of equal ones, each keeps its name.
    pub(super) fn request(&self, shared: &ApprovalRequest) -> ApprovalRequest {
        ApprovalRequest { call_id: self.call_id.clone(), caller: self.name.clone(), ..shared.clone() }
    }
}

/// An approver's word is taken only as far as the request lets it reach.
pub(super) fn settle(member: &Waiting, mut decision: ApprovalDecision) -> ApprovalDecision {
    // Other arguments that are not other ones are a plain answer.
    decision.edited_args = decision.edited_args.filter(|edited| *edited != member.request.args);
    if decision.approved && decision.cause != Cause::Person {
        return not_an_answer("only a person approves");
    }
    if decision.approved && member.shown.is_none() {
        return not_an_answer("it was not shown yet");
    }
    if decision.approved && decision.stop {
        return not_an_answer("it says both yes and stop");
    }
    let offered = decision.pattern.and_then(|at| member.request.patterns.get(at));
    match decision.remember {
        ApprovalScope::Pattern if !offered.is_some_and(|p| p.matches(&member.request.payload)) => {
            return not_an_answer("it names a pattern that was not offered");
        }
        ApprovalScope::Pattern | ApprovalScope::Session if member.request.approval == Approval::Human => {
            decision.remember = ApprovalScope::None;
        }
        ApprovalScope::None if decision.approved && member.request.approval == Approval::OncePerSession => {
            decision.remember = ApprovalScope::Session;
        }
        ApprovalScope::None | ApprovalScope::Session | ApprovalScope::Pattern => {}
    }
    decision
}

pub(super) fn not_an_answer(why: &str) -> ApprovalDecision {
    ApprovalDecision::no(Cause::ApproverFailed).with_note(format!("the answer was not taken: {why}"))
}
