//! The inputs and outputs of the controller's state machine: submissions, questions, answers and resolutions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::ApprovalContext;
use crate::decision::ApprovalDecision;
use crate::digest::Digest;
use crate::permit::Permit;
use crate::request::ApprovalRequest;
use crate::words::{Cause, Timestamp};

/// The id of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(pub u64);

/// The id of a submitted call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A call, and the request that asks a person about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// The call that would run.
    pub call: Arc<ApprovalContext>,
    /// The request that a person sees.
    pub request: ApprovalRequest,
    /// The presenter of the request, if it has one.
    pub shown_by: Option<PresenterId>,
    /// Whether a person's no ends the run of the caller.
    pub no_ends_run: bool,
}

/// The id of a presenter, such as one toolset.
///
/// Requests of two presenters never share a question, because they may show different content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresenterId(pub usize);

/// The input of an approver: one request or a group of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The id of the question.
    pub id: QuestionId,
    /// The requests. One answer covers exactly these.
    pub members: Vec<Member>,
    /// The number of this question since the queue was last empty, counted from 1.
    pub position: usize,
    /// The number of questions since the queue was last empty: answered, shown and waiting ones.
    pub of: usize,
}

/// One request of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The request. The approver and the audit log share the same one.
    pub request: Arc<ApprovalRequest>,
    /// The number of equal calls that wait for this request.
    pub calls: usize,
    /// When an approval for the session would expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered_until: Option<Timestamp>,
    /// The folder of the project in which an approval may hold beyond the session, if it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether a person's no ends the run of the caller, so that the next requests need no answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_ends_run: bool,
}

impl Member {
    /// Creates a member for one call.
    #[must_use]
    pub fn new(request: impl Into<Arc<ApprovalRequest>>) -> Self {
        Self { request: request.into(), calls: 1, remembered_until: None, project: None, no_ends_run: false }
    }
}

/// How many lines of a request were on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinesSeen {
    /// The number of lines that were on screen.
    pub lines: u64,
    /// The total number of lines.
    pub of: u64,
}

/// An approver's answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// One decision for all members, or one for each member in order.
    pub decisions: Vec<ApprovalDecision>,
    /// How many lines were on screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<LinesSeen>,
}

impl Answer {
    /// Creates an answer with one decision for all members.
    #[must_use]
    pub fn all(decision: ApprovalDecision) -> Self {
        Self { decisions: vec![decision], seen: None }
    }

    /// Creates a denial for an approver that could not answer.
    #[must_use]
    pub fn failed(cause: Cause, note: impl Into<String>) -> Self {
        Self::all(ApprovalDecision::no(cause).with_note(note))
    }
}

/// The decisions of an approver that asks about the requests of a question one by one.
///
/// A decision that ends the run refuses the requests that are left, so the approver must not ask about them.
#[derive(Debug)]
pub struct OneByOne {
    /// For each request whether a person's no ends the run.
    no_ends_run: Vec<bool>,
    decisions: Vec<ApprovalDecision>,
}

impl OneByOne {
    /// Creates an answer without decisions.
    #[must_use]
    pub fn new(question: &Question) -> Self {
        let no_ends_run = question.members.iter().map(|member| member.no_ends_run).collect();
        Self { no_ends_run, decisions: Vec::new() }
    }

    /// Adds the decision about the next request. Returns whether to ask about another one.
    pub fn add(&mut self, decision: ApprovalDecision) -> bool {
        let no_ends_run = self.no_ends_run.get(self.decisions.len()).is_some_and(|ends| *ends);
        let is_no_of_person = !decision.approved && decision.cause == Cause::Person;
        let is_last = decision.stop || (no_ends_run && is_no_of_person);
        self.decisions.push(decision);
        if is_last {
            let no = ApprovalDecision::no(Cause::Cancelled).with_note("the run was stopped");
            let left = self.no_ends_run.len().saturating_sub(self.decisions.len());
            self.decisions.extend(std::iter::repeat_n(no, left));
        }
        self.decisions.len() < self.no_ends_run.len()
    }

    /// Returns the answer with the decisions so far.
    #[must_use]
    pub fn answer(self) -> Answer {
        Answer { decisions: self.decisions, seen: None }
    }
}

/// A person's approval of one request, kept while the approved call runs.
///
/// It answers the same request about the same call again: for a toolset that is wrapped twice, or for a call that a
/// framework starts again. Only the controller that asked accepts it, and only this crate can create it:
/// ```compile_fail,E0451
/// let request = std::sync::Arc::new(askfirst::ApprovalRequest::new("rm", "Remove", serde_json::Value::Null));
/// let controller = std::sync::Arc::default();
/// askfirst::machine::PersonApproval { controller, request, basis: None, shown: None, seen: None };
/// ```
#[derive(Debug, Clone)]
pub struct PersonApproval {
    pub(crate) controller: Arc<()>,
    pub(crate) request: Arc<ApprovalRequest>,
    pub(crate) basis: Option<Value>,
    pub(crate) shown: Option<Digest>,
    pub(crate) seen: Option<LinesSeen>,
}

impl PersonApproval {
    /// Returns whether the person who gave this approval has also answered another request of this controller.
    pub(crate) fn covers(&self, controller: &Arc<()>, request: &ApprovalRequest) -> bool {
        Arc::ptr_eq(&self.controller, controller) && self.request.shows_all_of(request)
    }
}

impl PartialEq for PersonApproval {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.request, &other.request)
    }
}

/// The result of a submission.
#[derive(Debug)]
pub struct Resolution {
    /// The decision.
    pub decision: ApprovalDecision,
    /// The permit to run the call, if the decision gives one.
    pub permit: Option<Permit>,
    /// The approval, if a person approved the call.
    pub approval: Option<PersonApproval>,
    /// The request as it was shown.
    pub request: ApprovalRequest,
    /// The digest of the request as it was shown. `None` if no person saw it.
    pub shown: Option<Digest>,
    /// How many lines were on screen.
    pub seen: Option<LinesSeen>,
}

/// An action that the driver of the state machine must carry out.
#[derive(Debug)]
pub enum Effect {
    /// Present a question, then give it to the approver.
    Show(QuestionId),
    /// Withdraw a question from the approver.
    Withdraw(QuestionId, Cause),
    /// Give a waiting call its resolution.
    Resolve(Ticket, Box<Resolution>),
}

/// Whether there is an approver to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// There is an approver.
    There,
    /// There is no approver.
    Absent,
}
