//! A sandbox that its first program tests, so that a process that starts one program sets up one sandbox.

use std::sync::{Arc, OnceLock};

use crate::error::LaunchError;
use crate::isolation::{Helper, Sandbox, Tier};

/// The sandbox that probably works on this machine, tested by the first program that runs in it.
///
/// Each start tests its own sandbox before it executes the program. If that fails at the first start, nothing has run, and
/// the strongest backend that works takes over, as [`Sandbox::probe`] would have chosen it.
#[derive(Debug)]
pub struct UnprovenSandbox {
    helper: Helper,
    least: Tier,
    first: Option<Arc<Sandbox>>,
    proven: OnceLock<Arc<Sandbox>>,
}

impl UnprovenSandbox {
    /// Starts nothing. Never uses a tier weaker than `least`.
    #[must_use]
    pub fn new(helper: Helper, least: Tier) -> Self {
        let first = Sandbox::untested(helper.clone()).map(Arc::new);
        Self { helper, least, first, proven: OnceLock::new() }
    }

    /// Starts the helper of the first program, so that it is ready when the caller has prepared the rest.
    ///
    /// The helper has the privileges that this process has now. It ends with this process.
    pub fn start_helper(&self) {
        self.first.iter().for_each(|first| first.start_helper());
    }

    /// The sandbox in which a program has run, if there is one yet.
    #[must_use]
    pub fn proven(&self) -> Option<&Arc<Sandbox>> {
        self.proven.get()
    }

    /// Calls `start`, which starts a program in a sandbox. Calls it again with another sandbox if the first does not work.
    ///
    /// # Errors
    ///
    /// Fails with the error of `start`, or if no sandbox works.
    pub fn run<T>(
        &self,
        mut start: impl FnMut(&Sandbox) -> Result<T, LaunchError>,
    ) -> Result<T, LaunchError> {
        if let Some(proven) = self.proven.get() {
            return start(proven);
        }
        let failed = match &self.first {
            Some(first) => {
                let started = start(first);
                if !matches!(started, Err(LaunchError::Sandbox { .. })) {
                    self.proven.get_or_init(|| Arc::clone(first));
                    return started;
                }
                started.err()
            }
            None => None,
        };
        let found = Sandbox::probe(self.helper.clone(), self.least)
            .map_err(|none| LaunchError::NoSandbox(none.to_string()))?;
        let found = self.proven.get_or_init(|| Arc::new(found));
        match failed {
            // The machine can do it, so the reason is in what was started.
            Some(failed) if found.is_first_choice() => Err(failed),
            Some(_) | None => start(found),
        }
    }
}
