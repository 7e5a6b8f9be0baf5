//! The way of one call, from wish to record. Every door goes through here.
//!
//! Assess, judge, ask, permit, record, execute, record. What cannot be recorded does not run; what no longer is as it
//! was shown is asked about again.

pub mod straight;
pub(crate) mod together;
mod underway;

use std::sync::Arc;

use askfirst::ports::{Clock, Recorder};
use askfirst::toolset::BoxFuture;
use askfirst::{
    ApprovalContext, Cause, Invocation, Outcome, Policy, RecordedPermit, Refusal, ToolError, Toolset,
};

use crate::assess::{self, CaughtUnwind, Unknown};
use crate::config::OnDenial;
use crate::controller::{ApprovalController, Wait};
use crate::history::{Decided, History, Judged};
use crate::nested::Nested;
use crate::redact::{Mark, Redactor};
pub(crate) use underway::Underway;

/// How often a call is asked about again because what was shown no longer holds.
const MAX_STALE: usize = 3;

/// How often a call is asked about again because an answer brought other arguments.
const MAX_EDITS: usize = 10;

/// Everything that a call passes through.
#[derive(Clone)]
pub struct Pipeline {
    pub(crate) toolset: Arc<dyn Toolset>,
    pub(crate) policy: Policy,
    pub(crate) controller: ApprovalController,
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) on_denial: OnDenial,
    pub(crate) unknown: Unknown,
    pub(crate) redactor: Redactor,
    pub(crate) session: Arc<str>,
}

impl Pipeline {
    /// Takes calls that belong together: all are assessed and judged, each before the next is taken, before the first
    /// question is asked. What comes back are the calls on their way; dropping one gives it up.
    pub fn submit(
        self: &Arc<Self>,
        calls: impl IntoIterator<Item = ApprovalContext>,
    ) -> Vec<BoxFuture<'static, Outcome>> {
        together::submit(calls.into_iter().map(|call| (Arc::clone(self), call)))
    }

    /// Assess and judge: pure but for following the links of paths that a rule tests.
    pub(crate) fn assess_and_judge(&self, call: ApprovalContext, edited_from: Option<String>) -> Judged {
        let (call, assessment) = assess::look(call, &*self.toolset, &self.policy, self.unknown);
        let call_id = self.call_id(straight::next_number());
        let judgement = assess::judged(&call, &assessment, &self.policy);
        Judged::new(call_id, &judgement, &call, &self.policy, edited_from, self.clock.now())
    }

    /// From the judgement to the outcome, which is told without the call's secrets.
    fn finish(
        self: Arc<Self>,
        judged: Judged,
        wait: Option<Result<Wait, Refusal>>,
    ) -> impl Future<Output = Outcome> + Send {
        let mut judged = Underway::new(&self.recorder, &self.clock, judged);
        async move {
            let outcome = self.go(&mut judged, wait).await;
            self.redactor.outcome(&judged.call.args, outcome, Mark::Record)
        }
    }

    /// Decide, record, execute, record.
    async fn go(self: &Arc<Self>, judged: &mut Judged, mut wait: Option<Result<Wait, Refusal>>) -> Outcome {
        let (mut stale, mut edits) = (0, 0);
        loop {
            let mut changed = None;
            let (call, edited_from) = match judged.decide(wait, &*self.clock).await {
                Decided::Refused(refusal) => return self.refuse(judged, refusal),
                Decided::Edited(_) if edits == MAX_EDITS => {
                    let refusal = judged.refusal(Cause::ApproverFailed, "it was edited again and again");
                    return self.refuse(judged, refusal);
                }
                Decided::Edited(args) => {
                    edits += 1;
                    let edited_from = Some(judged.call_id.clone());
                    (ApprovalContext { args, ..judged.take_call() }, edited_from)
                }
                Decided::Permitted(_) if judged.is_stopped_by(&self.controller) => {
                    return self.refuse(judged, judged.refusal(Cause::Cancelled, "the run was stopped"));
                }
                Decided::Permitted(permit) => {
                    let recorded = match self.history().decided(judged, permit) {
                        Ok(recorded) => recorded,
                        Err(refusal) => return Outcome::Denied(refusal),
                    };
                    match self.execute(judged, recorded).await {
                        Outcome::Failed(ToolError::Stale(why)) if stale < MAX_STALE => changed = Some(why),
                        ended @ (Outcome::Done(_) | Outcome::Denied(_) | Outcome::Failed(_)) => return ended,
                    }
                    stale += 1;
                    (judged.take_call(), judged.edited_from.take())
                }
            };
            *judged = self.assess_and_judge(call, edited_from).asked_again_because(changed);
            wait = together::ask_one(self, judged);
        }
    }

    fn refuse(&self, judged: &mut Judged, refusal: Refusal) -> Outcome {
        if self.on_denial == OnDenial::Stop && refusal.cause == Cause::Person {
            self.controller.stop_after_denial();
        }
        Outcome::Denied(self.history().refused(judged, refusal))
    }

    /// Runs what the permit holds, and nothing else.
    async fn execute(&self, judged: &mut Judged, permit: RecordedPermit) -> Outcome {
        let started = self.clock.now();
        let access = permit.access();
        let (call, basis) = permit.spend_shared();
        let nested = Arc::new(Nested::new(self, &judged.call_id));
        let invocation = Invocation::new(call).with_access(access).with(basis, nested);
        let running = async {
            assess::check_definition(&invocation.call, &*self.toolset)?;
            self.toolset.call(invocation.clone()).await
        };
        let result = CaughtUnwind(Box::pin(running)).await;
        self.history().executed(judged, result, invocation.walled(), started)
    }

    fn history(&self) -> History<'_> {
        History { recorder: &*self.recorder, clock: &*self.clock }
    }
}
