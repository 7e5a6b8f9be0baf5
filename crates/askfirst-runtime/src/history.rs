//! What a call is on its way, and what of it is written down.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use askfirst::machine::{Resolution, Seen};
use askfirst::ports::{Clock, Durability, Keeps, Recorder, Walled};
use askfirst::record::{CallRecord, DecidedRecord, Ending, ExecutedRecord, Record};
use askfirst::toolset::{AskNested, BoxFuture};
use askfirst::{
    Approval, ApprovalContext, ApprovalDecision, ApprovalRequest, Args, Because, Cause, Digest, Judgement,
    Outcome, Permit, Policy, RecordedPermit, Refusal, Timestamp, ToolError, Verdict,
};
use serde_json::{Map, Value};

use crate::controller::ApprovalController;
use crate::pipeline::Pipeline;

/// What the judge said, with what follows from it.
pub(crate) enum Says {
    Allow(Permit),
    Ask(Box<ApprovalRequest>),
    Deny(Refusal),
}

/// What was decided.
pub(crate) enum Decided {
    Permitted(Permit),
    Edited(Args),
    Refused(Refusal),
}

/// A call that was judged.
pub(crate) struct Judged {
    pub(crate) call_id: String,
    pub(crate) call: Arc<ApprovalContext>,
    pub(crate) edited_from: Option<String>,
    says: Option<Says>,
    request: Option<ApprovalRequest>,
    verdict: Verdict,
    approval: Approval,
    because: Vec<Because>,
    policy: Option<Digest>,
    exclude_keys: Vec<String>,
    since: Timestamp,
    decision: Option<ApprovalDecision>,
    shown: Option<Digest>,
    seen: Option<Seen>,
    waited_ms: u64,
}

impl Judged {
    pub(crate) fn new(
        call_id: String,
        judgement: &Judgement<'_>,
        call: &Arc<ApprovalContext>,
        policy: &Policy,
        edited_from: Option<String>,
        now: Timestamp,
    ) -> Self {
        let lost = || Refusal::new(call.tool_name.clone(), Cause::Policy, "the judge gave no answer");
        let says = match (judgement.permit_shared(call), judgement.request()) {
            (Some(permit), _) => Says::Allow(permit),
            (None, Some(request)) => {
                Says::Ask(Box::new(ApprovalRequest { call_id: call_id.clone(), ..request }))
            }
            (None, None) => Says::Deny(judgement.refusal().unwrap_or_else(lost)),
        };
        Self {
            call_id,
            call: Arc::clone(call),
            edited_from,
            says: Some(says),
            request: None,
            verdict: judgement.verdict(),
            approval: judgement.approval(),
            because: judgement.because(),
            policy: policy.digest(),
            exclude_keys: judgement.exclude_keys(),
            since: now,
            decision: None,
            shown: None,
            seen: None,
            waited_ms: 0,
        }
    }

    pub(crate) fn request(&self) -> Option<&ApprovalRequest> {
        match &self.says {
            Some(Says::Ask(request)) => Some(request),
            Some(Says::Allow(_) | Says::Deny(_)) | None => self.request.as_ref(),
        }
    }

    /// Whether somebody is to be asked about it.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self.says, Some(Says::Ask(_)))
    }

    /// The request to be asked about. What is recorded of it stays here; what may be large is not copied.
    pub(crate) fn hand_out(&mut self) -> Option<ApprovalRequest> {
        let Some(Says::Ask(request)) = &mut self.says else { return None };
        let about = ApprovalRequest::new(&request.tool_name, &request.description, request.payload.clone());
        let exclude_keys = request.exclude_keys.clone();
        let kept = ApprovalRequest { risk: request.risk, exclude_keys, ..about };
        Some(std::mem::replace(&mut **request, kept))
    }

    pub(crate) fn take_says(&mut self) -> Says {
        let taken = self.says.take();
        taken.unwrap_or_else(|| Says::Deny(self.refusal(Cause::Policy, "it was decided before")))
    }

    /// Adds what is known about the call and was not needed to judge it.
    pub(crate) fn know(&mut self, metadata: Map<String, Value>) {
        if !metadata.is_empty() {
            Arc::make_mut(&mut self.call).metadata.extend(metadata);
        }
    }

    pub(crate) fn request_was(&mut self, request: ApprovalRequest) {
        self.request = Some(request);
    }

    /// Whether it no longer runs, though it may. Of a group whose other members were denied, what a person approved does.
    pub(crate) fn is_stopped_by(&self, controller: &ApprovalController) -> bool {
        let said_yes = |decision: &ApprovalDecision| decision.approved && decision.cause == Cause::Person;
        let approved = self.decision.as_ref().is_some_and(said_yes);
        controller.is_stopped() && !(approved && controller.is_stopped_by_denial())
    }

    pub(crate) fn resolved(&mut self, resolution: Resolution, now: Timestamp) -> Decided {
        let Resolution { decision, permit, request, shown, seen } = resolution;
        self.waited_ms = now.0.saturating_sub(self.since.0);
        (self.shown, self.seen) = (shown, seen);
        self.request = Some(ApprovalRequest { call_id: self.call_id.clone(), ..request });
        self.decision = Some(decision.clone());
        match (permit, decision.edited_args) {
            (Some(permit), _) => Decided::Permitted(permit),
            (None, Some(args)) if decision.approved => Decided::Edited(args),
            (None, _) => {
                let reason = match decision.cause {
                    Cause::Person => "a person said no",
                    Cause::Memory => "a person said no for this session",
                    Cause::Mode => "strict mode refuses what would be asked",
                    Cause::TimeOut => "nobody answered in time",
                    Cause::NobodyToAsk => "it needs approval and nobody can be asked",
                    Cause::EndOfInput => "the input ended before an answer",
                    Cause::TerminalLost => "the terminal went away",
                    Cause::ApproverFailed => "the approver failed",
                    Cause::Cancelled => "it was cancelled",
                    Cause::Policy | Cause::RecordFailed | Cause::NoWalls => "refused",
                };
                let note = decision.note.filter(|note| note != reason);
                Decided::Refused(Refusal { note, ..self.refusal(decision.cause, reason) })
            }
        }
    }

    pub(crate) fn refusal(&self, cause: Cause, reason: &str) -> Refusal {
        let because = self.because.clone();
        Refusal { because, ..Refusal::new(self.call.tool_name.clone(), cause, reason) }
    }

    fn record(&self) -> CallRecord {
        let ApprovalContext { tool_name, args, metadata, definition, resolved } = &*self.call;
        let asked = self.request().map_or(&[][..], |request| &request.exclude_keys);
        let mut left_out: Vec<String> = Vec::new();
        for key in self.exclude_keys.iter().chain(asked).filter(|key| args.contains_key(*key)) {
            if !left_out.contains(key) {
                left_out.push(key.clone());
            }
        }
        let call = if left_out.is_empty() {
            Arc::clone(&self.call)
        } else {
            // What is left out may be large: it is not copied first.
            let kept = args.iter().filter(|(key, _)| !left_out.contains(key));
            Arc::new(ApprovalContext {
                tool_name: tool_name.clone(),
                args: kept.map(|(key, value)| (key.clone(), value.clone())).collect(),
                metadata: metadata.clone(),
                definition: *definition,
                resolved: resolved.clone(),
            })
        };
        let record = CallRecord {
            call_id: self.call_id.clone(),
            call,
            left_out,
            description: None,
            payload: None,
            risk: askfirst::Risk::Low,
            verdict: self.verdict,
            approval: self.approval,
            because: self.because.clone(),
            policy: self.policy,
        };
        match self.request() {
            Some(request) => record.with_request(request),
            None => record,
        }
    }

    fn decided_record(&self, cause: Cause, refusal: Option<&Refusal>) -> Record {
        Record::Decided(Box::new(DecidedRecord {
            call: self.record(),
            approved: refusal.is_none(),
            cause,
            decision: self
                .decision
                .clone()
                .map(|decision| ApprovalDecision { edited_args: None, ..decision }),
            refusal: refusal.cloned(),
            shown: self.shown,
            seen: self.seen,
            waited_ms: self.waited_ms,
            edited_from: self.edited_from.clone(),
        }))
    }

    fn durability(&self) -> Durability {
        match self.verdict {
            Verdict::Allow => Durability::Written,
            Verdict::Ask | Verdict::Deny => Durability::Synced,
        }
    }
}

/// Writes down what happens to a call.
pub(crate) struct History<'a> {
    pub(crate) recorder: &'a dyn Recorder,
    pub(crate) clock: &'a dyn Clock,
}

impl History<'_> {
    /// Before a person is asked.
    pub(crate) fn requested(&self, judged: &Judged) -> Result<(), Refusal> {
        if self.recorder.keeps() == Keeps::Nothing {
            return Ok(());
        }
        let record = Record::Requested(Box::new(judged.record()));
        self.recorder
            .record(&record, Durability::Written)
            .map_err(|e| judged.refusal(Cause::RecordFailed, &e.to_string()))
    }

    /// Before anything runs.
    pub(crate) fn decided(&self, judged: &Judged, permit: Permit) -> Result<RecordedPermit, Refusal> {
        let permit = match permit.without_record(self.recorder) {
            Ok(recorded) => return Ok(recorded),
            Err(permit) => permit,
        };
        let record = judged.decided_record(permit.cause(), None);
        permit
            .record(self.recorder, &record, judged.durability())
            .map_err(|e| judged.refusal(Cause::RecordFailed, &e.to_string()))
    }

    /// A refusal that cannot be recorded is still a refusal, with that as its cause.
    pub(crate) fn refused(&self, judged: &Judged, refusal: Refusal) -> Refusal {
        if self.recorder.keeps() == Keeps::Nothing {
            return refusal;
        }
        let record = judged.decided_record(refusal.cause, Some(&refusal));
        match self.recorder.record(&record, Durability::Synced) {
            Ok(()) => refusal,
            Err(e) => Refusal { cause: Cause::RecordFailed, reason: e.to_string(), ..refusal },
        }
    }

    /// After it ran.
    pub(crate) fn executed(
        &self,
        judged: &Judged,
        result: Result<Value, ToolError>,
        walled: Option<&Walled>,
        started: Timestamp,
    ) -> Outcome {
        if self.recorder.keeps() == Keeps::Nothing {
            return result.map_or_else(Outcome::Failed, Outcome::Done);
        }
        let ended = match &result {
            Ok(_) => Ending::Done,
            Err(ToolError::Stale(_)) => Ending::Stale,
            Err(ToolError::Denied(_)) => Ending::Denied,
            Err(
                ToolError::Unknown(_)
                | ToolError::BadArgs(_)
                | ToolError::Failed(_)
                | ToolError::Ended { .. }
                | ToolError::Unrecorded(_),
            ) => Ending::Failed,
        };
        let record = Record::Executed(ExecutedRecord {
            call_id: judged.call_id.clone(),
            tool_name: judged.call.tool_name.clone(),
            ended,
            result: result.as_ref().ok().map(|value| Digest::of(askfirst::json::canonical(value))),
            error: result.as_ref().err().map(ToString::to_string),
            walled: walled.cloned(),
            took_ms: self.clock.now().0.saturating_sub(started.0),
        });
        match (self.recorder.record(&record, judged.durability()), result) {
            (Err(e), _) => Outcome::Failed(ToolError::Unrecorded(e.to_string())),
            (Ok(()), Ok(value)) => Outcome::Done(value),
            (Ok(()), Err(error)) => Outcome::Failed(error),
        }
    }
}

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
        request.approval = request.approval.clamp(Approval::OncePerSession, Approval::Human);
        Judged {
            call_id: request.call_id.clone(),
            call: Arc::new(ApprovalContext::new(request.tool_name.clone(), request.args.clone())),
            edited_from: None,
            says: None,
            verdict: Verdict::Ask,
            approval: request.approval,
            because: vec![Because::built_in("tool's own question", "it asked while it ran")],
            policy: self.policy,
            exclude_keys: request.exclude_keys.clone(),
            since: self.clock.now(),
            request: Some(request),
            decision: None,
            shown: None,
            seen: None,
            waited_ms: 0,
        }
    }
}

impl AskNested for Nested {
    fn request_approval(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision> {
        let mut judged = self.judged(request);
        let (controller, recorder, clock) =
            (self.controller.clone(), self.recorder.clone(), self.clock.clone());
        Box::pin(async move {
            let history = History { recorder: &*recorder, clock: &*clock };
            let unrecorded =
                |refusal: Refusal| ApprovalDecision::no(Cause::RecordFailed).with_note(refusal.reason);
            if let Err(refusal) = history.requested(&judged) {
                return unrecorded(refusal);
            }
            let Some(request) = judged.request().cloned() else {
                return ApprovalDecision::no(Cause::ApproverFailed);
            };
            let decision = controller.request_approval(request).await;
            judged.waited_ms = clock.now().0.saturating_sub(judged.since.0);
            judged.decision = Some(decision.clone());
            let refusal = (!decision.approved)
                .then(|| judged.refusal(decision.cause, "the tool's own question was answered with no"));
            let record = judged.decided_record(decision.cause, refusal.as_ref());
            match recorder.record(&record, Durability::Synced) {
                Ok(()) => decision,
                Err(e) => unrecorded(judged.refusal(Cause::RecordFailed, &e.to_string())),
            }
        })
    }
}
