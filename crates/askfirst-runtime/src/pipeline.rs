//! The path of one call, from the agent to the audit log. Every front end goes through here.
//!
//! The steps: assess, judge, ask, permit, log, execute, log. A call that cannot be logged does not run.
//! If the state behind a shown request has changed, askfirst asks again.

pub(crate) mod batch;
mod cancelled;
pub mod direct;
mod numbers;
mod refusals;

use std::sync::Arc;

use askfirst::ports::{Clock, Recorder};
use askfirst::toolset::CallerThread;
use askfirst::{
    ApprovalContext, Cause, Invocation, Judgement, Outcome, Policy, RecordedPermit, Refusal, ToolError,
    Toolset,
};

use crate::assess::{self, CaughtUnwind, Unknown};
use crate::call_state::{NextStep, PendingCall};
use crate::controller::{ApprovalController, Wait};
use crate::nested::NestedRequests;
use crate::observer::Observer;
use crate::toolset::Run;
use askfirst_config::OnDenial;
use askfirst_display::redact::{Mark, Redactor};
pub(crate) use cancelled::DrivenCall;
pub use numbers::next_call_id;
use numbers::next_number;
pub(crate) use numbers::numbered;

/// How often askfirst asks again because the shown state has changed.
const MAX_STALE: usize = 3;
/// How often askfirst asks again because a person edited the arguments.
const MAX_EDITS: usize = 10;

/// Everything that a call passes through.
#[derive(Clone)]
pub struct Pipeline {
    pub(crate) toolset: Arc<dyn Toolset>,
    pub(crate) policy: Policy,
    pub(crate) controller: ApprovalController,
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) on_denial: OnDenial,
    pub(crate) run: Run,
    pub(crate) unknown: Unknown,
    pub(crate) redactor: Redactor,
    pub(crate) session: Arc<str>,
}

impl Pipeline {
    /// Assesses and judges a call. This changes nothing; it only reads the links in paths that a rule tests.
    /// `shortcut` may take the judged call off the path; see [`direct`].
    fn judge_unless<T>(
        &self,
        (number, call): (u64, ApprovalContext),
        shortcut: impl FnOnce(&Judgement<'_>, &Arc<ApprovalContext>) -> Option<T>,
    ) -> Result<PendingCall, T> {
        let (call, assessment) = assess::look(call, &*self.toolset, &self.policy, self.unknown);
        let judgement = assess::judged(&call, &assessment, &self.policy);
        let pending =
            || PendingCall::new(self.call_id(number), &judgement, &call, &self.policy, self.clock.now());
        shortcut(&judgement, &call).map_or_else(|| Ok(pending()), Err)
    }

    /// Takes a judged call to its outcome, and redacts the secrets of the call in the outcome.
    fn finish(
        self: Arc<Self>,
        call: PendingCall,
        wait: Option<Result<Wait, Refusal>>,
        thread: CallerThread,
    ) -> impl Future<Output = Outcome> + Send {
        let mut call = DrivenCall::new(&self.recorder, &self.clock, call, thread);
        async move {
            let outcome = self.go(&mut call, wait).await;
            self.redactor.outcome(&call.call.args, outcome, Mark::Record)
        }
    }

    /// Waits for the decision, logs it, runs the tool and logs the result. Repeats this for edited arguments and stale
    /// state.
    async fn go(self: &Arc<Self>, call: &mut DrivenCall, mut wait: Option<Result<Wait, Refusal>>) -> Outcome {
        let (mut stale, mut edits) = (0, 0);
        loop {
            let mut changed = None;
            let (again, edited_from) = match call.decide(wait, &*self.clock).await {
                NextStep::Refuse(refusal) => return self.refuse(call, refusal),
                NextStep::Reject(why) => return self.reject(call, why),
                NextStep::JudgeEdited(_) if edits == MAX_EDITS => {
                    let refusal = call.refusal(Cause::ApproverFailed, "the call was edited too many times");
                    return self.refuse(call, refusal);
                }
                NextStep::JudgeEdited(args) => {
                    edits += 1;
                    let edited_from = Some(call.call_id.clone());
                    (ApprovalContext { args, ..call.take_call() }, edited_from)
                }
                NextStep::Run(_) if call.is_stopped_by(&self.controller) => {
                    let refusal = call.refusal(Cause::Cancelled, "the run was stopped");
                    return self.refuse(call, refusal);
                }
                NextStep::Run(permit) => {
                    let recorded = match self.recording().decided(call, permit) {
                        Ok(recorded) => recorded,
                        Err(refusal) => return Outcome::Denied(refusal),
                    };
                    match self.execute(call, recorded).await {
                        Outcome::Failed(ToolError::Stale(why)) if stale < MAX_STALE => changed = Some(why),
                        ended @ (Outcome::Done(_) | Outcome::Denied(_) | Outcome::Failed(_)) => return ended,
                    }
                    stale += 1;
                    (call.take_call(), call.edited_from.take())
                }
            };
            let note = call.note.take();
            **call = self.judge((next_number(), again)).asked_again_because(changed);
            (call.edited_from, call.note) = (edited_from, note);
            wait = batch::ask_one(self, call);
        }
    }

    /// Runs exactly the call that the permit holds.
    async fn execute(&self, pending: &mut DrivenCall, permit: RecordedPermit) -> Outcome {
        let started = self.clock.now();
        let access = permit.access();
        let (call, basis) = permit.spend_shared();
        let nested = Arc::new(NestedRequests::new(self, &pending.call_id));
        let invocation = Invocation::new(call)
            .with_access(access)
            .with(basis, nested)
            .on_thread(pending.thread)
            .with_person(pending.person_input(&self.redactor));
        let running = async {
            assess::check_definition(&invocation.call, &*self.toolset)?;
            self.toolset.call(invocation.clone()).await
        };
        let result = CaughtUnwind(Box::pin(running)).await;
        match self.recording().executed(pending, result, &invocation, started) {
            Outcome::Failed(ToolError::Discarded(refusal)) => self.discard(*refusal),
            outcome @ (Outcome::Done(_) | Outcome::Denied(_) | Outcome::Failed(_)) => outcome,
        }
    }
}
