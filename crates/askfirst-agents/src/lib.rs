//! The hook contracts of coding agents.
//!
//! A coding agent starts a hook before each tool call, writes an event to it, and obeys its answer.
//!
//! - [`read`] turns the bytes of an event into a [`HookEvent`].
//! - [`write`] turns an [`Answer`] into the [`Reply`] that this agent really obeys.
//! - [`refusal`] denies a call whose event cannot be read.
//!
//! Most agents run a call if their hook fails, so these functions answer any input.
//!
//! [`settings`] edits the config of an agent, so that it starts the hook.
//!
//! This crate opens no file, reads neither the clock nor the environment, and does not decide about calls.

pub mod agent;
pub mod answer;
pub mod contract;
pub mod event;
pub mod settings;
pub mod tools;

pub use agent::{Agent, AgentFacts, UnknownAgent};
pub use answer::{Answer, Reply};
pub use contract::{ContractError, read, refusal, write};
pub use event::{Caller, HookEvent, McpTool, Moment};
pub use tools::{FileUpdate, Mapping, Step, UpdateError, map, rewritten};
