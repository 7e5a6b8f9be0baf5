//! Writes what happens to a call to the audit log, before and after the call runs.

use askfirst::ports::{Clock, Durability, Recorder, Retention};
use askfirst::record::{Ending, ExecutedRecord, Record};
use askfirst::withheld::WithheldValues;
use askfirst::{
    ApprovalDecision, Cause, Digest, Invocation, Outcome, Permit, RecordedPermit, Refusal, Timestamp,
    ToolError,
};
use serde_json::Value;

use crate::call_state::{LogProgress, PendingCall};
use crate::observer::{Event, Observer};
use crate::pipeline::Pipeline;

/// Writes the entries of a call to the audit log, and notifies the observer.
pub(crate) struct Recording<'a> {
    pub(crate) recorder: &'a dyn Recorder,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) observer: Option<&'a dyn Observer>,
}

impl Pipeline {
    pub(crate) fn recording(&self) -> Recording<'_> {
        Recording { recorder: &*self.recorder, clock: &*self.clock, observer: self.observer.as_deref() }
    }
}

impl Recording<'_> {
    /// Whether no one keeps or sees entries, so that none need be made.
    fn is_idle(&self) -> bool {
        self.recorder.keeps() == Retention::Nothing && self.observer.is_none()
    }

    fn notify(&self, call: &PendingCall, record: &Record, value: Option<&Value>) {
        let Some(observer) = self.observer else { return };
        match record {
            Record::Session(_)
            | Record::Requested(_)
            | Record::Rehearsed(_)
            | Record::Committed(_)
            | Record::Undone(_)
            | Record::Trusted(_)
            | Record::Revoked(_)
            | Record::RuleAdded(_)
            | Record::RuleRemoved(_) => {}
            Record::Decided(entry) => observer.observe(call.call.id, Event::Decided(entry)),
            Record::Executed(entry) => observer.observe(call.call.id, Event::Executed(entry, value)),
        }
    }

    /// Before a person is asked.
    pub(crate) fn requested(&self, call: &mut PendingCall) -> Result<(), Refusal> {
        if self.recorder.keeps() == Retention::Nothing {
            return Ok(());
        }
        self.recorder
            .record(&call.requested_record(), Durability::Written)
            .map_err(|e| call.refusal(Cause::RecordFailed, &e.to_string()))?;
        call.logged = LogProgress::Request;
        Ok(())
    }

    /// Before anything runs.
    pub(crate) fn decided(&self, call: &mut PendingCall, permit: Permit) -> Result<RecordedPermit, Refusal> {
        let cause = permit.cause();
        let permit = match permit.without_record(self.recorder) {
            Ok(recorded) => {
                if self.observer.is_some() {
                    self.notify(call, &call.decided_record(cause, None), None);
                }
                return Ok(recorded);
            }
            Err(permit) => permit,
        };
        let record = call.decided_record(cause, None);
        call.logged = LogProgress::Everything;
        let recorded = permit
            .record(self.recorder, &record, call.durability())
            .map_err(|e| call.refusal(Cause::RecordFailed, &e.to_string()))?;
        call.logged = LogProgress::Decision(self.clock.now());
        self.notify(call, &record, None);
        Ok(recorded)
    }

    /// A refusal that cannot be recorded is still a refusal, with that as its cause.
    pub(crate) fn refused(&self, call: &mut PendingCall, refusal: Refusal) -> Refusal {
        call.logged = LogProgress::Everything;
        if self.is_idle() {
            return refusal;
        }
        let record = call.decided_record(refusal.cause, Some(&refusal));
        match self.recorder.record(&record, Durability::Synced) {
            Ok(()) => {
                self.notify(call, &record, None);
                refusal
            }
            Err(e) => Refusal { cause: Cause::RecordFailed, reason: e.to_string(), ..refusal },
        }
    }

    /// After a tool's own request was answered.
    pub(crate) fn answered(
        &self,
        call: &mut PendingCall,
        decision: &ApprovalDecision,
    ) -> Result<(), Refusal> {
        call.waited_ms = self.clock.now().0.saturating_sub(call.since.0);
        call.decision = Some(decision.clone());
        call.logged = LogProgress::Everything;
        let refusal =
            (!decision.approved).then(|| call.refusal(decision.cause, "the tool's own request was refused"));
        let record = call.decided_record(decision.cause, refusal.as_ref());
        self.recorder
            .record(&record, Durability::Synced)
            .map_err(|e| call.refusal(Cause::RecordFailed, &e.to_string()))
    }

    /// After it ran.
    pub(crate) fn executed(
        &self,
        call: &mut PendingCall,
        result: Result<Value, ToolError>,
        invocation: &Invocation,
        started: Timestamp,
    ) -> Outcome {
        call.logged = LogProgress::Everything;
        if self.is_idle() {
            return result.map_or_else(Outcome::Failed, Outcome::Done);
        }
        let ended = match &result {
            Ok(_) if invocation.is_handed_over() => Ending::HandedOver,
            Ok(_) => Ending::Done,
            Err(ToolError::Stale(_)) => Ending::Stale,
            Err(ToolError::Denied(_)) => Ending::Denied,
            Err(ToolError::Discarded(_)) => Ending::Discarded,
            Err(
                ToolError::Unknown(_)
                | ToolError::BadArgs(_)
                | ToolError::Failed(_)
                | ToolError::Ended { .. }
                | ToolError::Unrecorded(_),
            ) => Ending::Failed,
        };
        let error = result.as_ref().err().map(|error| {
            // An argument that does not fit may be a secret, and the error may repeat it.
            let left_out = match error {
                ToolError::BadArgs(_) => call.call.args.keys().cloned().collect(),
                _ => call.left_out(),
            };
            WithheldValues::of(&call.call.args, &left_out).text(&error.to_string())
        });
        let record = Record::Executed(ExecutedRecord {
            call_id: call.call_id.clone(),
            tool_name: call.call.tool_name.clone(),
            ended,
            result: result.as_ref().ok().map(|value| Digest::of(askfirst::json::canonical(value))),
            error,
            walled: invocation.sandbox_report().cloned(),
            took_ms: self.clock.now().0.saturating_sub(started.0),
        });
        if let Err(e) = self.recorder.record(&record, call.durability()) {
            return Outcome::Failed(ToolError::Unrecorded(e.to_string()));
        }
        self.notify(call, &record, result.as_ref().ok());
        result.map_or_else(Outcome::Failed, Outcome::Done)
    }
}
