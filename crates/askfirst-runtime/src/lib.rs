//! Everything around the core that touches the world: config, ledger, tools, presentation, and the one pipeline.
//!
//! Read [`pipeline`] first: it is the way of one call from wish to record.

pub mod approver;
pub mod assess;
pub mod block_on;
pub mod clock;
pub mod config;
pub mod controller;
mod history;
pub mod launcher;
mod offload;
pub mod pipeline;
pub mod present;
pub mod redact;
pub mod sessions;
pub mod tools;
pub mod toolset;

pub use controller::ApprovalController;
pub use toolset::ApprovalToolset;
