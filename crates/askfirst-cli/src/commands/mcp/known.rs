//! The tool definitions of a session's gateways. The prompt uses them to check edited arguments. The toolset does not call
//! the gateways' tools.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use askfirst::toolset::BoxFuture;
use askfirst::{ApprovalAware, Invocation, ToolDefinition, ToolError, Toolset};
use askfirst_mcp::Gateway;
use serde_json::Value;

/// The tools of the config, and the definitions of the servers' tools.
pub struct KnownTools {
    own: Arc<dyn Toolset>,
    gateways: RwLock<Vec<Weak<Gateway>>>,
}

impl KnownTools {
    pub fn new(own: Arc<dyn Toolset>) -> Self {
        Self { own, gateways: RwLock::default() }
    }

    pub fn add(&self, gateway: &Arc<Gateway>) {
        self.gateways.write().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(gateway));
    }
}

impl Toolset for KnownTools {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.own.tools()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        self.own.call(invocation)
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        self.own.approval()
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        let gateways = self.gateways.read().unwrap_or_else(PoisonError::into_inner);
        let theirs =
            || gateways.iter().filter_map(Weak::upgrade).find_map(|gateway| gateway.definition(name));
        self.own.definition(name).or_else(theirs)
    }
}
