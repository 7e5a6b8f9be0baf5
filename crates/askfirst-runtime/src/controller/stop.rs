//! The end of a run: who ends it, and what still runs then.

use askfirst::Cause;

use super::ApprovalController;

impl ApprovalController {
    /// Ends the run: everything that waits is refused, and so is whatever comes.
    pub fn stop(&self) {
        self.stop_because(Cause::Cancelled, "the run was stopped");
    }

    /// The same because the terminal of whoever is asked is gone.
    pub fn hang_up(&self) {
        self.stop_because(Cause::TerminalLost, "the terminal was closed");
    }

    fn stop_because(&self, cause: Cause, note: &str) {
        self.desk().with(|state, now| {
            state.by_denial = false;
            state.machine.stop_because(cause, note, now);
        });
    }

    /// The same because somebody said no: what was approved in the same answer still runs.
    pub(crate) fn stop_after_denial(&self) {
        self.desk().with(|state, now| {
            state.by_denial |= !state.machine.is_stopped();
            state.machine.stop(now);
        });
    }

    pub(crate) fn is_stopped_by_denial(&self) -> bool {
        self.desk().lock().by_denial
    }

    /// Whether the run was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.desk().lock().machine.is_stopped()
    }
}
