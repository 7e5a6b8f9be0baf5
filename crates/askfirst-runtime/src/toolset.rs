//! Puts approval around any toolset. The inner toolset does not change.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use askfirst::ports::{Clock, Durability, RecordFailed, Recorder, Retention};
use askfirst::record::Record;
use askfirst::schema::SchemaMismatch;
use askfirst::toolset::{BoxFuture, CallerThread, DefinitionPin};
use askfirst::{
    ApprovalAware, ApprovalContext, ApprovalDecision, Args, Invocation, Outcome, Policy, ToolDefinition,
    ToolError, Toolset,
};
use askfirst_config::OnDenial;
use askfirst_display::redact::Redactor;
use serde_json::{Map, Value};

use crate::assess::{self, JudgedCall, Unknown};
use crate::blocking::block_on;
use crate::clock::SystemClock;
use crate::controller::ApprovalController;
use crate::ledger::SessionId;
use crate::observer::Observer;
use crate::pipeline::direct::StartedCall;
use crate::pipeline::{Pipeline, batch};

/// The scope that ends when a person refuses a call under `on_denial: stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Run {
    /// The whole session: no further call runs.
    #[default]
    Session,
    /// A run that the caller manages and ends. Later runs of the session ask again.
    Caller,
}

/// A toolset whose calls go through the pipeline. It forwards everything else to the inner toolset.
/// Clones share all state, so it needs no `Arc`.
#[derive(Clone)]
pub struct ApprovalToolset(Arc<Pipeline>);

impl ApprovalToolset {
    /// Wraps a toolset. Until [`recorder`](Self::recorder) sets a recorder, no call is logged.
    pub fn new(inner: impl Toolset + 'static, controller: ApprovalController, policy: Policy) -> Self {
        let clock = SystemClock::start();
        Self(Arc::new(Pipeline {
            toolset: Arc::new(inner),
            policy,
            controller,
            recorder: Arc::new(NullRecorder),
            session: SessionId::new(clock.now()).as_str().into(),
            clock: Arc::new(clock),
            observer: None,
            on_denial: OnDenial::Return,
            run: Run::Session,
            unknown: Unknown::Blocked,
            redactor: Redactor::default(),
        }))
    }

    /// Sets the recorder, which writes the audit log.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        Arc::make_mut(&mut self.0).recorder = Arc::new(PanicSafeRecorder(recorder));
        self
    }

    /// Sets whether a person's refusal ends the run.
    #[must_use]
    pub fn on_denial(mut self, on_denial: OnDenial) -> Self {
        Arc::make_mut(&mut self.0).on_denial = on_denial;
        self
    }

    /// Sets which run a person's refusal ends under [`OnDenial::Stop`].
    #[must_use]
    pub fn run(mut self, run: Run) -> Self {
        Arc::make_mut(&mut self.0).run = run;
        self
    }

    /// Sets the observer, which is notified of each step of each call.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        Arc::make_mut(&mut self.0).observer = Some(observer);
        self
    }

    /// Puts the approval of this toolset around another one. The two share controller, audit log, redaction and all
    /// other settings.
    #[must_use]
    pub fn over(&self, toolset: Arc<dyn Toolset>, policy: Policy) -> Self {
        Self(Arc::new(Pipeline { toolset, policy, ..Pipeline::clone(&self.0) }))
    }

    /// Sets how to treat a tool name without a definition. For a toolset that runs any name, let the policy alone
    /// decide.
    #[must_use]
    pub fn unknown(mut self, unknown: Unknown) -> Self {
        Arc::make_mut(&mut self.0).unknown = unknown;
        self
    }

    /// Sets the redactor, which removes secrets from the reasons of refusals and failures. The default one knows
    /// secrets only by their shape.
    #[must_use]
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        Arc::make_mut(&mut self.0).redactor = redactor;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        Arc::make_mut(&mut self.0).clock = clock;
        self
    }

    /// Sets the session name, which call ids start with. Call numbers are unique across all toolsets of the process.
    #[must_use]
    pub fn session(mut self, session: &str) -> Self {
        Arc::make_mut(&mut self.0).session = session.into();
        self
    }

    /// Runs one call: check it, ask if needed, log it, run it.
    pub async fn call(&self, call: ApprovalContext) -> Outcome {
        batch::submit_one(Arc::clone(&self.0), call, CallerThread::Busy).await
    }

    /// Blocking version of [`call`](Self::call).
    pub fn call_sync(&self, tool_name: &str, args: Args) -> Outcome {
        let call = ApprovalContext::new(tool_name, args);
        block_on(batch::submit_one(Arc::clone(&self.0), call, CallerThread::Waiting))
    }

    /// Blocking version of [`call_many`](Self::call_many).
    pub fn call_many_sync(&self, calls: Vec<ApprovalContext>) -> Vec<Outcome> {
        self.submit_on(calls, CallerThread::Waiting).into_iter().map(block_on).collect()
    }

    /// Judges a call without submitting it. askfirst asks no one, runs nothing and logs nothing.
    pub fn decide<T>(&self, call: ApprovalContext, read: impl FnOnce(JudgedCall<'_>) -> T) -> T {
        let Pipeline { toolset, policy, unknown, .. } = &*self.0;
        assess::decide(call, &**toolset, policy, *unknown, read)
    }

    /// Runs calls that belong together, one after another. askfirst judges all of them before it asks the first
    /// question.
    pub async fn call_many(&self, calls: Vec<ApprovalContext>) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for call in self.submit(calls) {
            outcomes.push(call.await);
        }
        outcomes
    }

    /// Submits calls that belong together and returns one future per call. The caller can drive or drop each future on
    /// its own.
    /// Everything up to the first question is done when this returns.
    pub fn submit(
        &self,
        calls: impl IntoIterator<Item = ApprovalContext>,
    ) -> Vec<BoxFuture<'static, Outcome>> {
        self.submit_on(calls, CallerThread::Busy)
    }

    fn submit_on(
        &self,
        calls: impl IntoIterator<Item = ApprovalContext>,
        thread: CallerThread,
    ) -> Vec<BoxFuture<'static, Outcome>> {
        batch::submit(calls.into_iter().map(|call| (Arc::clone(&self.0), call)), thread)
    }

    /// Submits calls that go through several toolsets, like [`submit`](Self::submit). If the toolsets share a
    /// controller, the calls of one group are shown together.
    pub fn submit_together<'a>(
        calls: impl IntoIterator<Item = (&'a Self, ApprovalContext)>,
    ) -> Vec<BoxFuture<'static, Outcome>> {
        let calls = calls.into_iter().map(|(toolset, call)| (Arc::clone(&toolset.0), call));
        batch::submit(calls, CallerThread::Busy)
    }

    /// Starts a call of a tool that the caller runs itself. The inner toolset does not run it. The call either may run
    /// now, or is still pending.
    ///
    /// `late` returns metadata that neither the assessment nor the judge needs. It is called only if the call cannot
    /// run at once.
    ///
    /// # Errors
    /// Fails if `late` fails. In that case no one was asked and the call must not run.
    pub fn start<E>(
        &self,
        call: ApprovalContext,
        late: impl FnOnce() -> Result<Map<String, Value>, E>,
    ) -> Result<StartedCall, E> {
        self.0.start(call, late)
    }

    /// Returns the controller.
    #[must_use]
    pub fn controller(&self) -> &ApprovalController {
        &self.0.controller
    }

    /// Returns the policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.0.policy
    }
}

impl Toolset for ApprovalToolset {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.0.toolset.tools()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        // A person who approved the call around this one is not asked about it again.
        let Invocation { call, person, .. } = invocation;
        let call = ApprovalContext { approved: person.approval, ..Arc::unwrap_or_clone(call) };
        Box::pin(async move {
            match self.call(call).await {
                Outcome::Done(value) => Ok(value),
                Outcome::Failed(error) => Err(error),
                Outcome::Denied(refusal) => {
                    let no = ApprovalDecision::no(refusal.cause).with_note(refusal.to_string());
                    Err(ToolError::Denied(Box::new(no)))
                }
            }
        })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        self.0.toolset.approval()
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.0.toolset.definition(name)
    }

    fn pinned(&self, name: &str) -> Option<DefinitionPin> {
        self.0.toolset.pinned(name)
    }

    fn check_args(&self, call: &ApprovalContext) -> Result<(), SchemaMismatch> {
        self.0.toolset.check_args(call)
    }
}

/// A recorder that turns a panic of the inner recorder into a failed write.
struct PanicSafeRecorder(Arc<dyn Recorder>);

impl Recorder for PanicSafeRecorder {
    fn record(&self, record: &Record, durability: Durability) -> Result<(), RecordFailed> {
        catch_unwind(AssertUnwindSafe(|| self.0.record(record, durability)))
            .unwrap_or_else(|_| Err(RecordFailed("the recorder panicked".to_owned())))
    }

    fn keeps(&self) -> Retention {
        catch_unwind(AssertUnwindSafe(|| self.0.keeps())).unwrap_or(Retention::Everything)
    }
}

/// A recorder that writes no audit log, for programs that keep their own.
struct NullRecorder;

impl Recorder for NullRecorder {
    fn record(&self, _: &Record, _: Durability) -> Result<(), RecordFailed> {
        Ok(())
    }

    fn keeps(&self) -> Retention {
        Retention::Nothing
    }
}

#[cfg(test)]
#[path = "toolset/tests.rs"]
mod tests;
