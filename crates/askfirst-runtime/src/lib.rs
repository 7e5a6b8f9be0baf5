//! Everything around the core that touches the world: config, ledger, tools, presentation, and the one pipeline.
//!
//! Read [`pipeline`] first: it is the way of one call from wish to record.

pub mod config;
pub mod present;
pub mod redact;
