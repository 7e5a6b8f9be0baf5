//! Fast path for a call that needs no approval by a person. It has the steps of every call, but creates no future.
//!
//! It is for tools that the caller runs itself, and only if no audit log is kept. It allows nothing that the normal
//! path would refuse: the permit comes from the judge or the controller.
//! Any other call goes to the normal path, which starts from an unchanged state.

use std::sync::{Arc, OnceLock};

use askfirst::ports::Retention;
use askfirst::toolset::{AskNested, BoxFuture, CallerThread};
use askfirst::{
    ApprovalContext, ApprovalDecision, ApprovalRequest, Judgement, Outcome, RecordedPermit, ToolError,
};
use serde_json::{Map, Value};

use crate::assess;
use crate::call_state::PendingCall;
use crate::nested::Nested;
use crate::pipeline::{Pipeline, batch, numbered};

/// A call that the pipeline has accepted.
pub enum Started {
    /// The caller may run the call now.
    Now(Running),
    /// The call is on the normal path: it waits for an answer, was refused, or must be logged.
    OnItsWay(BoxFuture<'static, Outcome>),
}

/// A call that the caller runs now.
pub struct Running {
    pipeline: Arc<Pipeline>,
    number: u64,
    call: Arc<ApprovalContext>,
    nested: OnceLock<Box<Nested>>,
}

impl Running {
    /// Returns the call that may run, once.
    #[must_use]
    pub fn call(&self) -> &ApprovalContext {
        &self.call
    }

    /// Asks a question of the tool while it runs.
    #[must_use]
    pub fn request_approval(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision> {
        let nested = || Box::new(Nested::new(&self.pipeline, &self.pipeline.call_id(self.number)));
        self.nested.get_or_init(nested).request_approval(request)
    }

    /// Turns the result of the tool into the outcome of the call.
    pub fn finish(self, result: Result<Value, ToolError>) -> Outcome {
        result.map_or_else(Outcome::Failed, Outcome::Done)
    }
}

impl Pipeline {
    /// Starts one call of a tool that the caller runs itself.
    pub(crate) fn start<E>(
        self: &Arc<Self>,
        call: ApprovalContext,
        late: impl FnOnce() -> Result<Map<String, Value>, E>,
    ) -> Result<Started, E> {
        let (number, call) = numbered(call);
        let (call, assessment) = assess::look(call, &*self.toolset, &self.policy, self.unknown);
        let judgement = assess::judged(&call, &assessment, &self.policy);
        if let Some(permit) = self.permit_at_once(&judgement, &call) {
            let (call, _) = permit.spend_shared();
            return Ok(Started::Now(Running {
                pipeline: Arc::clone(self),
                number,
                call,
                nested: OnceLock::new(),
            }));
        }
        let call_id = self.call_id(number);
        let mut judged = PendingCall::new(call_id, &judgement, &call, &self.policy, None, self.clock.now());
        drop(judgement);
        // With this copy dropped, `judged` is the only owner and can add metadata without cloning the call.
        drop(call);
        judged.know(late()?);
        let wait = batch::ask_one(self, &mut judged);
        Ok(Started::OnItsWay(Box::pin(Arc::clone(self).finish(judged, wait, CallerThread::Busy))))
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
