//! Approvals that hold in one project beyond the session: when an answer may give one, and which calls it covers.
//!
//! The driver stores them. The machine only reads them, after the mode and after the memory of the session.

use std::sync::Arc;

use crate::decision::ApprovalDecision;
use crate::memory::{RememberedDecision, SharedMemory, entries_of};
use crate::question::{Answer, QuestionId};
use crate::request::ApprovalRequest;
use crate::words::{Approval, Risk, Timestamp};

use super::waiting::{PendingQuestion, settle};
use super::{Machine, Member};

/// The approvals that hold in one project beyond the session.
#[derive(Clone)]
pub struct ProjectApprovals {
    folder: Arc<str>,
    approvals: SharedMemory,
    may_hold: Arc<dyn Fn(&ApprovalRequest) -> bool + Send + Sync>,
}

impl ProjectApprovals {
    /// The approvals in `approvals` hold in the project in `folder`. `may_hold` says whether an approval may hold the
    /// values of a request: not if they contain a secret.
    pub fn new(
        folder: impl Into<Arc<str>>,
        approvals: SharedMemory,
        may_hold: impl Fn(&ApprovalRequest) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { folder: folder.into(), approvals, may_hold: Arc::new(may_hold) }
    }
}

impl std::fmt::Debug for ProjectApprovals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProjectApprovals").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Machine {
    /// Adds the approvals that hold in the project.
    #[must_use]
    pub fn with_project(mut self, project: Option<ProjectApprovals>) -> Self {
        self.project = project;
        self
    }

    /// Returns the approvals that an answer would give to the project.
    ///
    /// The driver must store them before it passes the answer on. If it cannot, it must pass on an answer that does not
    /// hold beyond the call.
    #[must_use]
    pub fn lasting(&self, id: QuestionId, answer: &Answer, now: Timestamp) -> Vec<RememberedDecision> {
        let question = self.current_question(id).filter(|pending| !pending.is_over(now));
        let Some(pending) = question else { return Vec::new() };
        let ([member], [decision]) = (pending.members.as_slice(), answer.decisions.as_slice()) else {
            return Vec::new();
        };
        let decision = settle(member, decision.clone(), self.project_for(pending).as_deref());
        if !decision.always {
            return Vec::new();
        }
        entries_of(&member.request, &decision, now, None)
    }

    /// Returns the folder of the project in which an approval of this question may hold beyond the session.
    ///
    /// Only an approval of a single request may, which another call can repeat without harm that cannot be undone.
    pub(super) fn project_for(&self, pending: &PendingQuestion) -> Option<Arc<str>> {
        let project = self.project.as_ref()?;
        let [member] = pending.members.as_slice() else { return None };
        let request = &*member.request;
        let is_repeatable = request.approval < Approval::Human
            && request.risk < Risk::Irreversible
            && request.subject.may_last_in_project();
        (is_repeatable && (project.may_hold)(request)).then(|| Arc::clone(&project.folder))
    }

    /// Returns the decision that the session or the project remembers. A denial of the session wins.
    pub(super) fn recall(&self, request: &ApprovalRequest, now: Timestamp) -> Option<ApprovalDecision> {
        let mut session = self.memory.lock();
        if let Some(decision) = session.recall(request, now) {
            return Some(decision);
        }
        let project = self.project.as_ref().filter(|_| request.risk < Risk::Irreversible)?;
        if session.is_in_doubt(request, now) {
            return None;
        }
        project.approvals.lock().recall(request, now).filter(|decision| decision.approved)
    }

    /// Returns the members of a question for the approver.
    pub(super) fn members_of(&self, pending: &PendingQuestion, now: Timestamp) -> Vec<Member> {
        let until = self.memory.lock().until(now);
        let project = self.project_for(pending);
        let member = |waiting: &super::WaitingRequest| Member {
            request: Arc::clone(&waiting.request),
            calls: waiting.calls.len(),
            remembered_until: until,
            project: project.as_deref().map(str::to_owned),
            no_ends_run: waiting.no_ends_run,
        };
        pending.members.iter().map(member).collect()
    }
}
