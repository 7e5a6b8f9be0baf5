//! Decides about the effects of a call that ran on a view: judges them, asks if needed, and logs the decision.

use askfirst::ports::{Durability, RecordFailed, Retention};
use askfirst::record::Record;
use askfirst::{
    ApprovalDecision, ApprovalRequest, Cause, EffectsAnswer, EffectsJudgement, EffectsVerdict, Refusal,
};

use crate::call_state::{LogProgress, PendingCall};
use crate::recording::Recording;

impl Recording<'_> {
    /// Decides about the effects of a call: asks if needed, and writes the decision.
    pub(crate) async fn settled<F: Future<Output = ApprovalDecision>>(
        &self,
        call: &mut PendingCall,
        judgement: EffectsJudgement,
        ask: impl FnOnce(ApprovalRequest) -> F,
    ) -> Result<EffectsAnswer, Refusal> {
        let verdict = judgement.verdict();
        let why = judgement.reasons().join("; ");
        let permit = match verdict {
            EffectsVerdict::Commit => judgement.permit(),
            EffectsVerdict::Discard => None,
            EffectsVerdict::Ask | EffectsVerdict::AskToRunAgain => {
                self.requested(call)?;
                let request = call.request().cloned();
                let request =
                    request.ok_or_else(|| call.refusal(Cause::ApproverFailed, "no question was made"))?;
                let decision = ask(request).await;
                call.waited_ms = self.clock.now().0.saturating_sub(call.since.0);
                let permit = judgement.permit_after(&decision);
                call.decision = Some(decision);
                permit
            }
        };
        call.logged = LogProgress::Everything;
        let cause = call.decision.as_ref().map_or(Cause::Policy, |decision| decision.cause);
        let runs_again = verdict == EffectsVerdict::AskToRunAgain
            && call.decision.as_ref().is_some_and(|decision| decision.approved);
        let unrecorded =
            |call: &PendingCall, e: RecordFailed| call.refusal(Cause::RecordFailed, &e.to_string());
        match permit {
            Some(permit) => {
                let record = call.decided_record(cause, None);
                let recorded = permit.record(self.recorder, &record, call.durability());
                recorded.map(EffectsAnswer::Commit).map_err(|e| unrecorded(call, e))
            }
            None if runs_again => {
                self.write(&call.decided_record(cause, None)).map_err(|e| unrecorded(call, e))?;
                Ok(EffectsAnswer::RunAgain)
            }
            None => {
                let note = call.decision.as_ref().and_then(|decision| decision.note.clone());
                let refusal = Refusal { note, ..call.refusal(cause, &why) };
                self.write(&call.decided_record(cause, Some(&refusal))).map_err(|e| unrecorded(call, e))?;
                Ok(EffectsAnswer::Discard(refusal))
            }
        }
    }

    fn write(&self, record: &Record) -> Result<(), RecordFailed> {
        match self.recorder.keeps() {
            Retention::Nothing => Ok(()),
            Retention::Everything => self.recorder.record(record, Durability::Synced),
        }
    }
}
