//! Starts processes in the sandbox that a config requires, and records with each the tier that it ran in.
//!
//! Where no sandbox works, it starts nothing, unless the config or a person has accepted that.

mod convert;
mod journal;
mod network;
mod plain;
mod registry;
mod toolchains;
mod tracker;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use askfirst::SandboxStatus;
use askfirst::ports::{
    Access, Launch, LaunchFailed, Launcher, Listener, ProcessEnd, ProcessOutput, RehearsedRun, SandboxReport,
    WriteScope,
};
use askfirst_sandbox::{
    Attempt, Descriptors, End, LaunchError, Limits, LoopbackNetwork, Network, OSProfile, Spec, Stop,
    Violation, attach_in_sandbox,
};

use crate::sandbox::{
    DerivedProfile, StartEnvironment, Toolchains, derive_os_sandbox_profile, probe_machine, untested_sandbox,
};
use askfirst_config::{Config, Settings, Tier};
use askfirst_rehearsal::Rehearsals;
use convert::{ended, output_listener, pass_stop, session_ended};
pub(crate) use convert::{finished, joined, spec};
pub(crate) use network::is_network;
pub use plain::PlainLauncher;
use plain::launch_plain;
use registry::LaunchRegistry;
pub(crate) use toolchains::with_explanation;
use toolchains::{NOT_EXECUTABLE, NOT_FOUND};
use tracker::CommandTracker;

/// How often a profile is derived again because a file was replaced during the setup of the sandbox.
const MAX_RETRIES: usize = 3;

/// Returns whether the sandbox of this machine meets a config. The first call starts a process to find out; later calls
/// cost nothing.
#[must_use]
pub fn sandbox_status(config: &Config) -> SandboxStatus {
    status(missing_sandbox(config), minimum_tier(config))
}

/// Returns a function that does the same as [`sandbox_status`] when it is called, which may be later or never.
pub fn lazy_sandbox_status(config: &Config) -> impl Fn() -> SandboxStatus + Send + Sync + use<> {
    let (missing, tier) = (missing_sandbox(config), minimum_tier(config));
    move || status(missing, tier)
}

/// Whether a config requires a sandbox, and none works.
#[must_use]
pub fn lacks_required_sandbox(config: &Config) -> bool {
    missing_sandbox(config) == MissingSandbox::Refuse && sandbox_status(config) == SandboxStatus::Demanded
}

/// Whether a config lets processes run without asking where no sandbox works.
#[must_use]
pub(crate) fn accepts_missing_sandbox(config: &Config) -> bool {
    missing_sandbox(config) == MissingSandbox::Accept
}

// Old names, for code that has not been updated yet.
#[doc(hidden)]
pub use self::{
    SandboxLauncher as WalledLauncher, lacks_required_sandbox as lacks_demanded_walls,
    lazy_sandbox_status as walls_when_asked, sandbox_status as walls,
};

fn status(missing: MissingSandbox, tier: askfirst_sandbox::Tier) -> SandboxStatus {
    match missing {
        MissingSandbox::Accept => SandboxStatus::Settled,
        MissingSandbox::Ask if probe_machine().sandbox(tier).is_err() => SandboxStatus::Missing,
        MissingSandbox::Refuse if probe_machine().sandbox(tier).is_err() => SandboxStatus::Demanded,
        MissingSandbox::Ask | MissingSandbox::Refuse => SandboxStatus::Settled,
    }
}

/// The setting of a config for machines where no sandbox works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingSandbox {
    Accept,
    Ask,
    Refuse,
}

fn missing_sandbox(config: &Config) -> MissingSandbox {
    let requires = |settings: &Settings| settings.sandbox.require_os_sandbox == Some(true);
    if requires(&config.main) || config.floors.iter().any(requires) {
        return MissingSandbox::Refuse;
    }
    match config.main.sandbox.require_os_sandbox {
        Some(false) => MissingSandbox::Accept,
        Some(true) | None => MissingSandbox::Ask,
    }
}

/// Returns the minimum tier of a config: that of the strictest layer that sets one.
pub(crate) fn minimum_tier(config: &Config) -> askfirst_sandbox::Tier {
    let floors = config.floors.iter().filter(|floor| floor.says("sandbox.os_sandbox_min"));
    let layers = std::iter::once(&config.main).chain(floors);
    match layers.map(|layer| layer.sandbox.os_sandbox_min).max() {
        Some(Tier::ContentOnly) => askfirst_sandbox::Tier::ContentOnly,
        Some(Tier::Full) | None => askfirst_sandbox::Tier::Full,
    }
}

/// Starts processes in the sandbox that a config requires.
pub struct SandboxLauncher {
    config: Config,
    running: LaunchRegistry,
    /// Created with the first process.
    tracker: OnceLock<Result<CommandTracker, String>>,
    /// The state folder, in which other processes of askfirst find what existed before a command.
    state: Option<PathBuf>,
    start: StartEnvironment,
    /// Found with the first process, and again after something has changed.
    toolchains: Mutex<Option<Arc<Toolchains>>>,
    /// Made for the first process on a view.
    rehearsals: OnceLock<Result<Rehearsals, String>>,
    /// Whether the session has a server. Without one, each process has a network of its own.
    shares_loopback: AtomicBool,
    network: OnceLock<Option<Arc<LoopbackNetwork>>>,
}

/// Whether the roots are searched after a process for protected names that it created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Search {
    Everything,
    /// Only these folders. The process wrote to views otherwise, and the decision about its changes looks at them.
    Only(Vec<PathBuf>),
}

/// The result of a run, with the violations that the kernel reported.
pub(crate) type RunResult<T> = Result<(T, Vec<Violation>), LaunchError>;

impl SandboxLauncher {
    /// Creates a launcher. It reads nothing before the first process.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let start = StartEnvironment::read();
        let state = Some(start.places.state.clone());
        let (running, tracker) = (LaunchRegistry::default(), OnceLock::new());
        let (rehearsals, network, shares_loopback) =
            (OnceLock::new(), OnceLock::new(), AtomicBool::new(false));
        Self {
            config,
            running,
            tracker,
            state,
            start,
            toolchains: Mutex::default(),
            rehearsals,
            shares_loopback,
            network,
        }
    }

    /// Uses another state folder than the user's own.
    #[must_use]
    pub fn with_state(self, state: PathBuf) -> Self {
        Self { state: Some(state), ..self }
    }

    /// Stops all running processes, and starts no more.
    pub fn stop(&self) {
        self.running.stop();
    }

    /// Stops all running processes, waits for them, and quarantines the protected names that they created.
    ///
    /// Returns sentences about the entries that were found after the stop, and about commands that did not end in time.
    pub fn end(&self, patience: Duration) -> Vec<String> {
        let (mut lines, left) = self.running.end(patience);
        if left > 0 {
            lines.push(format!(
                "{left} commands did not end in time; askfirst did not search what they created"
            ));
        }
        lines
    }

    /// Derives the profile of a process.
    ///
    /// # Errors
    ///
    /// Fails with the reason if nothing can be granted.
    pub fn profile(&self, access: Access) -> Result<OSProfile, LaunchFailed> {
        self.derive(access, self.tracker()?).map(|(derived, _)| derived.profile)
    }

    /// Returns what processes on views need, or why there is none.
    pub(crate) fn rehearsals(&self) -> Result<&Rehearsals, String> {
        let open = || match &self.state {
            Some(state) => Rehearsals::open(&self.config, state),
            None => Err("there is no state folder".to_owned()),
        };
        self.rehearsals.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    fn tracker(&self) -> Result<&CommandTracker, LaunchFailed> {
        let new = || CommandTracker::new(&self.config, self.state.as_deref()).map_err(|e| e.to_string());
        self.tracker.get_or_init(new).as_ref().map_err(|why| LaunchFailed(why.clone()))
    }

    /// Derives the profile of a process. First cleans up after earlier commands, and returns sentences about that.
    fn derive(
        &self,
        access: Access,
        tracker: &CommandTracker,
    ) -> Result<(DerivedProfile, Vec<String>), LaunchFailed> {
        let leftovers = tracker.retry_leftovers(&self.roots()).map_err(|left| {
            LaunchFailed(format!(
                "an earlier command left files that must be checked first: {left}; hint: check and remove them"
            ))
        })?;
        let derived = derive_os_sandbox_profile(&self.config, access, &tracker.protected, &tracker.links);
        let derived = derived.map(|derived| self.with_toolchains(derived));
        Ok((derived.map_err(|e| LaunchFailed(e.to_string()))?, leftovers))
    }

    /// Runs a program in the sandbox with the standard streams of this process, or not at all.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the program could not be started.
    pub fn attach(
        &self,
        launch: &Launch,
        descriptors: Descriptors,
    ) -> Result<(ProcessEnd, SandboxReport), LaunchFailed> {
        let sandbox = untested_sandbox(minimum_tier(&self.config));
        let sandbox = sandbox.map_err(|why| LaunchFailed(format!("no sandbox works here: {why}")))?;
        self.prepare();
        let spec = self.with_variables(&spec(launch)?);
        let mut hidden = None;
        let run = |derived: &DerivedProfile, stop: &Stop| {
            // The caller waits for the program and ends it.
            let limits = Limits { wall: None, ..derived.profile.limits.clone() };
            let profile = OSProfile { descriptors, limits, ..derived.profile.clone() };
            let result = sandbox.run(|sandbox| attach_in_sandbox(sandbox, &profile, &spec, stop));
            hidden = match &result {
                Ok((End::Exited(NOT_EXECUTABLE | NOT_FOUND), _)) => self.toolchains().name_hidden_entries(),
                Ok(_) => None,
                Err(failed) => self.explain_failure(failed, &spec, &profile),
            };
            result.map(|(end, violations)| (ended(end), violations))
        };
        let result = self.run_in_sandbox(launch.access, Search::Everything, run);
        let (ended, violations) = with_explanation(result, hidden)?;
        let tier = sandbox.proven().map(|sandbox| sandbox.tier().to_string()).unwrap_or_default();
        Ok((ended, SandboxReport { tier, violations }))
    }

    /// Derives a profile, runs, and cleans up. Starts again if a file was replaced during the setup of the sandbox.
    pub(crate) fn run_in_sandbox<T>(
        &self,
        access: Access,
        search: Search,
        mut run: impl FnMut(&DerivedProfile, &Stop) -> RunResult<T>,
    ) -> Result<(T, Vec<String>), LaunchFailed> {
        let _launch = self.running.begin().ok_or_else(session_ended)?;
        let journal_failed =
            |cause| LaunchFailed(format!("cannot update the journal of running commands: {cause}"));
        let tracker = self.tracker()?;
        let _command = tracker.register().map_err(journal_failed)?;
        let mut retries = 0;
        let mut reports = Vec::new();
        loop {
            let (mut derived, leftovers) = self.derive(access, tracker)?;
            reports.extend(leftovers);
            if let Search::Only(folders) = &search {
                derived.writable.clone_from(folders);
            }
            let is_needed = search != Search::Only(Vec::new());
            let baseline = is_needed.then(|| tracker.baseline(&derived.before, &self.roots()));
            let baseline = baseline.transpose().map_err(journal_failed)?;
            let result = self.running.with(|stop| run(&derived, stop));
            // Clean up even if the start failed or the end is unknown: the program may have run.
            let cleaned_up = baseline.map(|baseline| tracker.clean_up(&baseline, &derived, &self.roots()));
            let cleaned_up = cleaned_up.unwrap_or_default();
            self.running.report(&cleaned_up);
            reports.extend(cleaned_up);
            match result {
                Err(LaunchError::Sandbox { cause, .. }) if was_replaced(&cause) && retries < MAX_RETRIES => {
                    retries += 1
                }
                Err(failed) => {
                    let lines = reports.iter().map(|line| format!("; {line}"));
                    return Err(LaunchFailed(std::iter::once(failed.to_string()).chain(lines).collect()));
                }
                Ok((value, violations)) => {
                    let lines = violations.iter().map(|violation| self.describe(violation, &derived.profile));
                    return Ok((value, lines.chain(reports).collect()));
                }
            }
        }
    }

    fn roots(&self) -> Vec<PathBuf> {
        self.config.main.sandbox.paths.values().map(|path| path.root.clone()).collect()
    }

    /// Describes a violation, with the line of the config that would allow it, if there is one.
    fn describe(&self, violation: &Violation, profile: &OSProfile) -> String {
        let line = match violation.attempt {
            attempt if is_network(attempt) && profile.network == Network::Own => {
                let origin = self.config.main.origins.get("shell.network");
                let from = origin
                    .map_or("not set".to_owned(), |origin| format!("{} sets {}", origin.from, origin.value));
                format!("`shell.network: true` would allow it ({from})")
            }
            Attempt::Socket(_)
            | Attempt::DatagramPair
            | Attempt::Mount(_)
            | Attempt::Namespace
            | Attempt::Outside(_) => "the config cannot allow it".to_owned(),
        };
        format!("{violation}; {line}")
    }
}

/// Whether a setup failed because a file was replaced or removed meanwhile.
fn was_replaced(cause: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let replaced = [Errno::STALE, Errno::NOENT, Errno::LOOP, Errno::NOTDIR].map(Errno::raw_os_error);
    cause.raw_os_error().is_some_and(|number| replaced.contains(&number))
}

impl Launcher for SandboxLauncher {
    fn view_obstacle(&self) -> Option<Arc<str>> {
        self.obstacle()
    }

    fn rehearse(&self, launch: &Launch) -> Result<RehearsedRun, LaunchFailed> {
        self.run_on_views(launch)
    }

    fn share_loopback(&self) {
        self.shares_loopback.store(true, Ordering::Release);
    }

    fn launch(&self, launch: &Launch) -> Result<ProcessOutput, LaunchFailed> {
        self.start(launch, &spec(launch)?, None)
    }

    fn launch_heard(
        &self,
        launch: &Launch,
        listener: &Arc<dyn Listener>,
    ) -> Result<ProcessOutput, LaunchFailed> {
        self.start(
            launch,
            &Spec { listener: Some(output_listener(listener)), ..spec(launch)? },
            Some(listener),
        )
    }
}

impl SandboxLauncher {
    fn start(
        &self,
        launch: &Launch,
        spec: &Spec,
        listener: Option<&Arc<dyn Listener>>,
    ) -> Result<ProcessOutput, LaunchFailed> {
        let sandbox = match probe_machine().sandbox(minimum_tier(&self.config)) {
            Ok(sandbox) => sandbox,
            Err(why) => {
                return match (missing_sandbox(&self.config), launch.access) {
                    (
                        MissingSandbox::Accept,
                        Access::WithoutAsking | Access::Standing | Access::Remembered | Access::Approved,
                    )
                    | (MissingSandbox::Ask, Access::Standing | Access::Remembered | Access::Approved) => {
                        launch_plain(&self.running, spec, listener)
                    }
                    (MissingSandbox::Ask, Access::WithoutAsking | Access::Rehearsal) => {
                        Err(LaunchFailed(format!("no sandbox works here, and no one was asked: {why}")))
                    }
                    (MissingSandbox::Accept, Access::Rehearsal) => {
                        Err(LaunchFailed(format!("no sandbox works here, and no one was asked: {why}")))
                    }
                    (MissingSandbox::Refuse, _) => Err(LaunchFailed(format!(
                        "no sandbox works here, and the config requires one: {why}"
                    ))),
                };
            }
        };
        let spec = &self.with_variables(spec);
        let mut hidden = None;
        let run = |derived: &DerivedProfile, stop: &Stop| {
            pass_stop(listener, stop);
            let network = self.network_of(launch, derived.profile.network);
            let profile = OSProfile { network, ..derived.profile.clone() };
            let profile = &self.limit_writes(profile, launch.writes);
            let spec = &match launch.writes {
                WriteScope::Products => self.with_session_network(launch, sandbox, profile, spec),
                // It writes the real files, so no other process may have it do that.
                WriteScope::Everything => spec.clone(),
            };
            let result = askfirst_sandbox::launch_in_sandbox(sandbox, profile, spec, stop);
            hidden = match &result {
                Ok(outcome) => self.explain_outcome(&outcome.finished, spec, profile),
                Err(failed) => self.explain_failure(failed, spec, profile),
            };
            result.map(|outcome| (outcome.finished, outcome.violations))
        };
        let result = self.run_in_sandbox(launch.access, Search::Everything, run);
        let (outcome, violations) = with_explanation(result, hidden)?;
        Ok(finished(outcome, SandboxReport { tier: sandbox.tier().to_string(), violations }))
    }
}

#[cfg(test)]
#[path = "launcher/tests.rs"]
mod tests;
