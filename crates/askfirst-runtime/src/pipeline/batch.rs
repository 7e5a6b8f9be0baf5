//! Submits calls that belong together, from one toolset or several.
//!
//! askfirst judges all of them before the first prompt appears. Each controller gets all of its requests at once.

use std::convert::Infallible;
use std::sync::Arc;

use askfirst::machine::{PresenterId, Submission};
use askfirst::ports::Presenter;
use askfirst::toolset::{BoxFuture, CallerThread};
use askfirst::{ApprovalContext, Cause, Outcome, Refusal};

use crate::assess::Present;
use crate::call_state::PendingCall;
use crate::controller::{ApprovalController, Wait};
use crate::pipeline::{Pipeline, numbered};

/// Submits calls, each with the pipeline that it goes through.
pub(crate) fn submit(
    calls: impl IntoIterator<Item = (Arc<Pipeline>, ApprovalContext)>,
    thread: CallerThread,
) -> Vec<BoxFuture<'static, Outcome>> {
    let judge = |(pipeline, call): (Arc<Pipeline>, _)| {
        let judged = pipeline.judge(numbered(call));
        (pipeline, judged)
    };
    let mut judged: Vec<(Arc<Pipeline>, PendingCall)> = calls.into_iter().map(judge).collect();
    let waits = ask(judged.iter_mut().map(|(pipeline, judged)| (&**pipeline, judged)));
    let pending = |((pipeline, judged), wait): ((Arc<Pipeline>, _), _)| {
        Box::pin(pipeline.finish(judged, wait, thread)) as _
    };
    judged.into_iter().zip(waits).map(pending).collect()
}

/// Submits one call.
pub(crate) fn submit_one(
    pipeline: Arc<Pipeline>,
    call: ApprovalContext,
    thread: CallerThread,
) -> impl Future<Output = Outcome> + Send {
    let judged = pipeline.judge(numbered(call));
    pipeline.proceed(judged, thread)
}

impl Pipeline {
    /// Assesses and judges a call that takes every step of the path.
    pub(super) fn judge(&self, call: (u64, ApprovalContext)) -> PendingCall {
        match self.judge_unless(call, |_, _| None::<Infallible>) {
            Ok(pending) => pending,
            Err(never) => match never {},
        }
    }

    /// Asks about a judged call if needed, and takes it to its outcome.
    pub(super) fn proceed(
        self: Arc<Self>,
        mut call: PendingCall,
        thread: CallerThread,
    ) -> impl Future<Output = Outcome> + Send {
        let wait = ask_one(&self, &mut call);
        self.finish(call, wait, thread)
    }
}

/// Asks about one call, if the judge's verdict is to ask.
pub(super) fn ask_one(pipeline: &Pipeline, judged: &mut PendingCall) -> Option<Result<Wait, Refusal>> {
    judged.is_asked().then(|| ask([(pipeline, judged)]).pop().flatten()).flatten()
}

/// The input of a controller: a call with its request, and the presenter.
type Question = (Submission, Option<Arc<dyn Presenter + Sync>>);

/// Logs the request of a call and returns what the controller needs. A request that cannot be logged is not asked.
fn question(pipeline: &Pipeline, judged: &mut PendingCall) -> Option<Result<Question, Refusal>> {
    pipeline.check_args(judged);
    let request = judged.hand_out()?;
    Some(pipeline.recording().requested(judged).map(|()| {
        let (toolset, call) = (&pipeline.toolset, &judged.call);
        let present = Present::new(Arc::clone(toolset), Arc::clone(call));
        let shown_by = Some(PresenterId(Arc::as_ptr(toolset).addr()));
        let no_ends_run = pipeline.ends_run_by(Cause::Person);
        let submission = Submission { call: Arc::clone(call), request, shown_by, no_ends_run };
        (submission, Some(Arc::new(present) as _))
    }))
}

/// Asks about every call whose verdict is to ask, all at once. A request that cannot be logged is not asked.
fn ask<'a>(
    judged: impl IntoIterator<Item = (&'a Pipeline, &'a mut PendingCall)>,
) -> Vec<Option<Result<Wait, Refusal>>> {
    let mut shares: Vec<(&ApprovalController, Vec<Question>)> = Vec::new();
    let mut slots: Vec<Option<Result<usize, Refusal>>> = Vec::new();
    for (pipeline, judged) in judged {
        slots.push(question(pipeline, judged).map(|question| {
            let question = question?;
            let controller = &pipeline.controller;
            let known = shares.iter().position(|(other, _)| other.is(controller));
            match known.and_then(|at| shares.get_mut(at)) {
                Some((_, questions)) => questions.push(question),
                None => shares.push((controller, vec![question])),
            }
            Ok(known.unwrap_or(shares.len() - 1))
        }));
    }
    let mut waits: Vec<_> =
        shares.into_iter().map(|(controller, questions)| controller.submit(questions).into_iter()).collect();
    let gone = || Refusal::new("", Cause::ApproverFailed, "the request was lost");
    let mut wait = |share: usize| waits.get_mut(share).and_then(Iterator::next).ok_or_else(gone);
    slots.into_iter().map(|slot| slot.map(|asked| asked.and_then(&mut wait))).collect()
}
