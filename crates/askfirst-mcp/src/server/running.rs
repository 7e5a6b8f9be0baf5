//! Wraps tools and tracks which calls are running: those can no longer be withdrawn.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use askfirst::toolset::{BoxFuture, DefinitionPin};
use askfirst::{ApprovalAware, CallId, Invocation, ToolDefinition, ToolError, Toolset};
use serde_json::Value;

/// The most texts that are kept for calls whose results were not sent yet.
const MAX_NOTICES: usize = 1_000;

/// A toolset that tracks its running calls.
pub struct RunningCalls {
    inner: Arc<dyn Toolset>,
    now: Mutex<HashSet<CallId>>,
    /// Texts for the model about what a person changed or wrote, by call.
    notices: Mutex<HashMap<CallId, String>>,
    end: Option<Box<dyn Fn() + Send + Sync>>,
}

impl RunningCalls {
    /// Tracks the running calls of these tools.
    #[must_use]
    pub fn new(inner: Arc<dyn Toolset>) -> Self {
        Self { inner, now: Mutex::default(), notices: Mutex::default(), end: None }
    }

    /// Sets a function that ends all running calls without waiting for them.
    #[must_use]
    pub fn ended_by(self, end: impl Fn() + Send + Sync + 'static) -> Self {
        Self { end: Some(Box::new(end)), ..self }
    }

    /// Ends all running calls, if a function for that was set.
    pub(super) fn end(&self) {
        self.end.iter().for_each(|end| end());
    }

    /// Takes the text for the model about what a person changed or wrote.
    pub(super) fn take_notice(&self, call: CallId) -> Option<String> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).remove(&call)
    }

    /// Whether the tool of a call is running.
    pub(super) fn is_running(&self, call: CallId) -> bool {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).contains(&call)
    }
}

/// Marks a call as running for as long as this value lives.
struct RunGuard<'a> {
    running: &'a RunningCalls,
    call: CallId,
}

impl<'a> RunGuard<'a> {
    fn new(running: &'a RunningCalls, invocation: &Invocation) -> Self {
        let call = invocation.call.id;
        running.now.lock().unwrap_or_else(PoisonError::into_inner).insert(call);
        if let Some(notice) = &invocation.person.notice {
            let mut notices = running.notices.lock().unwrap_or_else(PoisonError::into_inner);
            if notices.len() >= MAX_NOTICES {
                // They belong to calls that their clients abandoned.
                notices.clear();
            }
            notices.insert(call, notice.clone());
        }
        Self { running, call }
    }
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        self.running.now.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

impl Toolset for RunningCalls {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.inner.tools()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let _noted = RunGuard::new(self, &invocation);
            self.inner.call(invocation).await
        })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        self.inner.approval()
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.inner.definition(name)
    }

    fn pinned(&self, name: &str) -> Option<DefinitionPin> {
        self.inner.pinned(name)
    }
}
