//! The state of one call between its judgment and its end, and the audit log entries that describe it.

use std::sync::Arc;

use crate::controller::{ApprovalController, Wait};
use askfirst::machine::{LinesSeen, PersonApproval, Resolution};
use askfirst::ports::{Clock, Durability};
use askfirst::record::{CallRecord, DecidedRecord, Ending, ExecutedRecord, Record};
use askfirst::toolset::PersonInput;
use askfirst::withheld::WithheldValues;
use askfirst::{
    Approval, ApprovalContext, ApprovalDecision, ApprovalRequest, Args, Because, Cause, Digest,
    EffectsJudgement, EffectsVerdict, Fact, Judgement, Permit, Policy, Refusal, Timestamp, ToolError,
    Verdict,
};
use askfirst_display::redact::{Mark, Redactor};
use serde_json::{Map, Value};

/// The verdict of the judge, with the data for the next step.
pub(crate) enum Ruling {
    Allow(Permit),
    Ask(Box<ApprovalRequest>),
    Deny(Refusal),
    /// The verdict is to ask, but no tool can take the call.
    Reject(ToolError),
}

/// The step after the decision about a call.
pub(crate) enum NextStep {
    /// Run the call.
    Run(Permit),
    /// A person edited the arguments: judge the edited call.
    JudgeEdited(Args),
    /// Refuse the call.
    Refuse(Refusal),
    /// No tool can take the call: fail it.
    Reject(ToolError),
}

/// Which entries about a call are in the audit log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogProgress {
    /// No entry.
    Nothing,
    /// The entry about the request.
    Request,
    /// The entry about the decision. The tool has been running since this time.
    Decision(Timestamp),
    /// All entries, or as many as could be written.
    Everything,
}

/// A call that has been judged and has not ended.
pub(crate) struct PendingCall {
    pub(crate) call_id: String,
    pub(crate) call: Arc<ApprovalContext>,
    pub(crate) edited_from: Option<String>,
    ruling: Option<Ruling>,
    request: Option<ApprovalRequest>,
    verdict: Verdict,
    approval: Approval,
    because: Vec<Because>,
    policy: Option<Digest>,
    exclude_keys: Vec<String>,
    pub(crate) since: Timestamp,
    pub(crate) decision: Option<ApprovalDecision>,
    /// The approval, if a person approved the call.
    pub(crate) person_approval: Option<PersonApproval>,
    /// The note of the person who approved or edited the call.
    pub(crate) note: Option<String>,
    shown: Option<Digest>,
    seen: Option<LinesSeen>,
    pub(crate) waited_ms: u64,
    /// The digest of the changes, if the decision is about the effects of a call.
    changes: Option<Digest>,
    pub(crate) logged: LogProgress,
}

impl PendingCall {
    pub(crate) fn new(
        call_id: String,
        judgement: &Judgement<'_>,
        call: &Arc<ApprovalContext>,
        policy: &Policy,
        now: Timestamp,
    ) -> Self {
        let lost = || Refusal::new(call.tool_name.clone(), Cause::Policy, "the judge gave no answer");
        let ruling = match (judgement.permit_shared(call), judgement.request()) {
            (Some(permit), _) => Ruling::Allow(permit),
            (None, Some(request)) => {
                let request = ApprovalRequest { call_id: call_id.clone(), id: call.id, ..request };
                Ruling::Ask(Box::new(request))
            }
            (None, None) => Ruling::Deny(judgement.refusal().unwrap_or_else(lost)),
        };
        Self {
            call_id,
            call: Arc::clone(call),
            edited_from: None,
            ruling: Some(ruling),
            request: None,
            verdict: judgement.verdict(),
            approval: judgement.approval(),
            because: judgement.because(),
            policy: policy.digest(),
            exclude_keys: judgement.exclude_keys(),
            since: now,
            decision: None,
            person_approval: None,
            note: None,
            shown: None,
            seen: None,
            waited_ms: 0,
            changes: None,
            logged: LogProgress::Nothing,
        }
    }

    /// Creates the state for a request that a running tool makes. Its approval value is always one that asks.
    pub(crate) fn by_itself(mut request: ApprovalRequest, policy: Option<Digest>, now: Timestamp) -> Self {
        request.approval = request.approval.clamp(Approval::OncePerSession, Approval::Human);
        Self {
            call_id: request.call_id.clone(),
            call: Arc::new(ApprovalContext::new(request.tool_name.clone(), request.args.clone())),
            edited_from: None,
            ruling: None,
            verdict: Verdict::Ask,
            approval: request.approval,
            because: vec![Because::built_in("tool's own request", "the tool asked while it ran")],
            policy,
            exclude_keys: request.exclude_keys.clone(),
            since: now,
            request: Some(request),
            decision: None,
            person_approval: None,
            note: None,
            shown: None,
            seen: None,
            waited_ms: 0,
            changes: None,
            logged: LogProgress::Nothing,
        }
    }

    /// Creates the state for a decision about the effects of a call that ran on a view.
    pub(crate) fn about_effects(
        request: ApprovalRequest,
        judgement: &EffectsJudgement,
        changes: Digest,
        policy: Option<Digest>,
        now: Timestamp,
    ) -> Self {
        let (verdict, approval) = match judgement.verdict() {
            EffectsVerdict::Commit => (Verdict::Allow, Approval::None),
            EffectsVerdict::Ask | EffectsVerdict::AskToRunAgain => {
                (Verdict::Ask, judgement.approval().clamp(Approval::OncePerSession, Approval::Human))
            }
            EffectsVerdict::Discard => (Verdict::Deny, Approval::Deny),
        };
        let reasons = judgement.reasons().iter().map(|why| Because::built_in("effects", why.as_str()));
        let because = judgement.because().iter().cloned().chain(reasons).collect();
        let request = ApprovalRequest { approval, ..request };
        Self { verdict, approval, because, changes: Some(changes), ..Self::by_itself(request, policy, now) }
    }

    pub(crate) fn request(&self) -> Option<&ApprovalRequest> {
        match &self.ruling {
            Some(Ruling::Ask(request)) => Some(request),
            Some(Ruling::Allow(_) | Ruling::Deny(_) | Ruling::Reject(_)) | None => self.request.as_ref(),
        }
    }

    /// Returns whether the verdict is to ask.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self.ruling, Some(Ruling::Ask(_)))
    }

    /// Takes the request out to ask about it. The fields that the log needs stay here, and large ones are not copied.
    pub(crate) fn hand_out(&mut self) -> Option<ApprovalRequest> {
        let Some(Ruling::Ask(request)) = &mut self.ruling else { return None };
        let about = ApprovalRequest::new(&request.tool_name, &request.description, request.payload.clone());
        let exclude_keys = request.exclude_keys.clone();
        let kept = ApprovalRequest { id: request.id, risk: request.risk, exclude_keys, ..about };
        Some(std::mem::replace(&mut **request, kept))
    }

    /// Fails the call instead of asking, because no tool can take it.
    pub(crate) fn reject(&mut self, why: ToolError) {
        if let Some(Ruling::Ask(request)) = self.ruling.replace(Ruling::Reject(why)) {
            self.request = Some(*request);
        }
    }

    fn take_ruling(&mut self) -> Ruling {
        let taken = self.ruling.take();
        taken.unwrap_or_else(|| Ruling::Deny(self.refusal(Cause::Policy, "the call was already decided")))
    }

    /// Takes the call out, to judge it again.
    pub(crate) fn take_call(&mut self) -> ApprovalContext {
        ApprovalContext { approved: None, ..Arc::unwrap_or_clone(std::mem::take(&mut self.call)) }
    }

    /// Adds metadata that the judge did not need.
    pub(crate) fn know(&mut self, metadata: Map<String, Value>) {
        if !metadata.is_empty() {
            Arc::make_mut(&mut self.call).metadata.extend(metadata);
        }
    }

    /// Waits for the decision if the call was asked about, and returns the next step.
    pub(crate) async fn decide(
        &mut self,
        wait: Option<Result<Wait, Refusal>>,
        clock: &dyn Clock,
    ) -> NextStep {
        match (self.take_ruling(), wait) {
            (Ruling::Allow(permit), _) => NextStep::Run(permit),
            (Ruling::Deny(refusal), _) | (Ruling::Ask(_), Some(Err(refusal))) => NextStep::Refuse(refusal),
            (Ruling::Ask(request), Some(Ok(wait))) => {
                self.request = Some(*request);
                self.resolved(*wait.await, clock.now())
            }
            (Ruling::Reject(why), _) => NextStep::Reject(why),
            (Ruling::Ask(_), None) => {
                NextStep::Refuse(self.refusal(Cause::ApproverFailed, "askfirst did not ask about the call"))
            }
        }
    }

    /// Adds a fact to the request that tells the person why askfirst asks again.
    pub(crate) fn asked_again_because(mut self, changed: Option<String>) -> Self {
        if let (Some(Ruling::Ask(request)), Some(changed)) = (&mut self.ruling, changed) {
            request
                .facts
                .insert(0, Fact::new("asked again", format!("the shown content has changed: {changed}")));
        }
        self
    }

    /// Returns whether the run was stopped before this call could run. If a refusal stopped the run, a call that a
    /// person approved still runs.
    pub(crate) fn is_stopped_by(&self, controller: &ApprovalController) -> bool {
        let said_yes = |decision: &ApprovalDecision| decision.approved && decision.cause == Cause::Person;
        let approved = self.decision.as_ref().is_some_and(said_yes);
        controller.is_stopped() && !(approved && controller.is_stopped_by_denial())
    }

    pub(crate) fn resolved(&mut self, resolution: Resolution, now: Timestamp) -> NextStep {
        let Resolution { decision, permit, approval, request, shown, seen } = resolution;
        self.waited_ms = now.0.saturating_sub(self.since.0);
        (self.shown, self.seen) = (shown, seen);
        self.request = Some(ApprovalRequest { call_id: self.call_id.clone(), ..request });
        self.decision = Some(decision.clone());
        self.person_approval = approval;
        if decision.approved && decision.cause == Cause::Person && decision.note.is_some() {
            self.note.clone_from(&decision.note);
        }
        match (permit, decision.edited_args) {
            (Some(permit), _) => NextStep::Run(permit),
            (None, Some(args)) if decision.approved => NextStep::JudgeEdited(args),
            (None, _) => {
                let reason = match decision.cause {
                    Cause::Person => "a person said no",
                    Cause::Memory => "a person said no for this session",
                    Cause::Mode => "strict mode refuses every call that needs approval",
                    Cause::TimeOut => "no one answered in time",
                    Cause::NoOneToAsk => "the call needs approval, but no one can be asked",
                    Cause::EndOfInput => "the input ended before an answer",
                    Cause::TerminalLost => "the terminal went away",
                    Cause::ApproverFailed => "the approver failed",
                    Cause::Cancelled => "the call was canceled",
                    Cause::AgentPrompt => "the coding agent asks in its own prompt",
                    Cause::Policy | Cause::RecordFailed | Cause::NoSandbox => "refused",
                };
                let note = decision.note.filter(|note| note != reason);
                NextStep::Refuse(Refusal { note, ..self.refusal(decision.cause, reason) })
            }
        }
    }

    /// Takes what a person contributed to the call. The text for the model contains no secrets of the call.
    pub(crate) fn person_input(&mut self, redactor: &Redactor) -> PersonInput {
        let (approval, note) = (self.person_approval.take(), self.note.take());
        let edited = self.edited_from.is_some();
        let edited = edited.then(|| redactor.args(&self.call.args, Mark::Record).left);
        PersonInput::new(approval, note, edited.as_ref())
    }

    pub(crate) fn refusal(&self, cause: Cause, reason: &str) -> Refusal {
        let because = self.because.clone();
        Refusal { because, ..Refusal::new(self.call.tool_name.clone(), cause, reason) }
    }

    /// Returns the names of the arguments that must not appear in the audit log.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let asked = self.request().map_or(&[][..], |request| &request.exclude_keys);
        let mut left_out: Vec<String> = Vec::new();
        for key in self.exclude_keys.iter().chain(asked).filter(|key| self.call.args.contains_key(*key)) {
            if !left_out.contains(key) {
                left_out.push(key.clone());
            }
        }
        left_out
    }

    fn record(&self, left_out: &[String], withheld: &WithheldValues<'_>) -> CallRecord {
        let ApprovalContext { tool_name, args, metadata, definition, resolved, id, approved: _ } =
            &*self.call;
        let call = if left_out.is_empty() {
            Arc::clone(&self.call)
        } else {
            // Excluded arguments may be large, so this copies only the others.
            let kept = args.iter().filter(|(key, _)| !left_out.contains(key));
            Arc::new(ApprovalContext {
                tool_name: tool_name.clone(),
                args: kept.map(|(key, value)| (key.clone(), value.clone())).collect(),
                metadata: metadata.clone(),
                definition: *definition,
                resolved: resolved.clone(),
                id: *id,
                approved: None,
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

    pub(crate) fn requested_record(&self) -> Record {
        let left_out = self.left_out();
        Record::Requested(Box::new(self.record(&left_out, &WithheldValues::of(&self.call.args, &left_out))))
    }

    pub(crate) fn decided_record(&self, cause: Cause, refusal: Option<&Refusal>) -> Record {
        let left_out = self.left_out();
        let withheld = WithheldValues::of(&self.call.args, &left_out);
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
            changes: self.changes,
        }))
    }

    /// Returns the entry that the log still needs when the caller drops the call.
    pub(crate) fn given_up(&mut self, now: Timestamp) -> Option<Record> {
        match self.logged {
            LogProgress::Nothing | LogProgress::Everything => None,
            LogProgress::Request => {
                self.waited_ms = now.0.saturating_sub(self.since.0);
                let refusal = self.refusal(Cause::Cancelled, "the caller canceled the call");
                Some(self.decided_record(Cause::Cancelled, Some(&refusal)))
            }
            LogProgress::Decision(since) => Some(Record::Executed(ExecutedRecord {
                call_id: self.call_id.clone(),
                tool_name: self.call.tool_name.clone(),
                ended: Ending::Cancelled,
                result: None,
                error: Some("the caller canceled the call while it ran".to_owned()),
                walled: None,
                took_ms: now.0.saturating_sub(since.0),
            })),
        }
    }

    pub(crate) fn durability(&self) -> Durability {
        match self.verdict {
            Verdict::Allow | Verdict::Rehearse => Durability::Written,
            Verdict::Ask | Verdict::Deny => Durability::Synced,
        }
    }
}

/// Removes the values of excluded arguments from the reasons.
fn told(because: &[Because], withheld: &WithheldValues<'_>) -> Vec<Because> {
    because
        .iter()
        .map(|because| Because { text: withheld.text(&because.text).into(), ..because.clone() })
        .collect()
}
