//! The servers that a gateway started, each in its own process group. The gateway ends them when it ends.

use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

static STARTED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Adds a server that was started as the leader of its process group.
pub fn started(id: u32) {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner).push(id);
}

/// Sends a signal to every server that has not ended.
pub fn end(signal: Signal) {
    for id in STARTED.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|id| is_ours(**id)) {
        if let Some(group) = i32::try_from(*id).ok().and_then(Pid::from_raw) {
            // The server may have just ended.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// Whether a process is a child of this one. Another process may have the ID of a server that ended.
fn is_ours(id: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{id}/stat")) else { return false };
    // The process name before it can contain any character, and ends at the last parenthesis.
    let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
    parent == Some(std::process::id().to_string().as_str())
}
