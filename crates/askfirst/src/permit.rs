//! The permit: the right to run one exact call once.
//!
//! Only the judge and the controller create permits. A permit holds the call itself, so askfirst runs exactly the
//! call that was decided. It releases the call only after the decision is in the audit log.

use std::sync::Arc;

use serde_json::Value;

use crate::call::ApprovalContext;
use crate::digest::Digest;
use crate::ports::{Access, Durability, RecordFailed, Recorder, Retention};
use crate::record::Record;
use crate::verdict::Verdict;
use crate::words::Cause;

/// The right to run one call, before the decision is in the audit log.
///
/// It cannot be built outside this crate:
/// ```compile_fail,E0451
/// let call = std::sync::Arc::new(askfirst::ApprovalContext::default());
/// let permit = askfirst::Permit { call, basis: None, cause: askfirst::Cause::Policy };
/// ```
/// It cannot be copied:
/// ```compile_fail,E0599
/// fn twice(permit: askfirst::Permit) -> (askfirst::Permit, askfirst::Permit) { (permit.clone(), permit) }
/// ```
/// It cannot be read from a file:
/// ```compile_fail,E0277
/// let permit: askfirst::Permit = serde_json::from_str("{}").unwrap();
/// ```
/// It cannot be spent before the decision is recorded:
/// ```compile_fail,E0599
/// fn run(permit: askfirst::Permit) -> askfirst::ApprovalContext { permit.spend().0 }
/// ```
#[must_use = "a permit that is not spent runs nothing"]
#[derive(Debug)]
pub struct Permit {
    call: Arc<ApprovalContext>,
    basis: Option<Value>,
    cause: Cause,
    kind: PermitKind,
}

/// The act that a permit allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PermitKind {
    /// Running the call.
    Run,
    /// Running the call on a view. Its changes need a permit of their own.
    Rehearse,
}

/// A permit whose decision is in the audit log.
///
/// It can be spent once:
/// ```compile_fail,E0382
/// fn twice(permit: askfirst::RecordedPermit) { permit.spend(); permit.spend(); }
/// ```
#[must_use = "a permit that is not spent runs nothing"]
#[derive(Debug)]
pub struct RecordedPermit(Permit);

impl Permit {
    pub(crate) fn allowed(call: Arc<ApprovalContext>) -> Self {
        Self { call, basis: None, cause: Cause::Policy, kind: PermitKind::Run }
    }

    pub(crate) fn rehearsed(call: Arc<ApprovalContext>) -> Self {
        Self { kind: PermitKind::Rehearse, ..Self::allowed(call) }
    }

    pub(crate) fn approved(call: Arc<ApprovalContext>, basis: Option<Value>, cause: Cause) -> Self {
        Self { call, basis, cause, kind: PermitKind::Run }
    }

    /// Returns the call that the permit is for.
    #[must_use]
    pub fn call(&self) -> &ApprovalContext {
        &self.call
    }

    /// Returns the origin of the permit.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// Writes the decision to the audit log, and returns a permit that can be spent.
    ///
    /// # Errors
    /// Fails if the log cannot be written, or if the entry is not about this call. The permit is then lost.
    pub fn record(
        self,
        recorder: &dyn Recorder,
        decided: &Record,
        durability: Durability,
    ) -> Result<RecordedPermit, RecordFailed> {
        if !self.matches_entry(decided) {
            return Err(RecordFailed("the entry is not about the call of the permit".to_owned()));
        }
        recorder.record(decided, durability)?;
        Ok(RecordedPermit(self))
    }

    fn matches_entry(&self, entry: &Record) -> bool {
        let Record::Decided(decided) = entry else { return false };
        let (call, recorded, left_out) = (&*self.call, &*decided.call.call, &decided.call.left_out);
        let is_same_call = Arc::ptr_eq(&self.call, &decided.call.call);
        let kept = || call.args.iter().filter(|(key, _)| !left_out.contains(key));
        let same = |(key, value): (&String, &Value)| recorded.args.get(key) == Some(value);
        decided.approved
            && decided.cause == self.cause
            && (decided.call.verdict == Verdict::Rehearse) == (self.kind == PermitKind::Rehearse)
            && recorded.tool_name == call.tool_name
            && recorded.definition == call.definition
            && (is_same_call || (recorded.args.len() == kept().count() && kept().all(same)))
    }

    /// Returns a permit that can be spent, if the recorder keeps no audit log.
    ///
    /// # Errors
    /// Returns the permit if the recorder keeps a log: the decision must then be recorded first.
    pub fn without_record(self, recorder: &dyn Recorder) -> Result<RecordedPermit, Self> {
        match recorder.keeps() {
            Retention::Nothing => Ok(RecordedPermit(self)),
            Retention::Everything => Err(self),
        }
    }
}

/// Returns the log entry for the decision of a permit.
#[cfg(test)]
pub(crate) fn decided_entry(permit: &Permit) -> Record {
    let call = crate::record::CallRecord {
        call_id: "c1".to_owned(),
        call: Arc::clone(&permit.call),
        left_out: Vec::new(),
        description: None,
        payload: None,
        risk: crate::words::Risk::Low,
        verdict: crate::verdict::Verdict::Ask,
        approval: crate::words::Approval::Required,
        because: Vec::new(),
        policy: None,
    };
    Record::Decided(Box::new(crate::record::DecidedRecord {
        call,
        approved: true,
        cause: permit.cause,
        decision: None,
        refusal: None,
        shown: None,
        seen: None,
        waited_ms: 0,
        edited_from: None,
        changes: None,
    }))
}

/// The right to commit exactly the change set with this digest, before the decision is in the audit log.
///
/// It cannot be built outside this crate:
/// ```compile_fail,E0451
/// let digest = askfirst::Digest::of(b"changes");
/// let permit = askfirst::CommitPermit { digest, cause: askfirst::Cause::Policy };
/// ```
/// It cannot be copied:
/// ```compile_fail,E0599
/// fn twice(permit: askfirst::CommitPermit) -> (askfirst::CommitPermit, askfirst::CommitPermit) {
///     (permit.clone(), permit)
/// }
/// ```
/// It cannot be spent before the decision is recorded:
/// ```compile_fail,E0599
/// fn commit(permit: askfirst::CommitPermit) -> askfirst::Digest { permit.spend() }
/// ```
#[must_use = "a permit that is not spent commits nothing"]
#[derive(Debug)]
pub struct CommitPermit {
    digest: Digest,
    cause: Cause,
}

/// A commit permit whose decision is in the audit log.
///
/// It can be spent once:
/// ```compile_fail,E0382
/// fn twice(permit: askfirst::RecordedCommitPermit) { permit.spend(); permit.spend(); }
/// ```
#[must_use = "a permit that is not spent commits nothing"]
#[derive(Debug)]
pub struct RecordedCommitPermit {
    permit: CommitPermit,
    call_id: String,
}

impl CommitPermit {
    pub(crate) fn new(digest: Digest, cause: Cause) -> Self {
        Self { digest, cause }
    }

    /// Returns the digest of the change set that the permit is for.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the origin of the permit.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// Writes the decision to the audit log, and returns a permit that can be spent.
    ///
    /// # Errors
    /// Fails if the log cannot be written, or if the entry is not about this change set. The permit is then lost.
    pub fn record(
        self,
        recorder: &dyn Recorder,
        decided: &Record,
        durability: Durability,
    ) -> Result<RecordedCommitPermit, RecordFailed> {
        let Record::Decided(entry) = decided else {
            return Err(RecordFailed("the entry is not a decision".to_owned()));
        };
        if !(entry.approved && entry.cause == self.cause && entry.changes == Some(self.digest)) {
            return Err(RecordFailed("the entry is not about the changes of the permit".to_owned()));
        }
        if recorder.keeps() == Retention::Everything {
            recorder.record(decided, durability)?;
        }
        Ok(RecordedCommitPermit { permit: self, call_id: entry.call.call_id.clone() })
    }
}

impl RecordedCommitPermit {
    /// Returns the digest of the change set that may be committed, and the id of the decision in the audit log.
    #[must_use]
    pub fn spend(self) -> (Digest, String) {
        (self.permit.digest, self.call_id)
    }
}

impl RecordedPermit {
    /// Returns how much access the call's processes get.
    #[must_use]
    pub fn access(&self) -> Access {
        if self.0.kind == PermitKind::Rehearse {
            return Access::Rehearsal;
        }
        match self.0.cause {
            Cause::Person => Access::Approved,
            Cause::Memory => Access::Remembered,
            Cause::Mode => Access::Standing,
            Cause::Policy
            | Cause::TimeOut
            | Cause::NoOneToAsk
            | Cause::EndOfInput
            | Cause::TerminalLost
            | Cause::ApproverFailed
            | Cause::Cancelled
            | Cause::RecordFailed
            | Cause::NoSandbox
            | Cause::AgentPrompt => Access::WithoutAsking,
        }
    }

    /// Returns the call and the basis of the content that was shown.
    #[must_use]
    pub fn spend(self) -> (ApprovalContext, Option<Value>) {
        (Arc::unwrap_or_clone(self.0.call), self.0.basis)
    }

    /// Returns the call and the basis like [`spend`](Self::spend), without copying a call that is shared.
    #[must_use]
    pub fn spend_shared(self) -> (Arc<ApprovalContext>, Option<Value>) {
        (self.0.call, self.0.basis)
    }
}
