//! Questions that a tool asks by itself while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use askfirst::ports::{Clock, Recorder};
use askfirst::toolset::{AskNested, BoxFuture};
use askfirst::{ApprovalDecision, ApprovalRequest, Cause, Digest, Refusal};

use crate::controller::ApprovalController;
use crate::history::{History, Judged};
use crate::pipeline::{Pipeline, Underway};

/// Asks on behalf of a tool that runs, and writes it down.
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

    fn judged(&self, mut request: ApprovalRequest) -> Judged {
        request.call_id = format!("{}.{}", self.call_id, self.next.fetch_add(1, Ordering::Relaxed));
        Judged::by_itself(request, self.policy, self.clock.now())
    }
}

impl AskNested for Nested {
    fn request_approval(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision> {
        let (controller, recorder, clock) =
            (self.controller.clone(), self.recorder.clone(), self.clock.clone());
        let mut judged = Underway::new(&recorder, &clock, self.judged(request));
        Box::pin(async move {
            let history = History { recorder: &*recorder, clock: &*clock };
            let unrecorded =
                |refusal: Refusal| ApprovalDecision::no(Cause::RecordFailed).with_note(refusal.reason);
            if let Err(refusal) = history.requested(&mut judged) {
                return unrecorded(refusal);
            }
            let Some(request) = judged.request().cloned() else {
                return ApprovalDecision::no(Cause::ApproverFailed);
            };
            let decision = controller.request_approval(request).await;
            match history.answered(&mut judged, &decision) {
                Ok(()) => decision,
                Err(refusal) => unrecorded(refusal),
            }
        })
    }
}
