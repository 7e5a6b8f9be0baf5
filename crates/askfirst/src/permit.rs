//! The right to run one exact call once.
//!
//! Only the judge and the controller make one. It holds the call itself, so what runs is what was decided about;
//! and it gives the call away only after the decision was recorded.

use std::sync::Arc;

use serde_json::Value;

use crate::call::ApprovalContext;
use crate::ports::{Access, Durability, Keeps, RecordFailed, Recorder};
use crate::record::Record;
use crate::words::Cause;

/// The right to run one call, not yet recorded.
///
/// It cannot be built outside this crate:
/// ```compile_fail,E0451
/// let call = std::sync::Arc::new(askfirst::ApprovalContext::default());
/// let permit = askfirst::Permit { call, basis: None, cause: askfirst::Cause::Policy };
/// ```
/// nor copied:
/// ```compile_fail,E0599
/// fn twice(permit: askfirst::Permit) -> (askfirst::Permit, askfirst::Permit) { (permit.clone(), permit) }
/// ```
/// nor read from a file:
/// ```compile_fail,E0277
/// let permit: askfirst::Permit = serde_json::from_str("{}").unwrap();
/// ```
/// nor spent before it was recorded:
/// ```compile_fail,E0599
/// fn run(permit: askfirst::Permit) -> askfirst::ApprovalContext { permit.spend().0 }
/// ```
#[must_use = "a permit that is not spent runs nothing"]
#[derive(Debug)]
pub struct Permit {
    call: Arc<ApprovalContext>,
    basis: Option<Value>,
    cause: Cause,
}

/// A permit whose decision stands in the record.
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
        Self { call, basis: None, cause: Cause::Policy }
    }

    pub(crate) fn approved(call: Arc<ApprovalContext>, basis: Option<Value>, cause: Cause) -> Self {
        Self { call, basis, cause }
    }

    /// The call that it is for.
    #[must_use]
    pub fn call(&self) -> &ApprovalContext {
        &self.call
    }

    /// Who or what gave it.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// Records the decision. Without a record of this very call there is no permit.
    ///
    /// # Errors
    /// Fails if the record could not be written, or is of something else; the permit is gone then.
    pub fn record(
        self,
        recorder: &dyn Recorder,
        decided: &Record,
        durability: Durability,
    ) -> Result<RecordedPermit, RecordFailed> {
        if !self.is_told_by(decided) {
            return Err(RecordFailed("it does not tell of the call that may run".to_owned()));
        }
        recorder.record(decided, durability)?;
        Ok(RecordedPermit(self))
    }

    fn is_told_by(&self, record: &Record) -> bool {
        let Record::Decided(decided) = record else { return false };
        let (call, told, left_out) = (&*self.call, &*decided.call.call, &decided.call.left_out);
        let whole = Arc::ptr_eq(&self.call, &decided.call.call);
        let kept = || call.args.iter().filter(|(key, _)| !left_out.contains(key));
        let same = |(key, value): (&String, &Value)| told.args.get(key) == Some(value);
        decided.approved
            && decided.cause == self.cause
            && told.tool_name == call.tool_name
            && told.definition == call.definition
            && (whole || (told.args.len() == kept().count() && kept().all(same)))
    }

    /// The same where the recorder keeps nothing, and there is nothing to write.
    ///
    /// # Errors
    /// Gives the permit back if there is a record: then the decision must stand in it first.
    pub fn without_record(self, recorder: &dyn Recorder) -> Result<RecordedPermit, Self> {
        match recorder.keeps() {
            Keeps::Nothing => Ok(RecordedPermit(self)),
            Keeps::Everything => Err(self),
        }
    }
}

/// The record of what a permit is for.
#[cfg(test)]
pub(crate) fn told(permit: &Permit) -> Record {
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
    }))
}

impl RecordedPermit {
    /// How much the call may reach.
    #[must_use]
    pub fn access(&self) -> Access {
        match self.0.cause {
            Cause::Person => Access::Approved,
            Cause::Memory | Cause::Mode => Access::Standing,
            Cause::Policy
            | Cause::TimeOut
            | Cause::NobodyToAsk
            | Cause::EndOfInput
            | Cause::TerminalLost
            | Cause::ApproverFailed
            | Cause::Cancelled
            | Cause::RecordFailed
            | Cause::NoWalls => Access::Unasked,
        }
    }

    /// Gives the call away, with what the content shown rested on.
    #[must_use]
    pub fn spend(self) -> (ApprovalContext, Option<Value>) {
        (Arc::unwrap_or_clone(self.0.call), self.0.basis)
    }

    /// The same for a call that others look at too.
    #[must_use]
    pub fn spend_shared(self) -> (Arc<ApprovalContext>, Option<Value>) {
        (self.0.call, self.0.basis)
    }
}
