//! Numbers calls. Toolsets may share a session, and sessions a name, so one counter serves the whole process.

use std::sync::atomic::{AtomicU64, Ordering};

use askfirst::{ApprovalContext, CallId};

/// A new id, for a caller that must know its call before it submits it.
#[must_use]
pub fn next_call_id() -> CallId {
    CallId::new(next_number())
}

/// The number of a call. A call without an id gets a new one.
pub(crate) fn numbered(mut call: ApprovalContext) -> (u64, ApprovalContext) {
    if call.id == CallId::NONE {
        call.id = next_call_id();
    }
    (call.id.number(), call)
}

pub(super) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
