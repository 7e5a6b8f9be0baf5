//! What a call is on its way, and what of it is written down.

use std::sync::Arc;

use crate::controller::{ApprovalController, Wait};
use askfirst::machine::{Resolution, Seen};
use askfirst::ports::{Clock, Durability, Keeps, Recorder, Walled};
use askfirst::record::{CallRecord, DecidedRecord, Ending, ExecutedRecord, Record};
use askfirst::withheld::Withheld;
use askfirst::{
    Approval, ApprovalContext, ApprovalDecision, ApprovalRequest, Args, Because, Cause, Digest, Fact,
    Judgement, Outcome, Permit, Policy, RecordedPermit, Refusal, Timestamp, ToolError, Verdict,
};
use serde_json::{Map, Value};

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

/// How far a call has come in the record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There is nothing of it yet.
    Judged,
    /// Somebody is asked.
    Asked,
    /// It may run, since then.
    Begun(Timestamp),
    /// All of it is there, or cannot be.
    Over,
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
    stage: Stage,
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
            stage: Stage::Judged,
        }
    }

    /// What a tool asks by itself is asked, whatever anybody says.
    pub(crate) fn by_itself(mut request: ApprovalRequest, policy: Option<Digest>, now: Timestamp) -> Self {
        request.approval = request.approval.clamp(Approval::OncePerSession, Approval::Human);
        Self {
            call_id: request.call_id.clone(),
            call: Arc::new(ApprovalContext::new(request.tool_name.clone(), request.args.clone())),
            edited_from: None,
            says: None,
            verdict: Verdict::Ask,
            approval: request.approval,
            because: vec![Because::built_in("tool's own question", "it asked while it ran")],
            policy,
            exclude_keys: request.exclude_keys.clone(),
            since: now,
            request: Some(request),
            decision: None,
            shown: None,
            seen: None,
            waited_ms: 0,
            stage: Stage::Judged,
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

    fn take_says(&mut self) -> Says {
        let taken = self.says.take();
        taken.unwrap_or_else(|| Says::Deny(self.refusal(Cause::Policy, "it was decided before")))
    }

    /// The call, to be judged anew.
    pub(crate) fn take_call(&mut self) -> ApprovalContext {
        Arc::unwrap_or_clone(std::mem::take(&mut self.call))
    }

    /// Adds what is known about the call and was not needed to judge it.
    pub(crate) fn know(&mut self, metadata: Map<String, Value>) {
        if !metadata.is_empty() {
            Arc::make_mut(&mut self.call).metadata.extend(metadata);
        }
    }

    /// Waits for the decision, where one must be waited for.
    pub(crate) async fn decide(&mut self, wait: Option<Result<Wait, Refusal>>, clock: &dyn Clock) -> Decided {
        match (self.take_says(), wait) {
            (Says::Allow(permit), _) => Decided::Permitted(permit),
            (Says::Deny(refusal), _) | (Says::Ask(_), Some(Err(refusal))) => Decided::Refused(refusal),
            (Says::Ask(request), Some(Ok(wait))) => {
                self.request = Some(*request);
                self.resolved(*wait.await, clock.now())
            }
            (Says::Ask(_), None) => Decided::Refused(self.refusal(Cause::ApproverFailed, "it was not asked")),
        }
    }

    /// The same, saying why a person sees it once more.
    pub(crate) fn asked_again_because(mut self, changed: Option<String>) -> Self {
        if let (Some(Says::Ask(request)), Some(changed)) = (&mut self.says, changed) {
            request
                .facts
                .insert(0, Fact::new("asked again", format!("it changed since it was shown: {changed}")));
        }
        self
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
                    Cause::TimeOut => "no one answered in time",
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

    /// Arguments that are not recorded.
    fn left_out(&self) -> Vec<String> {
        let asked = self.request().map_or(&[][..], |request| &request.exclude_keys);
        let mut left_out: Vec<String> = Vec::new();
        for key in self.exclude_keys.iter().chain(asked).filter(|key| self.call.args.contains_key(*key)) {
            if !left_out.contains(key) {
                left_out.push(key.clone());
            }
        }
        left_out
    }

    fn record(&self, left_out: &[String], withheld: &Withheld<'_>) -> CallRecord {
        let ApprovalContext { tool_name, args, metadata, definition, resolved } = &*self.call;
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
            left_out: left_out.to_vec(),
            description: None,
            payload: None,
            risk: askfirst::Risk::Low,
            verdict: self.verdict,
            approval: self.approval,
            because: told(&self.because, withheld),
            policy: self.policy,
        };
        match self.request() {
            Some(request) => record.with_request(request, withheld),
            None => record,
        }
    }

    fn requested_record(&self) -> Record {
        let left_out = self.left_out();
        Record::Requested(Box::new(self.record(&left_out, &Withheld::of(&self.call.args, &left_out))))
    }

    fn decided_record(&self, cause: Cause, refusal: Option<&Refusal>) -> Record {
        let left_out = self.left_out();
        let withheld = Withheld::of(&self.call.args, &left_out);
        let without = |text: &String| withheld.text(text);
        Record::Decided(Box::new(DecidedRecord {
            call: self.record(&left_out, &withheld),
            approved: refusal.is_none(),
            cause,
            decision: self.decision.clone().map(|decision| {
                let note = decision.note.as_ref().map(without);
                ApprovalDecision { edited_args: None, note, ..decision }
            }),
            refusal: refusal.map(|refusal| Refusal {
                reason: without(&refusal.reason),
                note: refusal.note.as_ref().map(without),
                because: told(&refusal.because, &withheld),
                ..refusal.clone()
            }),
            shown: self.shown,
            seen: self.seen,
            waited_ms: self.waited_ms,
            edited_from: self.edited_from.clone(),
        }))
    }

    /// What is written of a call that is given up, if it would be missing.
    pub(crate) fn given_up(&mut self, now: Timestamp) -> Option<Record> {
        match self.stage {
            Stage::Judged | Stage::Over => None,
            Stage::Asked => {
                self.waited_ms = now.0.saturating_sub(self.since.0);
                let refusal = self.refusal(Cause::Cancelled, "the caller gave up");
                Some(self.decided_record(Cause::Cancelled, Some(&refusal)))
            }
            Stage::Begun(since) => Some(Record::Executed(ExecutedRecord {
                call_id: self.call_id.clone(),
                tool_name: self.call.tool_name.clone(),
                ended: Ending::Cancelled,
                result: None,
                error: Some("the caller gave up while it ran".to_owned()),
                walled: None,
                took_ms: now.0.saturating_sub(since.0),
            })),
        }
    }

    fn durability(&self) -> Durability {
        match self.verdict {
            Verdict::Allow => Durability::Written,
            Verdict::Ask | Verdict::Deny => Durability::Synced,
        }
    }
}

/// Reasons without what is left out.
fn told(because: &[Because], withheld: &Withheld<'_>) -> Vec<Because> {
    because
        .iter()
        .map(|because| Because { text: withheld.text(&because.text).into(), ..because.clone() })
        .collect()
}

/// Writes down what happens to a call.
pub(crate) struct History<'a> {
    pub(crate) recorder: &'a dyn Recorder,
    pub(crate) clock: &'a dyn Clock,
}

impl History<'_> {
    /// Before a person is asked.
    pub(crate) fn requested(&self, judged: &mut Judged) -> Result<(), Refusal> {
        if self.recorder.keeps() == Keeps::Nothing {
            return Ok(());
        }
        self.recorder
            .record(&judged.requested_record(), Durability::Written)
            .map_err(|e| judged.refusal(Cause::RecordFailed, &e.to_string()))?;
        judged.stage = Stage::Asked;
        Ok(())
    }

    /// Before anything runs.
    pub(crate) fn decided(&self, judged: &mut Judged, permit: Permit) -> Result<RecordedPermit, Refusal> {
        let permit = match permit.without_record(self.recorder) {
            Ok(recorded) => return Ok(recorded),
            Err(permit) => permit,
        };
        let record = judged.decided_record(permit.cause(), None);
        judged.stage = Stage::Over;
        let recorded = permit
            .record(self.recorder, &record, judged.durability())
            .map_err(|e| judged.refusal(Cause::RecordFailed, &e.to_string()))?;
        judged.stage = Stage::Begun(self.clock.now());
        Ok(recorded)
    }

    /// A refusal that cannot be recorded is still a refusal, with that as its cause.
    pub(crate) fn refused(&self, judged: &mut Judged, refusal: Refusal) -> Refusal {
        judged.stage = Stage::Over;
        if self.recorder.keeps() == Keeps::Nothing {
            return refusal;
        }
        let record = judged.decided_record(refusal.cause, Some(&refusal));
        match self.recorder.record(&record, Durability::Synced) {
            Ok(()) => refusal,
            Err(e) => Refusal { cause: Cause::RecordFailed, reason: e.to_string(), ..refusal },
        }
    }

    /// After a tool's own question was answered.
    pub(crate) fn answered(&self, judged: &mut Judged, decision: &ApprovalDecision) -> Result<(), Refusal> {
        judged.waited_ms = self.clock.now().0.saturating_sub(judged.since.0);
        judged.decision = Some(decision.clone());
        judged.stage = Stage::Over;
        let refusal = (!decision.approved)
            .then(|| judged.refusal(decision.cause, "the tool's own question was answered with no"));
        let record = judged.decided_record(decision.cause, refusal.as_ref());
        self.recorder
            .record(&record, Durability::Synced)
            .map_err(|e| judged.refusal(Cause::RecordFailed, &e.to_string()))
    }

    /// After it ran.
    pub(crate) fn executed(
        &self,
        judged: &mut Judged,
        result: Result<Value, ToolError>,
        walled: Option<&Walled>,
        started: Timestamp,
    ) -> Outcome {
        judged.stage = Stage::Over;
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
        let error = result.as_ref().err().map(|error| {
            // What does not fit may be anything, also a secret, and is named by whoever could not read it.
            let left_out = match error {
                ToolError::BadArgs(_) => judged.call.args.keys().cloned().collect(),
                _ => judged.left_out(),
            };
            Withheld::of(&judged.call.args, &left_out).text(&error.to_string())
        });
        let record = Record::Executed(ExecutedRecord {
            call_id: judged.call_id.clone(),
            tool_name: judged.call.tool_name.clone(),
            ended,
            result: result.as_ref().ok().map(|value| Digest::of(askfirst::json::canonical(value))),
            error,
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
