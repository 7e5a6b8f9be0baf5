//! The abilities of the machine that a policy needs: whether a sandbox works, and whether calls can run on a view.

use std::sync::Arc;

use super::Policy;

/// Whether an OS sandbox is available for calls that start a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SandboxStatus {
    /// The sandbox works, or the owner accepts that it does not.
    Settled,
    /// The sandbox does not work, and the owner did not accept that. No process starts without asking.
    #[default]
    Missing,
    /// The sandbox does not work, and the config requires it. No process starts.
    Demanded,
}

impl Policy {
    /// Sets the state of the sandbox.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: SandboxStatus) -> Self {
        (self.sandbox, self.probe_sandbox) = (sandbox, None);
        self
    }

    /// Sets a function that finds out the state of the sandbox, for each call that would start a process.
    #[must_use]
    pub fn with_sandbox_probe(mut self, probe: impl Fn() -> SandboxStatus + Send + Sync + 'static) -> Self {
        self.probe_sandbox = Some(Arc::new(probe));
        self
    }

    /// Sets a function that returns why this machine cannot run calls on a view, or `None` if it can.
    #[must_use]
    pub fn with_rehearsal_probe(
        mut self,
        probe: impl Fn() -> Option<Arc<str>> + Send + Sync + 'static,
    ) -> Self {
        self.probe_rehearsal = Some(Arc::new(probe));
        self
    }

    /// Returns why this machine cannot run calls on a view, or `None` if it can.
    #[must_use]
    pub fn rehearsal_obstacle(&self) -> Option<Arc<str>> {
        match &self.probe_rehearsal {
            Some(probe) => probe(),
            None => Some("no view of the files is set up".into()),
        }
    }

    /// Returns the state of the sandbox.
    #[must_use]
    pub fn sandbox(&self) -> SandboxStatus {
        self.probe_sandbox.as_ref().map_or(self.sandbox, |probe| probe())
    }
}
