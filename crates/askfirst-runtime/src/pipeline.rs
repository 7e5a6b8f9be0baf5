//! The way of one call, from wish to record. Every door goes through here.
//!
//! Assess, judge, ask, permit, record, execute, record. What cannot be recorded does not run; what no longer is as it
//! was shown is asked about again.

pub mod straight;
pub(crate) mod together;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use askfirst::machine::Submission;
use askfirst::ports::{Clock, Presenter, Recorder};
use askfirst::toolset::BoxFuture;
use askfirst::{
    ApprovalContext, Cause, Invocation, Outcome, Policy, RecordedPermit, Refusal, ToolError, Toolset,
};

use crate::assess::{self, CaughtUnwind, Present, Unknown};
use crate::config::OnDenial;
use crate::controller::{ApprovalController, Wait};
use crate::history::{Decided, History, Judged, Nested, Says};
use crate::present::Rule;
use crate::redact::{Mark, Redactor};

/// What a controller takes: a call, the request about it, and who shows it.
type Question = (Submission, Option<Arc<dyn Presenter + Sync>>);

/// How often a call is asked about again because what was shown no longer holds.
const MAX_STALE: usize = 3;

/// Everything that a call passes through. Clones number their calls together.
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
    pub(crate) next_call: Arc<AtomicU64>,
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
        let call = Arc::new(assess::prepare(call, &*self.toolset, &self.policy));
        let assessment = assess::assess(&call, &*self.toolset, self.unknown);
        let call_id = self.call_id(self.next_call.fetch_add(1, Ordering::Relaxed));
        let judgement = assess::judged(&call, &assessment, &self.policy);
        Judged::new(call_id, &judgement, &call, &self.policy, edited_from, self.clock.now())
    }

    /// What is asked about a call that must be asked about. What cannot be recorded is not asked.
    fn question(&self, judged: &mut Judged) -> Option<Result<Question, Refusal>> {
        let request = judged.hand_out()?;
        Some(self.history().requested(judged).map(|()| {
            let present = Present::new(Arc::clone(&self.toolset), Arc::clone(&judged.call));
            (Submission { call: Arc::clone(&judged.call), request }, Some(Arc::new(present) as _))
        }))
    }

    /// From the judgement to the outcome: decide, record, execute, record.
    async fn finish(self: Arc<Self>, mut judged: Judged, mut wait: Option<Result<Wait, Refusal>>) -> Outcome {
        let mut stale = 0;
        loop {
            match self.decide(&mut judged, wait).await {
                Decided::Refused(refusal) => return self.refuse(&judged, refusal),
                Decided::Edited(args) => {
                    let call = ApprovalContext { args, ..Arc::unwrap_or_clone(judged.call) };
                    judged = self
                        .assess_and_judge(call, Some(judged.call_id).filter(|_| Rule::EditedFrom.holds()));
                }
                Decided::Permitted(_) if self.controller.is_stopped() => {
                    return self.refuse(&judged, judged.refusal(Cause::Cancelled, "the run was stopped"));
                }
                Decided::Permitted(permit) => {
                    let recorded = match self.history().decided(&judged, permit) {
                        Ok(recorded) => recorded,
                        Err(refusal) => return self.told(&judged, Outcome::Denied(refusal)),
                    };
                    match self.execute(&judged, recorded).await {
                        Outcome::Failed(ToolError::Stale(_)) if stale < MAX_STALE => stale += 1,
                        outcome @ (Outcome::Done(_) | Outcome::Denied(_) | Outcome::Failed(_)) => {
                            return self.told(&judged, outcome);
                        }
                    }
                    judged = self.assess_and_judge(Arc::unwrap_or_clone(judged.call), judged.edited_from);
                }
            }
            wait = together::ask_one(&self, &mut judged);
        }
    }

    /// Waits for the decision, where one must be waited for.
    async fn decide(&self, judged: &mut Judged, wait: Option<Result<Wait, Refusal>>) -> Decided {
        match (judged.take_says(), wait) {
            (Says::Allow(permit), _) => Decided::Permitted(permit),
            (Says::Deny(refusal), _) | (Says::Ask(_), Some(Err(refusal))) => Decided::Refused(refusal),
            (Says::Ask(request), Some(Ok(wait))) => {
                judged.request_was(*request);
                judged.resolved(*wait.await, self.clock.now())
            }
            (Says::Ask(_), None) => {
                Decided::Refused(judged.refusal(Cause::ApproverFailed, "it was not asked"))
            }
        }
    }

    fn refuse(&self, judged: &Judged, refusal: Refusal) -> Outcome {
        if self.on_denial == OnDenial::Stop && Rule::OnDenial.holds() && refusal.cause == Cause::Person {
            self.controller.stop();
        }
        self.told(judged, Outcome::Denied(self.history().refused(judged, refusal)))
    }

    /// What becomes of a call is told without its secrets.
    fn told(&self, judged: &Judged, outcome: Outcome) -> Outcome {
        self.redactor.outcome(&judged.call.args, outcome, Mark::Record)
    }

    /// Runs what the permit holds, and nothing else.
    async fn execute(&self, judged: &Judged, permit: RecordedPermit) -> Outcome {
        let started = self.clock.now();
        let access = permit.access();
        let (call, basis) = permit.spend_shared();
        let nested = Arc::new(Nested::new(self, &judged.call_id));
        let invocation = Invocation::new(call).with_access(access).with(basis, nested);
        let running = async { self.toolset.call(invocation.clone()).await };
        let result = CaughtUnwind(Box::pin(running)).await;
        self.history().executed(judged, result, invocation.walled(), started)
    }

    fn history(&self) -> History<'_> {
        History { recorder: &*self.recorder, clock: &*self.clock }
    }
}
