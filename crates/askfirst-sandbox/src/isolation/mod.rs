//! The OS sandbox on Linux. A helper process sets it up and starts the program in it, or starts nothing.
//!
//! The full tier consists of these mechanisms:
//!
//! - namespaces for users, mounts, pids, IPC, host name, cgroups and network;
//! - Landlock rules and a seccomp filter;
//! - resource limits;
//! - closed descriptors and an environment with listed variables only.
//!
//! A tier counts only if a test program ran in it. If one step of a start fails, nothing starts: askfirst never falls back
//! to a weaker tier.
//!
//! This module knows nothing about config files or approval.

mod bpf;
mod bubblewrap;
mod child;
mod content_only;
mod cpu_pin;
mod filter;
pub mod helper;
mod helper_process;
mod init;
mod job_control;
mod landlock;
mod launch;
mod leftovers;
mod loopback;
mod messages;
mod mounts;
mod network;
mod notify;
mod order;
mod passing;
mod pool;
mod pooled_helper;
mod routes;
mod self_test;
mod streams;
mod sys;
#[cfg(test)]
mod tests;
mod view_check;
mod violation;
mod wire;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub use helper::{Helper, HelperError, run_helper_if_requested};
pub use launch::{SandboxRun, attach_in_sandbox, launch_in_sandbox};
pub use loopback::LoopbackNetwork;
pub use view_check::NoView;
pub use violation::{Attempt, Violation};

use order::Backend;

use crate::error::LaunchError;
use crate::profile::OSProfile;
use crate::spec::{End, Spec};
use crate::stop::Stop;

/// The seals that make an order immutable.
const SEALS: i32 = libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;

/// How much a sandbox enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Landlock and the seccomp filter only.
    ContentOnly,
    /// Every mechanism.
    Full,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContentOnly => "content-only",
            Self::Full => "full",
        })
    }
}

/// A sandbox that works on this machine.
#[derive(Debug)]
pub struct Sandbox {
    helper: Helper,
    backend: Backend,
    bubblewrap: Option<PathBuf>,
    /// Why preferred backends do not work.
    rejected_backends: Vec<String>,
    /// The helpers that are kept for the next programs.
    pool: Option<pool::Pool>,
    view_checks: view_check::ViewChecks,
}

/// Why no sandbox works on this machine, one reason for each backend.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct ProbeError(pub Vec<String>);

impl Sandbox {
    /// Finds the strongest backend that works, by running a program in it. Never returns a tier weaker than `least`.
    ///
    /// # Errors
    ///
    /// Fails if no backend works, with the reason for each.
    pub fn probe(helper: Helper, least: Tier) -> Result<Self, ProbeError> {
        Self::find(helper, least, None)
    }

    /// Version of [`probe`](Self::probe) that keeps helpers for the next programs, as
    /// [`with_helper_pool`](Self::with_helper_pool) does. The helper of the test run is the first that is kept.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`probe`](Self::probe).
    pub fn probe_with_helper_pool(helper: Helper, least: Tier) -> Result<Self, ProbeError> {
        Self::find(helper, least, Some(pool::Pool::keeping()))
    }

    /// The first choice of [`probe`](Self::probe), without any test.
    pub(crate) fn untested(helper: Helper) -> Option<Self> {
        Some(Self {
            helper,
            backend: Backend::Namespaces,
            bubblewrap: None,
            rejected_backends: Vec::new(),
            pool: Some(pool::Pool::default()),
            view_checks: view_check::ViewChecks::default(),
        })
    }

    /// Starts a helper that waits for the first order.
    pub(crate) fn start_helper(&self) {
        if let Some(pool) = &self.pool {
            pool.start(&self.helper);
        }
    }

    /// Whether this is the first choice of [`probe`](Self::probe).
    pub(crate) fn is_first_choice(&self) -> bool {
        self.backend == Backend::Namespaces
    }

    fn find(helper: Helper, least: Tier, pool: Option<pool::Pool>) -> Result<Self, ProbeError> {
        let mut sandbox = Self {
            helper,
            backend: Backend::Namespaces,
            bubblewrap: None,
            rejected_backends: Vec::new(),
            pool,
            view_checks: view_check::ViewChecks::default(),
        };
        match sandbox.test() {
            Ok(()) => return Ok(sandbox),
            Err(why) => sandbox.rejected_backends.push(format!("own namespaces: {why}")),
        }
        sandbox.pool = None;
        match bubblewrap::find() {
            Ok(path) => {
                sandbox.backend = Backend::Bubblewrap;
                sandbox.bubblewrap = Some(path);
                match sandbox.test() {
                    Ok(()) => return Ok(sandbox),
                    Err(why) => sandbox.rejected_backends.push(format!("bubblewrap: {why}")),
                }
            }
            Err(why) => sandbox.rejected_backends.push(format!("bubblewrap: {why}")),
        }
        match least {
            Tier::Full => return Err(ProbeError(sandbox.rejected_backends)),
            Tier::ContentOnly => {}
        }
        sandbox.backend = Backend::ContentOnly;
        match sandbox.test() {
            Ok(()) => Ok(sandbox),
            Err(why) => {
                sandbox.rejected_backends.push(format!("Landlock and seccomp alone: {why}"));
                Err(ProbeError(sandbox.rejected_backends))
            }
        }
    }

    /// Keeps helpers running for the next programs, which then start faster.
    ///
    /// A helper keeps the privileges that this process had when the helper started. So a process that drops privileges
    /// later must not use this, and neither must one that forks without executing another program.
    #[must_use]
    pub fn with_helper_pool(mut self) -> Self {
        self.pool = (self.backend == Backend::Namespaces).then(pool::Pool::keeping);
        self
    }

    /// Ends the kept helpers and waits for them. A process calls this before it exits, so that it leaves no processes
    /// behind.
    pub fn end_helpers(&self) {
        self.pool.iter().for_each(pool::Pool::end);
    }

    /// How much the sandbox enforces.
    #[must_use]
    pub fn tier(&self) -> Tier {
        match self.backend {
            Backend::Namespaces | Backend::Bubblewrap => Tier::Full,
            Backend::ContentOnly => Tier::ContentOnly,
        }
    }

    /// How the sandbox is built, in words.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        match self.backend {
            Backend::Namespaces => "own namespaces, Landlock and seccomp",
            Backend::Bubblewrap => "bubblewrap, Landlock and seccomp",
            Backend::ContentOnly => "Landlock and seccomp alone",
        }
    }

    /// Why preferred backends do not work.
    #[must_use]
    pub fn rejected_backends(&self) -> &[String] {
        &self.rejected_backends
    }

    /// Old name of [`backend`](Self::backend).
    #[doc(hidden)]
    #[must_use]
    pub fn way(&self) -> &'static str {
        self.backend()
    }

    /// Old name of [`rejected_backends`](Self::rejected_backends).
    #[doc(hidden)]
    #[must_use]
    pub fn passed_over(&self) -> &[String] {
        self.rejected_backends()
    }

    /// Old name of [`with_helper_pool`](Self::with_helper_pool).
    #[doc(hidden)]
    #[must_use]
    pub fn keeping_helpers(self) -> Self {
        self.with_helper_pool()
    }

    /// Tests the backend: runs the self-test in the sandbox, and then a program.
    fn test(&self) -> Result<(), String> {
        let mut spec = Spec::new(test_program()?, "/");
        spec.limits.wall = Some(std::time::Duration::from_secs(20));
        let tried =
            launch::launch_task(self, &OSProfile::nothing(), &spec, &Stop::new(), order::Task::SelfTest);
        match tried {
            Ok(SandboxRun { finished, .. }) if finished.end == End::Exited(0) => Ok(()),
            Ok(SandboxRun { finished, .. }) => Err(format!("a program ended with {:?}", finished.end)),
            Err(LaunchError::Sandbox { step, cause }) => Err(format!("{step} failed: {cause}")),
            Err(cause) => Err(cause.to_string()),
        }
    }
}

/// Finds a program that does nothing, for a test.
fn test_program() -> Result<&'static str, String> {
    let programs = ["/bin/true", "/usr/bin/true", "/bin/sh"];
    let program = programs.into_iter().find(|path| std::fs::exists(path).unwrap_or(false));
    program.ok_or_else(|| "found no program to test it with".to_owned())
}

/// The Landlock version of this kernel.
///
/// # Errors
///
/// Fails if the kernel has no Landlock.
pub fn landlock_version() -> io::Result<u32> {
    landlock::version()
}
