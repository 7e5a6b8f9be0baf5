//! Servers that a gateway has started, each with a process group of its own: told to end, the gateway ends them too.

use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

static STARTED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A server was started, as the first of its group.
pub fn started(id: u32) {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner).push(id);
}

/// Sends a signal to every server that has not ended.
pub fn end(signal: Signal) {
    for id in STARTED.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|id| is_ours(**id)) {
        if let Some(group) = i32::try_from(*id).ok().and_then(Pid::from_raw) {
            // It may have ended in this moment.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// Whether a process is a child of this one: the number of one that has ended may be another's by now.
fn is_ours(id: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{id}/stat")) else { return false };
    // The name before it may hold anything, and ends with the last bracket.
    let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
    parent == Some(std::process::id().to_string().as_str())
}
