//! Stops a run, and keeps the reason why it was stopped.

use askfirst::Cause;

use super::ApprovalController;

impl ApprovalController {
    /// Stops the run: refuses every pending request and all later ones.
    pub fn stop(&self) {
        self.stop_because(Cause::Cancelled, "the run was stopped");
    }

    /// Stops the run because the terminal of the approver is gone.
    pub fn hang_up(&self) {
        self.stop_because(Cause::TerminalLost, "the terminal was closed");
    }

    fn stop_because(&self, cause: Cause, note: &str) {
        self.desk().with(|state, now| {
            state.by_denial = false;
            state.machine.stop_because(cause, note, now);
        });
    }

    /// Stops the run because a person refused a call. Calls that were approved in the same answer still run.
    pub(crate) fn stop_after_denial(&self) {
        self.desk().with(|state, now| {
            state.by_denial |= !state.machine.is_stopped();
            state.machine.stop(now);
        });
    }

    pub(crate) fn is_stopped_by_denial(&self) -> bool {
        self.desk().lock().by_denial
    }

    /// Returns whether the run was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.desk().lock().machine.is_stopped()
    }
}
