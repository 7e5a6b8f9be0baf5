//! Shows toolchains to the processes of a session, and explains why a program that is hidden did not start.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use askfirst::ports::LaunchFailed;
use askfirst_sandbox::{End, LaunchError, LaunchOutcome, OSProfile, Spec};

use super::SandboxLauncher;
use crate::sandbox::{DerivedProfile, Toolchains};

/// The exit code of a shell for a program that cannot be executed.
pub(super) const NOT_EXECUTABLE: i32 = 126;
/// The exit code of a shell for a program that it does not find.
pub(super) const NOT_FOUND: i32 = 127;

impl SandboxLauncher {
    /// Returns the toolchains that every process in the sandbox may read, in addition to the system's paths.
    ///
    /// The first call searches the folders of `PATH`.
    pub fn toolchains(&self) -> Arc<Toolchains> {
        let mut known = self.toolchains.lock().unwrap_or_else(PoisonError::into_inner);
        let find = || Arc::new(Toolchains::find_again(&self.config, &self.start));
        Arc::clone(known.get_or_insert_with(find))
    }

    /// Finds the toolchains on another thread while this one reads the rules, since both take about as long.
    pub(super) fn prepare(&self) {
        std::thread::scope(|scope| {
            // Without the thread, and after an error of the tracker, the next steps do it or report it.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || drop(self.toolchains()));
            let _ = self.tracker();
        });
    }

    /// Adds the toolchains to a profile. Searches again if something has changed.
    pub(super) fn with_toolchains(&self, mut derived: DerivedProfile) -> DerivedProfile {
        let mut known = self.toolchains.lock().unwrap_or_else(PoisonError::into_inner);
        known.take_if(|known| !known.is_current());
        drop(known);
        self.toolchains().add_to(&mut derived.profile);
        derived
    }

    /// Adds the variables by which toolchains find their folders, unless the config passes them on.
    pub(crate) fn with_variables(&self, spec: &Spec) -> Spec {
        let toolchains = self.toolchains();
        let is_new = |name: &OsString| !spec.env.iter().any(|(given, _)| given == name);
        let new = toolchains.variables().iter().filter(|(name, _)| is_new(name)).cloned();
        Spec { env: spec.env.iter().cloned().chain(new).collect(), ..spec.clone() }
    }

    /// Explains why a program did not start in the sandbox, if a hidden folder is the reason.
    pub(crate) fn explain_outcome(
        &self,
        outcome: &LaunchOutcome,
        spec: &Spec,
        profile: &OSProfile,
    ) -> Option<String> {
        let [stdout, stderr] =
            [&outcome.stdout, &outcome.stderr].map(|stream| [stream.head.as_slice(), &stream.tail].concat());
        let toolchains = self.toolchains();
        let by_code = match outcome.end {
            End::Exited(NOT_EXECUTABLE | NOT_FOUND) => {
                toolchains.explain_errors(&stderr, &spec.folder, profile)
            }
            End::Exited(_) | End::TimedOut => None,
            End::Signalled(_) | End::Stopped => return None,
        };
        by_code.or_else(|| toolchains.explain_output([&stderr, &stdout], &spec.folder, profile))
    }

    /// Explains why a program does not exist in the sandbox, if a hidden folder is the reason.
    pub(crate) fn explain_failure(
        &self,
        failed: &LaunchError,
        spec: &Spec,
        profile: &OSProfile,
    ) -> Option<String> {
        match failed {
            LaunchError::Hidden(_) => {
                self.toolchains().explain_program(Path::new(&spec.program), &spec.folder, profile)
            }
            _ => None,
        }
    }
}

/// Adds the line about a hidden program to the lines of a result, or to the error.
pub(crate) fn with_explanation<T>(
    result: Result<(T, Vec<String>), LaunchFailed>,
    hidden: Option<String>,
) -> Result<(T, Vec<String>), LaunchFailed> {
    match (result, hidden) {
        (Ok((value, mut lines)), hidden) => {
            lines.extend(hidden);
            Ok((value, lines))
        }
        (Err(LaunchFailed(why)), Some(hidden)) => Err(LaunchFailed(format!("{why}; {hidden}"))),
        (failed, None) => failed,
    }
}
