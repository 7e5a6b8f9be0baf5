//! The file tools as a toolset. Long calls run on their own thread.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use askfirst::toolset::BoxFuture;
use askfirst::{ApprovalAware, Invocation, ToolDefinition, ToolError, Toolset};
use askfirst_config::{Config, Places};
use askfirst_files::{FileRun, FileTools, is_short};
pub use askfirst_files::{FilesError, NarrowerRoot};
use askfirst_rehearsal::FileEffects;
use serde_json::Value;

use crate::blocking::offload;

/// Tools for the files in the roots of a config.
pub struct FileToolset(Arc<FileTools>);

impl FileToolset {
    /// Creates the tools for the roots of a config. Without roots there are no tools. They keep what they replace
    /// in the user's own state folder, so that `askfirst undo` restores it.
    ///
    /// # Errors
    /// Fails if a root cannot be opened, or if the system cannot confine access to it.
    pub fn new(config: &Config) -> Result<Self, FilesError> {
        Self::with_state(config, &Places::from_env().state)
    }

    /// Creates the tools for the roots of a config, and keeps what they replace in this state folder.
    ///
    /// # Errors
    /// Fails if a root cannot be opened, or if the system cannot confine access to it.
    pub fn with_state(config: &Config, state: &Path) -> Result<Self, FilesError> {
        let effects = FileEffects::new(config, state);
        Ok(Self(Arc::new(FileTools::new(config, Arc::new(effects))?)))
    }

    /// Creates tools for parts of these roots, under new names, for a caller with less authority.
    /// The rules of these roots still apply.
    ///
    /// # Errors
    /// Fails if a part would be wider than its root, or does not exist.
    pub fn derive(&self, narrower: &BTreeMap<String, NarrowerRoot>) -> Result<Self, FilesError> {
        Ok(Self(Arc::new(self.0.derive(narrower)?)))
    }
}

impl Toolset for FileToolset {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.0.definitions().to_vec()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        let tools = Arc::clone(&self.0);
        Box::pin(async move {
            if is_short(&invocation.call) {
                return run(&tools, &invocation);
            }
            match offload(invocation.thread, move || run(&tools, &invocation)).await {
                Some(result) => result,
                None => Err(ToolError::Failed("cannot start a thread for this call".to_owned())),
            }
        })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(&*self.0)
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.0.definition(name).cloned()
    }
}

/// Runs a call, and writes what it changed to the audit log.
fn run(tools: &FileTools, invocation: &Invocation) -> Result<Value, ToolError> {
    let FileRun { result, commits } =
        tools.run(&invocation.call, invocation.basis.as_ref(), invocation.call_id());
    for commit in &commits {
        invocation.record_commit(commit.clone()).map_err(|e| ToolError::Unrecorded(e.to_string()))?;
    }
    tools.mark_logged(&commits);
    result
}
