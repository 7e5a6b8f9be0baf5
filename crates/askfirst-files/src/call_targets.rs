//! Remembers the paths that each call resolved to when it was judged.
//!
//! A call that was not shown to a person must still resolve to the same paths when it runs.
//! Otherwise a swapped link could apply a remembered approval to another file.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use askfirst::{ApprovalContext, CallId, ToolError};

/// The maximum number of remembered calls. The oldest is forgotten first.
const MAX: usize = 10_000;

/// The paths that each submitted call resolved to when it was last judged.
#[derive(Default)]
pub struct CallTargets(Mutex<BTreeMap<CallId, Vec<String>>>);

impl CallTargets {
    /// Remembers that a call resolved to these paths when it was judged.
    pub fn remember(&self, call: &ApprovalContext, paths: Vec<String>) {
        if call.id == CallId::NONE {
            return;
        }
        let mut judged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        judged.insert(call.id, paths);
        if judged.len() > MAX {
            judged.pop_first();
        }
    }

    /// Calls [`CallTargets::remember`]; kept for callers that use the earlier name.
    #[doc(hidden)]
    pub fn saw(&self, call: &ApprovalContext, paths: Vec<String>) {
        self.remember(call, paths);
    }

    /// Checks that a call still resolves to the same paths as when it was judged, and forgets them.
    ///
    /// # Errors
    /// Fails as stale if the call now resolves to other paths. The call must then be judged again.
    pub fn check(&self, call: &ApprovalContext, paths: &[String]) -> Result<(), ToolError> {
        let judged = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&call.id);
        if judged.is_none_or(|judged| judged == paths) {
            return Ok(());
        }
        let paths = paths.join("` or `");
        Err(ToolError::Stale(format!("this call led to another path than `{paths}` when it was judged")))
    }
}
