//! The built-in tools.

pub mod catalog;
pub mod command;
pub mod filesystem;
pub(crate) mod finished;
pub mod shell;

use std::path::PathBuf;
use std::sync::Arc;

use askfirst::toolset::BoxFuture;
use askfirst::{
    ApprovalAware, ApprovalContext, ApprovalRequest, Assessment, Invocation, Shown, ToolDefinition,
    ToolError, Toolset,
};
use serde_json::Value;

/// Several toolsets as one. If two have a tool of the same name, the first one wins.
#[derive(Clone, Default)]
pub struct CombinedToolset(Vec<Arc<dyn Toolset>>);

impl CombinedToolset {
    /// Adds a toolset.
    #[must_use]
    pub fn with(mut self, toolset: Arc<dyn Toolset>) -> Self {
        self.0.push(toolset);
        self
    }

    fn of(&self, name: &str) -> Option<&Arc<dyn Toolset>> {
        self.0.iter().find(|toolset| toolset.definition(name).is_some())
    }
}

impl Toolset for CombinedToolset {
    fn tools(&self) -> Vec<ToolDefinition> {
        let mut tools: Vec<ToolDefinition> = Vec::new();
        for tool in self.0.iter().flat_map(|toolset| toolset.tools()) {
            if !tools.iter().any(|known| known.name == tool.name) {
                tools.push(tool);
            }
        }
        tools
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        match self.of(&invocation.call.tool_name) {
            Some(toolset) => toolset.call(invocation),
            None => Box::pin(std::future::ready(Err(ToolError::Unknown(invocation.call.tool_name.clone())))),
        }
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.0.iter().find_map(|toolset| toolset.definition(name))
    }
}

impl ApprovalAware for CombinedToolset {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        let tools = self.of(&call.tool_name).and_then(|toolset| toolset.approval());
        tools.map_or_else(Assessment::silent, |tools| tools.check_approval(call))
    }

    fn present(&self, call: &ApprovalContext, request: &ApprovalRequest) -> Shown {
        let tools = self.of(&call.tool_name).and_then(|toolset| toolset.approval());
        tools.map(|tools| tools.present(call, request)).unwrap_or_default()
    }

    fn place_of(&self, call: &ApprovalContext, path: &str) -> Option<PathBuf> {
        self.of(&call.tool_name)?.approval()?.place_of(call, path)
    }
}
