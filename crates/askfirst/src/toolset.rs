//! Tools with names and one way to call them. They know nothing of modes, terminals or memory.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::assess::ApprovalAware;
use crate::call::{ApprovalContext, ToolDefinition};
use crate::decision::ApprovalDecision;
use crate::digest::Digest;
use crate::json::Args;
use crate::ports::{Access, Walled};
use crate::request::ApprovalRequest;
use crate::verdict::Refusal;
use crate::words::{Cause, Risk};

/// A boxed future. Any runtime, or none, can drive it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Named tools with one way to call them.
pub trait Toolset: Send + Sync {
    /// The tools, as the model is told of them.
    fn tools(&self) -> Vec<ToolDefinition>;

    /// Runs a call.
    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>>;

    /// The tools' own view of calls, if they have one.
    fn approval(&self) -> Option<&dyn ApprovalAware> {
        None
    }

    /// The definition of one tool.
    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    /// What a call of one tool is pinned to: that of its definition.
    fn pinned(&self, name: &str) -> Option<Pinned> {
        self.definition(name).map(|definition| Pinned::of(&definition))
    }
}

/// What is kept of a definition with every call of its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pinned {
    /// The definition's digest.
    pub digest: Digest,
    /// How bad its calls can be.
    pub risk: Risk,
}

impl Pinned {
    /// What is kept of this definition.
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

    fn pinned(&self, name: &str) -> Option<Pinned> {
        (**self).pinned(name)
    }
}

/// Somebody whom a tool can ask while it runs.
pub trait AskNested: Send + Sync {
    /// Asks, and records question and answer.
    fn request_approval(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision>;
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

/// A call on its way into a tool.
#[derive(Clone)]
pub struct Invocation {
    /// The call. Whoever judged it holds the same.
    pub call: Arc<ApprovalContext>,
    /// What the content shown rested on. A tool that finds it changed answers [`ToolError::Stale`].
    pub basis: Option<Value>,
    /// How much its processes may reach.
    pub access: Access,
    /// Whether the thread that drives the call has other work.
    pub thread: CallerThread,
    walled: Arc<OnceLock<Walled>>,
    asker: Option<Arc<dyn AskNested>>,
}

impl Invocation {
    /// A bare invocation: nobody can be asked, and nobody was.
    #[must_use]
    pub fn new(call: impl Into<Arc<ApprovalContext>>) -> Self {
        Self {
            call: call.into(),
            basis: None,
            access: Access::Unasked,
            thread: CallerThread::Busy,
            walled: Arc::default(),
            asker: None,
        }
    }

    /// The same with as much access as its permit gives.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// The same invocation, driven by a thread of this kind.
    #[must_use]
    pub fn on_thread(mut self, thread: CallerThread) -> Self {
        self.thread = thread;
        self
    }

    /// Says, for the record, which walls stood around what the tool started.
    pub fn ran_behind(&self, walled: Walled) {
        let _ = self.walled.set(walled);
    }

    /// Which walls stood around what the tool started, once it has said so.
    #[must_use]
    pub fn walled(&self) -> Option<&Walled> {
        self.walled.get()
    }

    /// The same with what the content shown rested on, and somebody to ask.
    #[must_use]
    pub fn with(mut self, basis: Option<Value>, asker: Arc<dyn AskNested>) -> Self {
        (self.basis, self.asker) = (basis, Some(asker));
        self
    }

    /// The arguments.
    #[must_use]
    pub fn args(&self) -> &Args {
        &self.call.args
    }

    /// Asks while the tool runs. Without anybody to ask, the answer is no.
    #[must_use]
    pub fn request_approval(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalDecision> {
        match &self.asker {
            Some(asker) => asker.request_approval(request),
            None => Box::pin(std::future::ready(ApprovalDecision::no(Cause::NobodyToAsk))),
        }
    }
}

impl std::fmt::Debug for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invocation").field("call", &self.call).finish_non_exhaustive()
    }
}

/// Why a tool gave no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ToolError {
    /// There is no such tool.
    #[error("there is no tool `{0}`")]
    Unknown(String),
    /// The arguments are not what it takes.
    #[error("the arguments do not fit: {0}")]
    BadArgs(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
    /// It ran to its end and that was not a success; the result says how.
    #[error("{message}")]
    Ended {
        /// What happened, in one line.
        message: String,
        /// What there is of a result.
        result: Value,
    },
    /// What was shown no longer holds; nothing was done.
    #[error("what was shown no longer holds: {0}")]
    Stale(String),
    /// A question that it asked by itself was answered with no.
    #[error("denied while it ran: {}", .0.note.as_deref().unwrap_or("no reason given"))]
    Denied(Box<ApprovalDecision>),
    /// It ran, but its end could not be recorded.
    #[error("it ran, but how it ended could not be recorded: {0}")]
    Unrecorded(String),
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a refusal must reach the agent"]
pub enum Outcome {
    /// It ran and gave a result.
    Done(Value),
    /// It did not run.
    Denied(Refusal),
    /// It ran and failed.
    Failed(ToolError),
}
