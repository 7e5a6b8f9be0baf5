//! Sets the limits that the kernel enforces. A limit that cannot be set is an error and is never skipped.

use std::io;

use rustix::process::Pid;

use crate::error::LaunchError;
use crate::spec::Limits;

fn failed(limit: &'static str, cause: impl Into<io::Error>) -> LaunchError {
    LaunchError::Limit { limit, cause: cause.into() }
}

#[cfg(target_os = "linux")]
pub(crate) use kernel::KernelLimits;

#[cfg(target_os = "linux")]
mod kernel {
    use rustix::process::{Resource, Rlimit, getrlimit, prlimit};

    use super::*;
    use crate::process;

    /// The limits of one launch, computed before it starts.
    pub(crate) struct KernelLimits(Vec<(&'static str, Resource, Rlimit)>);

    impl KernelLimits {
        pub(crate) fn new(limits: &Limits) -> Result<Self, LaunchError> {
            let mut wanted = Vec::new();
            if let Some(cpu) = limits.cpu {
                let seconds = cpu.as_secs().saturating_add(u64::from(cpu.subsec_nanos() > 0)).max(1);
                wanted.push(("cpu", Resource::Cpu, seconds, seconds.saturating_add(1)));
            }
            if let Some(bytes) = limits.memory {
                wanted.push(("memory", Resource::Data, bytes, bytes));
            }
            if let Some(more) = limits.processes {
                let now = process::tasks_of_user().map_err(|cause| failed("processes", cause))?;
                let most = more.saturating_add(now);
                wanted.push(("processes", Resource::Nproc, most, most));
            }
            if let Some(bytes) = limits.file {
                wanted.push(("file", Resource::Fsize, bytes, bytes));
            }
            let lowered = wanted
                .into_iter()
                .map(|(name, resource, soft, hard)| (name, resource, lower(getrlimit(resource), soft, hard)));
            Ok(Self(lowered.collect()))
        }

        /// Applies the limits to a program that is already running. Only a helper process between launcher and program
        /// could set them earlier; the sandbox has one.
        pub(crate) fn apply(&self, pid: Pid) -> Result<(), LaunchError> {
            for (name, resource, limit) in &self.0 {
                prlimit(Some(pid), *resource, *limit).map_err(|cause| failed(name, cause))?;
            }
            Ok(())
        }
    }

    pub(super) fn lower(now: Rlimit, soft: u64, hard: u64) -> Rlimit {
        let least = |wanted: u64, now: Option<u64>| Some(now.map_or(wanted, |now| now.min(wanted)));
        Rlimit { current: least(soft, now.current), maximum: least(hard, now.maximum) }
    }
}

/// On this system, limits of another process cannot be set.
#[cfg(not(target_os = "linux"))]
pub(crate) struct KernelLimits;

#[cfg(not(target_os = "linux"))]
impl KernelLimits {
    pub(crate) fn new(limits: &Limits) -> Result<Self, LaunchError> {
        let asked = [
            ("cpu", limits.cpu.is_some()),
            ("memory", limits.memory.is_some()),
            ("processes", limits.processes.is_some()),
            ("file", limits.file.is_some()),
        ];
        match asked.into_iter().find(|(_, asked)| *asked) {
            Some((name, _)) => Err(failed(name, io::ErrorKind::Unsupported)),
            None => Ok(Self),
        }
    }

    pub(crate) fn apply(&self, _pid: Pid) -> Result<(), LaunchError> {
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
