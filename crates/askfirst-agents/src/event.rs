//! An event: one moment of an agent's session, as the agent reported it to its hook.

use askfirst::Args;
use serde_json::Value;

use crate::agent::Agent;

/// The moment of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Before any call runs.
    BeforeCall,
    /// Before a shell command runs.
    BeforeShell,
    /// Before a call of an MCP tool runs.
    BeforeMcp,
    /// Before the agent reads a file.
    BeforeRead,
    /// The agent is about to ask the person about a call.
    PermissionRequest,
    /// After a call has ended.
    AfterCall,
    /// The agent's session has ended.
    SessionEnd,
}

impl Moment {
    /// Whether the agent waits for an answer that decides about a call.
    #[must_use]
    pub fn decides(self) -> bool {
        match self {
            Self::BeforeCall
            | Self::BeforeShell
            | Self::BeforeMcp
            | Self::BeforeRead
            | Self::PermissionRequest => true,
            Self::AfterCall | Self::SessionEnd => false,
        }
    }
}

/// A sub-agent that made a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The id of the sub-agent.
    pub id: String,
    /// The kind of the sub-agent, as its agent names it.
    pub kind: Option<String>,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// The name of the server in the agent's config.
    pub server: String,
    /// The name that the server gives the tool.
    pub tool: String,
}

/// An event of an agent's session.
///
/// The agent's model wrote the tool's name and input. The agent wrote the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEvent {
    /// The agent.
    pub agent: Agent,
    /// The moment.
    pub moment: Moment,
    /// The id of the agent's session.
    pub session: String,
    /// The id of the call, if the event has one.
    pub use_id: Option<String>,
    /// The working directory, an absolute path.
    pub cwd: String,
    /// The name of the tool, as the agent writes it. Empty if the event belongs to no call.
    pub tool: String,
    /// The input of the tool.
    pub input: Args,
    /// The sub-agent that made the call, unless the main agent made it.
    pub caller: Option<Caller>,
    /// The MCP tool of the call, if the event names its server outside of the tool's name.
    pub mcp: Option<McpTool>,
    /// The output of the tool, after a call.
    pub output: Option<Value>,
}
