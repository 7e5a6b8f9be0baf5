//! Questions that a tool asks while it runs, and the decision about what it did on a view.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use askfirst::ports::{Clock, Durability, RecordFailed, Recorder, Retention};
use askfirst::record::{CommitRecord, Record, RehearsedRecord};
use askfirst::toolset::{AskNested, BoxFuture, CallerThread};
use askfirst::{
    ApprovalDecision, ApprovalRequest, Cause, Digest, EffectsAnswer, EffectsQuestion, EffectsVerdict,
    PathChange, Refusal, RunFact, judge_effects,
};

use crate::call_state::PendingCall;
use crate::controller::ApprovalController;
use crate::pipeline::{DrivenCall, Pipeline};
use crate::recording::Recording;

/// Asks on behalf of a running tool, and logs the question and the answer.
pub(crate) struct NestedRequests {
    controller: ApprovalController,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
    policy: Option<Digest>,
    call_id: String,
    next: AtomicU64,
}

impl NestedRequests {
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
        request.call_id = self.next_id();
        PendingCall::by_itself(request, self.policy, self.clock.now())
    }

    fn next_id(&self) -> String {
        format!("{}.{}", self.call_id, self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, record: &Record, durability: Durability) -> Result<(), RecordFailed> {
        match self.recorder.keeps() {
            Retention::Everything => self.recorder.record(record, durability),
            Retention::Nothing => Ok(()),
        }
    }
}

impl AskNested for NestedRequests {
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

    fn settle_effects(&self, question: EffectsQuestion) -> BoxFuture<'static, EffectsAnswer> {
        let EffectsQuestion { tool_name, effects, policy, request } = question;
        let judgement = judge_effects(&effects, &policy);
        let mut request = request(&effects, &judgement);
        request.call_id = self.next_id();
        let rehearsed = RehearsedRecord {
            call_id: self.call_id.clone(),
            changes: effects.digest,
            added: effects.count(PathChange::Added),
            changed: effects.count(PathChange::Changed) + effects.count(PathChange::Attributes),
            removed: effects.count(PathChange::Removed),
            facts: effects.facts.iter().map(RunFact::text).collect(),
        };
        let is_nothing = effects.changes.is_empty() && judgement.verdict() == EffectsVerdict::Commit;
        if let Err(e) = self.record(&Record::Rehearsed(rehearsed), Durability::Written) {
            let refusal = Refusal::new(tool_name, Cause::RecordFailed, e.to_string());
            return Box::pin(std::future::ready(EffectsAnswer::Discard(refusal)));
        }
        if is_nothing {
            return Box::pin(std::future::ready(EffectsAnswer::Nothing));
        }
        let pending =
            PendingCall::about_effects(request, &judgement, effects.digest, self.policy, self.clock.now());
        let (controller, recorder, clock) =
            (self.controller.clone(), self.recorder.clone(), self.clock.clone());
        let mut pending = DrivenCall::new(&recorder, &clock, pending, CallerThread::Busy);
        Box::pin(async move {
            let recording = Recording { recorder: &*recorder, clock: &*clock, observer: None };
            let settled =
                recording.settled(&mut pending, judgement, |request| controller.request_approval(request));
            settled.await.unwrap_or_else(EffectsAnswer::Discard)
        })
    }

    fn call_id(&self) -> &str {
        &self.call_id
    }

    fn record_commit(&self, commit: CommitRecord) -> Result<(), RecordFailed> {
        let commit = CommitRecord { call_id: self.call_id.clone(), ..commit };
        self.record(&Record::Committed(commit), Durability::Written)
    }
}
