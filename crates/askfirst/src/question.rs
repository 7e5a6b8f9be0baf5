//! What goes into the controller's state machine and what comes out of it: questions, answers, resolutions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::ApprovalContext;
use crate::decision::ApprovalDecision;
use crate::digest::Digest;
use crate::permit::Permit;
use crate::request::ApprovalRequest;
use crate::words::{Cause, Timestamp};

/// Names one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(pub u64);

/// Names one waiting call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A call and the request about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// The call that would run.
    pub call: Arc<ApprovalContext>,
    /// What a person is asked.
    pub request: ApprovalRequest,
    /// Who would show it, where somebody would.
    pub shown_by: Option<ShownBy>,
}

/// Tells apart those who show calls: what two of them show is never taken for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownBy(pub usize);

/// What an approver is handed: one request, or a group of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its name.
    pub id: QuestionId,
    /// What is asked; one answer covers exactly these.
    pub members: Vec<Member>,
    /// Which question this is since the queue was last empty, counted from 1.
    pub position: usize,
    /// How many there are, this one and those before it included.
    pub of: usize,
}

/// One request of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The request. Whoever shows it and whoever keeps a record of it hold the same one.
    pub request: Arc<ApprovalRequest>,
    /// How many equal calls wait for it.
    pub calls: usize,
    /// When a yes for the session would be forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered_until: Option<Timestamp>,
}

/// How much of a request was on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Lines that were on screen.
    pub lines: u64,
    /// Lines that there were.
    pub of: u64,
}

/// What an approver answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// One decision for all members, or one for each in order.
    pub decisions: Vec<ApprovalDecision>,
    /// How much was on screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
}

impl Answer {
    /// The same decision for all members.
    #[must_use]
    pub fn all(decision: ApprovalDecision) -> Self {
        Self { decisions: vec![decision], seen: None }
    }

    /// No answer came, for a cause.
    #[must_use]
    pub fn failed(cause: Cause, note: impl Into<String>) -> Self {
        Self::all(ApprovalDecision::no(cause).with_note(note))
    }
}

/// What became of a submission.
#[derive(Debug)]
pub struct Resolution {
    /// The decision.
    pub decision: ApprovalDecision,
    /// The right to run, if the decision gives it.
    pub permit: Option<Permit>,
    /// The request as it was shown.
    pub request: ApprovalRequest,
    /// The digest of what was shown; nothing if nobody was shown anything.
    pub shown: Option<Digest>,
    /// How much was on screen.
    pub seen: Option<Seen>,
}

/// What the driver must do.
#[derive(Debug)]
pub enum Effect {
    /// Have a question presented, then asked.
    Show(QuestionId),
    /// Take a question back.
    Withdraw(QuestionId, Cause),
    /// Tell a waiting call what became of it.
    Resolve(Ticket, Box<Resolution>),
}

/// Whether there is anybody to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Somebody {
    /// There is an approver.
    There,
    /// There is none.
    Absent,
}
