//! Toolsets: named tools with one `call` method. Tools know nothing about modes, terminals or memory.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::assess::ApprovalAware;
use crate::call::{ApprovalContext, ToolDefinition};
use crate::decision::ApprovalDecision;
use crate::digest::Digest;
use crate::effects::{Effects, EffectsJudgement, EffectsPolicy};
use crate::json::Args;
use crate::permit::RecordedCommitPermit;
use crate::ports::{Access, RecordFailed, SandboxReport};
use crate::question::PersonApproval;
use crate::record::CommitRecord;
use crate::request::ApprovalRequest;
use crate::schema::{SchemaMismatch, check_args};
use crate::verdict::Refusal;
use crate::words::{Cause, Risk};

/// A boxed future. It works with any async runtime, or without one.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Named tools with one `call` method.
pub trait Toolset: Send + Sync {
    /// Returns the definitions of the tools, as the model gets them.
    fn tools(&self) -> Vec<ToolDefinition>;

    /// Runs a call.
    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>>;

    /// Returns the tools' own check of calls, if they have one.
    fn approval(&self) -> Option<&dyn ApprovalAware> {
        None
    }

    /// Returns the definition of one tool.
    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    /// Returns the pin of one tool: the digest and the risk of its definition.
    fn pinned(&self, name: &str) -> Option<DefinitionPin> {
        self.definition(name).map(|definition| DefinitionPin::of(&definition))
    }

    /// Checks the arguments of a call against the schema of its tool, before a person is asked about the call.
    ///
    /// # Errors
    /// Fails if the tool cannot take these arguments.
    fn check_args(&self, call: &ApprovalContext) -> Result<(), SchemaMismatch> {
        let definition = self.definition(&call.tool_name);
        definition.map_or(Ok(()), |tool| check_args(&tool.input_schema, &call.args))
    }
}

/// The digest and the risk of a tool's definition. askfirst keeps them with every call of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefinitionPin {
    /// The digest of the definition.
    pub digest: Digest,
    /// The risk of the tool's calls.
    pub risk: Risk,
}

#[doc(hidden)]
pub use self::DefinitionPin as Pinned;

impl DefinitionPin {
    /// Returns the pin of a definition.
    #[must_use]
    pub fn of(definition: &ToolDefinition) -> Self {
        Self { digest: definition.digest(), risk: definition.risk }
    }
}

impl<T: Toolset + ?Sized> Toolset for Arc<T> {
    fn tools(&self) -> Vec<ToolDefinition> {
        (**self).tools()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        (**self).call(invocation)
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        (**self).approval()
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        (**self).definition(name)
    }

    fn pinned(&self, name: &str) -> Option<DefinitionPin> {
        (**self).pinned(name)
    }

    fn check_args(&self, call: &ApprovalContext) -> Result<(), SchemaMismatch> {
        (**self).check_args(call)
    }
}

/// The component that a tool can ask for approval while it runs.
pub trait AskNested: Send + Sync {
    /// Asks for approval, and writes the request and the decision to the audit log.
    fn request_approval(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision>;

    /// Decides about the effects of a call that ran on a view, and writes the decision to the audit log.
    fn settle_effects(&self, question: EffectsQuestion) -> BoxFuture<'static, EffectsAnswer> {
        Box::pin(std::future::ready(question.undecided()))
    }

    /// Returns the id of the call in the audit log.
    fn call_id(&self) -> &str {
        ""
    }

    /// Writes to the audit log that the changes of a call were made.
    ///
    /// # Errors
    /// Fails if the log cannot be written.
    fn record_commit(&self, commit: CommitRecord) -> Result<(), RecordFailed> {
        let _ = commit;
        Ok(())
    }
}

/// Builds the request about effects. It shows the changes only if the judgement asks.
pub type RequestBuilder = Box<dyn FnOnce(&Effects, &EffectsJudgement) -> ApprovalRequest + Send>;

/// The effects of a call that ran on a view, for a decision about them.
pub struct EffectsQuestion {
    /// The name of the tool.
    pub tool_name: String,
    /// The effects.
    pub effects: Effects,
    /// The input of the decision besides the effects.
    pub policy: EffectsPolicy,
    /// Builds the request for a person, if one must be asked.
    pub request: RequestBuilder,
}

impl EffectsQuestion {
    /// The answer where no one decides: the changes are discarded.
    fn undecided(self) -> EffectsAnswer {
        let reason = "no one decides about its changes";
        EffectsAnswer::Discard(Refusal::new(self.tool_name, Cause::NoOneToAsk, reason))
    }
}

/// The decision about the effects of a call.
#[derive(Debug)]
pub enum EffectsAnswer {
    /// The call changed nothing.
    Nothing,
    /// The changes may be made.
    Commit(RecordedCommitPermit),
    /// A person allowed the call to run again with what it tried.
    RunAgain,
    /// The changes must be discarded.
    Discard(Refusal),
}

/// The thread that drives a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallerThread {
    /// It may have other work: a tool that blocks moves to another thread.
    #[default]
    Busy,
    /// It only waits for this call: a tool may block it.
    Waiting,
}

/// The input of a person to a call that runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PersonInput {
    /// The approval, if a person approved the call.
    pub approval: Option<PersonApproval>,
    /// The note of the person who approved or edited the call.
    pub note: Option<String>,
    /// Whether a person edited the arguments.
    pub edited: bool,
    /// A text for the model that goes with the result: the edited arguments, and the note.
    pub notice: Option<String>,
}

impl PersonInput {
    /// Creates the input of a person. `edited` are the arguments without their secrets, if a person edited them.
    #[must_use]
    pub fn new(approval: Option<PersonApproval>, note: Option<String>, edited: Option<&Args>) -> Self {
        let args = edited.map(|args| {
            let args = cut(&Value::Object(args.clone()).to_string());
            format!("askfirst: a person edited the arguments; the call ran with: {args}")
        });
        let wrote = note.as_ref().filter(|note| !note.trim().is_empty());
        let wrote =
            wrote.map(|note| format!("askfirst: the person who approved the call wrote: {}", cut(note)));
        let lines: Vec<String> = args.into_iter().chain(wrote).collect();
        let notice = (!lines.is_empty()).then(|| lines.join("\n"));
        Self { approval, note, edited: edited.is_some(), notice }
    }
}

/// Shortens a text for the model.
fn cut(text: &str) -> String {
    const MOST: usize = 4_000;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => {
            let kept = text.get(..end).unwrap_or_default();
            format!("{kept}… ({} characters in all)", text.chars().count())
        }
        None => text.to_owned(),
    }
}

/// The input of a tool: an approved call with its basis and its access.
#[derive(Clone)]
pub struct Invocation {
    /// The call, exactly as it was judged.
    pub call: Arc<ApprovalContext>,
    /// The basis of the shown content. If it changed, the tool must return [`ToolError::Stale`].
    pub basis: Option<Value>,
    /// The access that the tool's processes get.
    pub access: Access,
    /// Whether the thread that drives the call has other work.
    pub thread: CallerThread,
    /// The input of a person to the call.
    pub person: PersonInput,
    sandbox_report: Arc<OnceLock<SandboxReport>>,
    handed_over: Arc<OnceLock<()>>,
    nested: Option<Arc<dyn AskNested>>,
}

impl Invocation {
    /// Creates an invocation without a basis, with the least access, and with no one to ask.
    #[must_use]
    pub fn new(call: impl Into<Arc<ApprovalContext>>) -> Self {
        Self {
            call: call.into(),
            basis: None,
            access: Access::WithoutAsking,
            thread: CallerThread::Busy,
            person: PersonInput::default(),
            sandbox_report: Arc::default(),
            handed_over: Arc::default(),
            nested: None,
        }
    }

    /// Sets the access that the permit gives.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Sets the kind of thread that drives the call.
    #[must_use]
    pub fn on_thread(mut self, thread: CallerThread) -> Self {
        self.thread = thread;
        self
    }

    /// Sets what a person contributed to the call.
    #[must_use]
    pub fn with_person(mut self, person: PersonInput) -> Self {
        self.person = person;
        self
    }

    /// Reports the sandbox of the processes that the tool started, for the audit log. Only the first report counts.
    pub fn report_sandbox(&self, report: SandboxReport) {
        let _ = self.sandbox_report.set(report);
    }

    /// Returns the sandbox of the processes that the tool started, if the tool reported it.
    #[must_use]
    pub fn sandbox_report(&self) -> Option<&SandboxReport> {
        self.sandbox_report.get()
    }

    /// Says that another program runs the call, so that the audit log does not claim that it ran here.
    pub fn hand_over(&self) {
        let _ = self.handed_over.set(());
    }

    /// Whether another program runs the call.
    #[must_use]
    pub fn is_handed_over(&self) -> bool {
        self.handed_over.get().is_some()
    }

    /// Sets the basis of the shown content, and the component that the tool can ask while it runs.
    #[must_use]
    pub fn with(mut self, basis: Option<Value>, nested: Arc<dyn AskNested>) -> Self {
        (self.basis, self.nested) = (basis, Some(nested));
        self
    }

    /// Returns the arguments.
    #[must_use]
    pub fn args(&self) -> &Args {
        &self.call.args
    }

    /// Asks for approval while the tool runs. If there is no one to ask, the decision is a denial.
    #[must_use]
    pub fn request_approval(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision> {
        match &self.nested {
            Some(nested) => nested.request_approval(request),
            None => Box::pin(std::future::ready(ApprovalDecision::no(Cause::NoOneToAsk))),
        }
    }

    /// Decides about the effects of this call. Without a pipeline around the tool, they are discarded.
    #[must_use]
    pub fn settle_effects(&self, question: EffectsQuestion) -> BoxFuture<'static, EffectsAnswer> {
        match &self.nested {
            Some(nested) => nested.settle_effects(question),
            None => Box::pin(std::future::ready(question.undecided())),
        }
    }

    /// Returns the id of this call in the audit log, or an empty text without a pipeline around the tool.
    #[must_use]
    pub fn call_id(&self) -> &str {
        self.nested.as_ref().map_or("", |nested| nested.call_id())
    }

    /// Writes to the audit log that the changes of this call were made.
    ///
    /// # Errors
    /// Fails if the log cannot be written.
    pub fn record_commit(&self, commit: CommitRecord) -> Result<(), RecordFailed> {
        self.nested.as_ref().map_or(Ok(()), |nested| nested.record_commit(commit))
    }
}

impl std::fmt::Debug for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invocation").field("call", &self.call).finish_non_exhaustive()
    }
}

/// The error of a tool that gave no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ToolError {
    /// The toolset has no tool of this name.
    #[error("there is no tool `{0}`")]
    Unknown(String),
    /// The arguments do not match the tool's parameters.
    #[error("invalid arguments: {0}")]
    BadArgs(String),
    /// The tool failed.
    #[error("{0}")]
    Failed(String),
    /// The tool ran to its end without success, and has a result that says more.
    #[error("{message}")]
    Ended {
        /// A one-line message.
        message: String,
        /// The result.
        result: Value,
    },
    /// The shown content is out of date. The tool did nothing.
    #[error("changed since it was shown: {0}")]
    Stale(String),
    /// The tool asked for approval while it ran, and the request was denied.
    #[error("denied while it ran: {}", .0.note.as_deref().unwrap_or("no reason given"))]
    Denied(Box<ApprovalDecision>),
    /// The call ran on a view, and its changes were discarded.
    #[error("its changes were discarded: {}", .0.reason)]
    Discarded(Box<Refusal>),
    /// The tool ran, but the audit log could not record how it ended.
    #[error("the tool ran, but the audit log could not record how it ended: {0}")]
    Unrecorded(String),
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a refusal must reach the agent"]
pub enum Outcome {
    /// The call ran and returned a result.
    Done(Value),
    /// The call was refused and did not run.
    Denied(Refusal),
    /// The call ran and failed.
    Failed(ToolError),
}
