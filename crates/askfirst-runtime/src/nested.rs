//! Questions that a tool asks while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use askfirst::ports::{Clock, Recorder};
use askfirst::toolset::{AskNested, BoxFuture, CallerThread};
use askfirst::{ApprovalDecision, ApprovalRequest, Cause, Digest, Refusal};

use crate::call_state::PendingCall;
use crate::controller::ApprovalController;
use crate::pipeline::{DrivenCall, Pipeline};
use crate::recording::Recording;

/// Asks on behalf of a running tool, and logs the question and the answer.
pub(crate) struct Nested {
    controller: ApprovalController,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
    policy: Option<Digest>,
    call_id: String,
    next: AtomicU64,
}

impl Nested {
    pub(crate) fn new(pipeline: &Pipeline, call_id: &str) -> Self {
        Self {
            controller: pipeline.controller.clone(),
            recorder: Arc::clone(&pipeline.recorder),
            clock: Arc::clone(&pipeline.clock),
            policy: pipeline.policy.digest(),
            call_id: call_id.to_owned(),
            next: AtomicU64::new(1),
        }
    }

    fn judged(&self, mut request: ApprovalRequest) -> PendingCall {
        request.call_id = format!("{}.{}", self.call_id, self.next.fetch_add(1, Ordering::Relaxed));
        PendingCall::by_itself(request, self.policy, self.clock.now())
    }
}

impl AskNested for Nested {
    fn request_approval(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision> {
        let (controller, recorder, clock) =
            (self.controller.clone(), self.recorder.clone(), self.clock.clone());
        let mut judged = DrivenCall::new(&recorder, &clock, self.judged(request), CallerThread::Busy);
        Box::pin(async move {
            let recording = Recording { recorder: &*recorder, clock: &*clock, observer: None };
            let unrecorded =
                |refusal: Refusal| ApprovalDecision::no(Cause::RecordFailed).with_note(refusal.reason);
            if let Err(refusal) = recording.requested(&mut judged) {
                return unrecorded(refusal);
            }
            let Some(request) = judged.request().cloned() else {
                return ApprovalDecision::no(Cause::ApproverFailed);
            };
            let decision = controller.request_approval(request).await;
            match recording.answered(&mut judged, &decision) {
                Ok(()) => decision,
                Err(refusal) => unrecorded(refusal),
            }
        })
    }
}
