//! The tools as they are, noting which calls run at this moment: those can no longer be taken back.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use askfirst::toolset::{BoxFuture, Pinned};
use askfirst::{ApprovalAware, CallId, Invocation, ToolDefinition, ToolError, Toolset};
use serde_json::Value;

/// Tools that tell what runs.
pub struct Running {
    inner: Arc<dyn Toolset>,
    now: Mutex<HashSet<CallId>>,
    end: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Running {
    /// Notes what runs of these tools.
    #[must_use]
    pub fn new(inner: Arc<dyn Toolset>) -> Self {
        Self { inner, now: Mutex::default(), end: None }
    }

    /// The same, where this ends what runs, and does not wait for it.
    #[must_use]
    pub fn ended_by(self, end: impl Fn() + Send + Sync + 'static) -> Self {
        Self { end: Some(Box::new(end)), ..self }
    }

    /// Ends what runs, where that can be done.
    pub(super) fn end(&self) {
        self.end.iter().for_each(|end| end());
    }

    /// Whether the tool of a call runs now.
    pub(super) fn is_running(&self, call: CallId) -> bool {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).contains(&call)
    }
}

/// Notes that a call runs for as long as it lives.
struct Noted<'a> {
    running: &'a Running,
    call: CallId,
}

impl<'a> Noted<'a> {
    fn new(running: &'a Running, invocation: &Invocation) -> Self {
        let call = invocation.call.id;
        running.now.lock().unwrap_or_else(PoisonError::into_inner).insert(call);
        Self { running, call }
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        self.running.now.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

impl Toolset for Running {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.inner.tools()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let _noted = Noted::new(self, &invocation);
            self.inner.call(invocation).await
        })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        self.inner.approval()
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.inner.definition(name)
    }

    fn pinned(&self, name: &str) -> Option<Pinned> {
        self.inner.pinned(name)
    }
}
