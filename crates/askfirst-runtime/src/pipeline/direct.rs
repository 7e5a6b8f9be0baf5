//! A call whose tool the caller runs itself. If it needs neither a person nor a log entry, it may run at once.
//!
//! The pipeline judges it like every other call, and the permit comes from the judge or the controller.
//! A call that may run at once gets no future and no state; for Python that makes it about three times cheaper.

use std::sync::{Arc, OnceLock};

use askfirst::ports::Retention;
use askfirst::toolset::{AskNested, BoxFuture, CallerThread};
use askfirst::{
    ApprovalContext, ApprovalDecision, ApprovalRequest, Judgement, Outcome, RecordedPermit, ToolError,
};
use askfirst_display::redact::Mark;
use serde_json::{Map, Value};

use crate::nested::NestedRequests;
use crate::pipeline::{Pipeline, numbered};

/// A call that the pipeline has accepted.
pub enum StartedCall {
    /// The caller may run the call now.
    Now(RunningCall),
    /// The call is on the normal path: it waits for an answer, was refused, or must be logged.
    OnItsWay(BoxFuture<'static, Outcome>),
}

/// A call that the caller runs now.
pub struct RunningCall {
    pipeline: Arc<Pipeline>,
    number: u64,
    call: Arc<ApprovalContext>,
    nested: OnceLock<Box<NestedRequests>>,
}

impl RunningCall {
    /// Returns the call that may run, once.
    #[must_use]
    pub fn call(&self) -> &ApprovalContext {
        &self.call
    }

    /// Asks a question of the tool while it runs.
    #[must_use]
    pub fn request_approval(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision> {
        let nested = || Box::new(NestedRequests::new(&self.pipeline, &self.pipeline.call_id(self.number)));
        self.nested.get_or_init(nested).request_approval(request)
    }

    /// Turns the result of the tool into the outcome of the call, and redacts the secrets of the call in it.
    pub fn finish(self, result: Result<Value, ToolError>) -> Outcome {
        let outcome = result.map_or_else(Outcome::Failed, Outcome::Done);
        self.pipeline.redactor.outcome(&self.call.args, outcome, Mark::Record)
    }
}

impl Pipeline {
    /// Starts one call of a tool that the caller runs itself.
    pub(crate) fn start<E>(
        self: &Arc<Self>,
        call: ApprovalContext,
        late: impl FnOnce() -> Result<Map<String, Value>, E>,
    ) -> Result<StartedCall, E> {
        let (number, call) = numbered(call);
        match self.judge_unless((number, call), |judgement, call| self.permit_at_once(judgement, call)) {
            Err(permit) => {
                let (call, _) = permit.spend_shared();
                let (pipeline, nested) = (Arc::clone(self), OnceLock::new());
                Ok(StartedCall::Now(RunningCall { pipeline, number, call, nested }))
            }
            Ok(mut judged) => {
                judged.know(late()?);
                Ok(StartedCall::OnItsWay(Box::pin(Arc::clone(self).proceed(judged, CallerThread::Busy))))
            }
        }
    }

    /// Returns the permit of a call that needs neither a person nor a log entry.
    fn permit_at_once(
        &self,
        judgement: &Judgement<'_>,
        call: &Arc<ApprovalContext>,
    ) -> Option<RecordedPermit> {
        match self.recorder.keeps() {
            Retention::Everything => return None,
            Retention::Nothing if self.observer.is_some() => return None,
            Retention::Nothing => {}
        }
        if self.controller.is_stopped() {
            return None;
        }
        let permit = judgement
            .permit_shared(call)
            .or_else(|| self.controller.permit_without_asking(judgement, call))?;
        permit.without_record(&*self.recorder).ok()
    }

    pub(crate) fn call_id(&self, number: u64) -> String {
        format!("{}-{number}", self.session)
    }
}

#[cfg(test)]
#[path = "direct/tests.rs"]
mod tests;
