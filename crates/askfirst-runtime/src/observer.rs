//! Notifies front ends of what happens to calls, by call id.

use askfirst::CallId;
use askfirst::record::{DecidedRecord, ExecutedRecord};
use serde_json::Value;

/// One step of a call. The audit log already has it, and secrets are left out as they are there.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The call was approved or refused.
    Decided(&'a DecidedRecord),
    /// The tool ended.
    Executed(&'a ExecutedRecord, Option<&'a Value>),
}

/// Code that watches the calls of a session. It cannot change them.
pub trait Observer: Send + Sync {
    /// Called after each step, on the thread that drives the call.
    fn observe(&self, call: CallId, event: Event<'_>);
}
