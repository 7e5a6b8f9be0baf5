//! Numbers calls. One counter serves the whole process, because toolsets can share a session and sessions a name.

use std::sync::atomic::{AtomicU64, Ordering};

use askfirst::{ApprovalContext, CallId};

/// Returns a new call id, for a caller that must know the id before it submits the call.
#[must_use]
pub fn next_call_id() -> CallId {
    CallId::new(next_number())
}

/// Returns the number of a call. A call without an id gets a new one.
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
