//! Old names of methods, enum variants and constants, so that code written for them still compiles.
//!
//! Old names of types are re-exports next to the types.

use std::sync::Arc;

use crate::call::ApprovalContext;
use crate::judge::Judgement;
use crate::machine::Machine;
use crate::permit::Permit;
use crate::policy::{Policy, SandboxStatus};
use crate::ports::{Access, SandboxReport};
use crate::toolset::Invocation;
use crate::words::{Cause, Timestamp};

#[doc(hidden)]
#[allow(non_upper_case_globals, reason = "these constants were variants")]
impl Cause {
    pub const NobodyToAsk: Self = Self::NoOneToAsk;
    pub const NoWalls: Self = Self::NoSandbox;
}

#[doc(hidden)]
#[allow(non_upper_case_globals, reason = "this constant was a variant")]
impl Access {
    pub const Unasked: Self = Self::WithoutAsking;
}

#[doc(hidden)]
impl Policy {
    #[must_use]
    pub fn with_walls(self, sandbox: SandboxStatus) -> Self {
        self.with_sandbox(sandbox)
    }

    #[must_use]
    pub fn with_walls_found_by(self, probe: impl Fn() -> SandboxStatus + Send + Sync + 'static) -> Self {
        self.with_sandbox_probe(probe)
    }

    #[must_use]
    pub fn walls(&self) -> SandboxStatus {
        self.sandbox()
    }
}

#[doc(hidden)]
impl Machine {
    #[must_use]
    pub fn permit_unasked(
        &mut self,
        judgement: &Judgement<'_>,
        call: &Arc<ApprovalContext>,
        now: Timestamp,
    ) -> Option<Permit> {
        self.permit_without_asking(judgement, call, now)
    }
}

#[doc(hidden)]
impl Invocation {
    pub fn ran_behind(&self, report: SandboxReport) {
        self.report_sandbox(report);
    }

    #[must_use]
    pub fn walled(&self) -> Option<&SandboxReport> {
        self.sandbox_report()
    }
}
