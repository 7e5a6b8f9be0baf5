//! Calls that do not run: those that were refused, and those that no tool can take.

use askfirst::{Approval, Cause, Mode, Outcome, Refusal, ToolError};
use askfirst_config::OnDenial;

use crate::assess;
use crate::call_state::PendingCall;
use crate::pipeline::Pipeline;
use crate::toolset::Run;

impl Pipeline {
    /// Refuses a call. If a person refused it, this ends the run when the config says so.
    pub(super) fn refuse(&self, call: &mut PendingCall, mut refusal: Refusal) -> Outcome {
        self.end_run_after(&mut refusal);
        Outcome::Denied(self.recording().refused(call, refusal))
    }

    /// Turns the discarded changes of a call that ran on a view into a refusal. The audit log has the decision already.
    pub(super) fn discard(&self, mut refusal: Refusal) -> Outcome {
        self.end_run_after(&mut refusal);
        Outcome::Denied(refusal)
    }

    fn end_run_after(&self, refusal: &mut Refusal) {
        refusal.ends_run = self.ends_run_by(refusal.cause);
        if refusal.ends_run && self.run == Run::Session {
            self.controller.stop_after_denial();
        }
    }

    /// Returns whether a refusal with this cause ends the run: a person's no, if the config says so.
    pub(super) fn ends_run_by(&self, cause: Cause) -> bool {
        self.on_denial == OnDenial::Stop && cause == Cause::Person
    }

    /// Checks a call before a person is asked about it. If no tool can take it, the call fails.
    ///
    /// Arguments that a person edited are left to the tool, so that the agent is not told to correct them.
    pub(super) fn check_args(&self, call: &mut PendingCall) {
        let Some(request) = call.request().filter(|_| call.is_asked()) else { return };
        let asks_person = self.controller.mode() == Mode::Interactive || request.approval == Approval::Human;
        if asks_person
            && call.edited_from.is_none()
            && let Err(why) = assess::check_args(&call.call, &*self.toolset, self.unknown)
        {
            call.reject(why);
        }
    }

    /// Fails a call that no tool can take.
    pub(super) fn reject(&self, call: &mut PendingCall, why: ToolError) -> Outcome {
        let refusal = call.refusal(Cause::Policy, &why.to_string());
        let refusal = self.recording().refused(call, refusal);
        if refusal.cause == Cause::RecordFailed {
            return Outcome::Denied(refusal);
        }
        Outcome::Failed(why)
    }
}
