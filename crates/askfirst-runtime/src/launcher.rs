//! Starts processes behind the walls that a config asks for. Where they do not hold it starts nothing, unless the owner
//! or a person has accepted that; and it says with every process what stood around it.

mod ground;
mod journal;
mod running;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use askfirst::Walls;
use askfirst::ports::{Access, Ended, Finished, Launch, LaunchFailed, Launcher, Listener, Stream, Walled};
use askfirst_sandbox::{
    Captured, Descriptors, End, Heard, LaunchError, Limits, Network, OSProfile, Output, Spec, Stdin, Stop,
    Tried, Violation,
};

use crate::config::{Config, Places, Settings, Tier};
use crate::walls::{Derived, derive_os_sandbox_profile, machine};
use ground::Ground;
use running::Running;

/// How often a profile is made again because something moved while the walls were made.
const TRIES: usize = 3;

/// What holds about walls under a config. The first question starts a process to find out; later ones cost nothing.
#[must_use]
pub fn walls(config: &Config) -> Walls {
    standing(accepted(config), least(config))
}

/// The same for whoever asks later, and perhaps never.
pub fn walls_when_asked(config: &Config) -> impl Fn() -> Walls + Send + Sync + use<> {
    let (accepted, least) = (accepted(config), least(config));
    move || standing(accepted, least)
}

/// Whether a config demands walls that do not hold.
#[must_use]
pub fn lacks_demanded_walls(config: &Config) -> bool {
    accepted(config) == Accepted::Never && walls(config) == Walls::Demanded
}

/// Whether processes run unasked where no walls hold.
#[must_use]
pub(crate) fn accepts_missing_walls(config: &Config) -> bool {
    accepted(config) == Accepted::Always
}

fn standing(accepted: Accepted, least: askfirst_sandbox::Tier) -> Walls {
    match accepted {
        Accepted::Always => Walls::Settled,
        Accepted::IfAsked if machine().walls(least).is_err() => Walls::Missing,
        Accepted::Never if machine().walls(least).is_err() => Walls::Demanded,
        Accepted::IfAsked | Accepted::Never => Walls::Settled,
    }
}

/// Whether a process may run where no walls hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepted {
    Always,
    IfAsked,
    Never,
}

fn accepted(config: &Config) -> Accepted {
    let demanded = |settings: &Settings| settings.sandbox.require_os_sandbox == Some(true);
    if demanded(&config.main) || config.floors.iter().any(demanded) {
        return Accepted::Never;
    }
    match config.main.sandbox.require_os_sandbox {
        Some(false) => Accepted::Always,
        Some(true) | None => Accepted::IfAsked,
    }
}

/// The weakest tier that counts: that of the strictest layer which says one.
pub(crate) fn least(config: &Config) -> askfirst_sandbox::Tier {
    let floors = config.floors.iter().filter(|floor| floor.says("sandbox.os_sandbox_min"));
    let layers = std::iter::once(&config.main).chain(floors);
    match layers.map(|layer| layer.sandbox.os_sandbox_min).max() {
        Some(Tier::ContentOnly) => askfirst_sandbox::Tier::ContentOnly,
        Some(Tier::Full) | None => askfirst_sandbox::Tier::Full,
    }
}

/// Starts processes behind the walls of a config.
pub struct WalledLauncher {
    config: Config,
    running: Running,
    /// Made with the first process.
    ground: OnceLock<Result<Ground, String>>,
    /// Where it is noted for other processes what was there before a command.
    state: Option<PathBuf>,
}

/// What a run gave, and what the kernel told of.
type Told<T> = Result<(T, Vec<Violation>), LaunchError>;

impl WalledLauncher {
    /// Nothing is looked at before the first process.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let state = Some(Places::from_env().state);
        Self { config, running: Running::default(), ground: OnceLock::new(), state }
    }

    /// Ends everything that runs, and lets nothing start any more.
    pub fn stop(&self) {
        self.running.stop();
    }

    /// The same, and waits until what ran is over and what it made has been moved aside. Gives, in words, what was found
    /// after everything was stopped, and whether something was not over in time.
    pub fn end(&self, patience: Duration) -> Vec<String> {
        let (mut told, left) = self.running.end(patience);
        if left > 0 {
            told.push(format!("{left} commands did not end in time; what they made was not searched"));
        }
        told
    }

    /// What a process gets.
    ///
    /// # Errors
    /// Says why nothing can be granted.
    pub fn profile(&self, access: Access) -> Result<OSProfile, LaunchFailed> {
        self.derive(access, self.ground()?).map(|(derived, _)| derived.profile)
    }

    fn ground(&self) -> Result<&Ground, LaunchFailed> {
        let new = || Ground::new(&self.config, self.state.as_deref()).map_err(|e| e.to_string());
        self.ground.get_or_init(new).as_ref().map_err(|why| LaunchFailed(why.clone()))
    }

    /// What a process gets, and what was done first about what an earlier one left.
    fn derive(&self, access: Access, ground: &Ground) -> Result<(Derived, Vec<String>), LaunchFailed> {
        let settled = ground.settle(&self.roots()).map_err(|left| {
            LaunchFailed(format!(
                "an earlier command left something: {left}; hint: look at it and take it away"
            ))
        })?;
        let derived = derive_os_sandbox_profile(&self.config, access, &ground.protected, &ground.links);
        Ok((derived.map_err(|e| LaunchFailed(e.to_string()))?, settled))
    }

    /// Runs a program with this process's own streams, behind walls or not at all.
    ///
    /// # Errors
    /// Says why it could not be started.
    pub fn attach(&self, launch: &Launch, descriptors: Descriptors) -> Result<(Ended, Walled), LaunchFailed> {
        let spec = spec(launch)?;
        let walls = machine().walls(least(&self.config));
        let walls = walls.map_err(|why| LaunchFailed(format!("no walls hold: {why}")))?;
        let run = |derived: &Derived, stop: &Stop| {
            // Whoever waits for it ends it.
            let limits = Limits { wall: None, ..derived.profile.limits.clone() };
            let profile = OSProfile { descriptors, limits, ..derived.profile.clone() };
            let (end, violations) = askfirst_sandbox::attach_behind(walls, &profile, &spec, stop)?;
            Ok((ended(end), violations))
        };
        let (ended, violations) = self.behind(launch.access, run)?;
        Ok((ended, Walled { tier: walls.tier().to_string(), violations }))
    }

    /// Makes a profile, runs, and moves aside what appeared. Does so again if something moved meanwhile.
    fn behind<T>(
        &self,
        access: Access,
        mut run: impl FnMut(&Derived, &Stop) -> Told<T>,
    ) -> Result<(T, Vec<String>), LaunchFailed> {
        let _launching = self.running.begin().ok_or_else(ended_already)?;
        let unnoted = |cause| LaunchFailed(format!("it cannot be noted that a command runs: {cause}"));
        let ground = self.ground()?;
        let _aboard = ground.enter().map_err(unnoted)?;
        let mut tries = 0;
        let mut earlier = Vec::new();
        loop {
            let (derived, settled) = self.derive(access, ground)?;
            earlier.extend(settled);
            let since = ground.since(&derived.before, &self.roots()).map_err(unnoted)?;
            let done = self.running.with(|stop| run(&derived, stop));
            // Also where it could not be started, or nobody knows how it ended: something may have run.
            let moved_aside = ground.clean_up(&since, &derived, &self.roots());
            self.running.tell(&moved_aside);
            earlier.extend(moved_aside);
            match done {
                Err(LaunchError::Walls { cause, .. }) if moved(&cause) && tries < TRIES => tries += 1,
                Err(failed) => {
                    let told = earlier.iter().map(|line| format!("; {line}"));
                    return Err(LaunchFailed(std::iter::once(failed.to_string()).chain(told).collect()));
                }
                Ok((result, violations)) => {
                    let told = violations.iter().map(|violation| self.told(violation, &derived.profile));
                    return Ok((result, told.chain(earlier).collect()));
                }
            }
        }
    }

    fn roots(&self) -> Vec<PathBuf> {
        self.config.main.sandbox.paths.values().map(|path| path.root.clone()).collect()
    }

    /// A refusal, with the line of the config that would allow it, if one would.
    fn told(&self, violation: &Violation, profile: &OSProfile) -> String {
        let line = match violation.tried {
            tried if is_network(tried) && profile.network == Network::Own => {
                let said = self.config.main.origins.get("shell.network");
                let from =
                    said.map_or("not given".to_owned(), |said| format!("{} says {}", said.from, said.value));
                format!("`shell.network: true` would allow it ({from})")
            }
            Tried::Socket(_)
            | Tried::DatagramPair
            | Tried::Mount(_)
            | Tried::Namespace
            | Tried::Outside(_) => "no line of the config allows it".to_owned(),
        };
        format!("{violation}; {line}")
    }
}

/// Whether it would have gone through with a network.
fn is_network(tried: Tried) -> bool {
    use rustix::net::AddressFamily;
    let inet = [AddressFamily::INET, AddressFamily::INET6].map(|family| i32::from(family.as_raw()));
    match tried {
        Tried::Socket(family) => inet.contains(&family),
        Tried::Outside(_) => true,
        Tried::DatagramPair | Tried::Mount(_) | Tried::Namespace => false,
    }
}

/// Whether something was swapped, removed or replaced while the walls were made.
fn moved(cause: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let moved = [Errno::STALE, Errno::NOENT, Errno::LOOP, Errno::NOTDIR].map(Errno::raw_os_error);
    cause.raw_os_error().is_some_and(|number| moved.contains(&number))
}

impl Launcher for WalledLauncher {
    fn launch(&self, launch: &Launch) -> Result<Finished, LaunchFailed> {
        self.start(launch, &spec(launch)?, None)
    }

    fn launch_heard(&self, launch: &Launch, listener: &Arc<dyn Listener>) -> Result<Finished, LaunchFailed> {
        self.start(launch, &Spec { heard: Some(heard(listener)), ..spec(launch)? }, Some(listener))
    }
}

impl WalledLauncher {
    fn start(
        &self,
        launch: &Launch,
        spec: &Spec,
        listener: Option<&Arc<dyn Listener>>,
    ) -> Result<Finished, LaunchFailed> {
        let walls = match machine().walls(least(&self.config)) {
            Ok(walls) => walls,
            Err(why) => {
                return match (accepted(&self.config), launch.access) {
                    (Accepted::Always, Access::Unasked | Access::Standing | Access::Approved)
                    | (Accepted::IfAsked, Access::Standing | Access::Approved) => {
                        plain(&self.running, spec, listener)
                    }
                    (Accepted::IfAsked, Access::Unasked) => {
                        Err(LaunchFailed(format!("no walls hold, and nobody was asked: {why}")))
                    }
                    (Accepted::Never, Access::Unasked | Access::Standing | Access::Approved) => {
                        Err(LaunchFailed(format!("no walls hold, and the config demands them: {why}")))
                    }
                };
            }
        };
        let run = |derived: &Derived, stop: &Stop| {
            starts(listener, stop);
            let over = askfirst_sandbox::launch_behind(walls, &derived.profile, spec, stop)?;
            Ok((over.finished, over.violations))
        };
        let (over, violations) = self.behind(launch.access, run)?;
        Ok(finished(over, Walled { tier: walls.tier().to_string(), violations }))
    }
}

/// Starts processes in a session of their own, without walls.
#[derive(Debug, Default)]
pub struct PlainLauncher {
    running: Running,
}

impl PlainLauncher {
    /// Ends everything that runs, and lets nothing start any more.
    pub fn stop(&self) {
        self.running.stop();
    }
}

impl Launcher for PlainLauncher {
    fn launch(&self, launch: &Launch) -> Result<Finished, LaunchFailed> {
        plain(&self.running, &spec(launch)?, None)
    }

    fn launch_heard(&self, launch: &Launch, listener: &Arc<dyn Listener>) -> Result<Finished, LaunchFailed> {
        plain(&self.running, &Spec { heard: Some(heard(listener)), ..spec(launch)? }, Some(listener))
    }
}

/// The port's listener as the launcher knows one.
fn heard(listener: &Arc<dyn Listener>) -> Heard {
    let listener = Arc::clone(listener);
    Arc::new(move |output, bytes| {
        let stream = match output {
            Output::Stdout => Stream::Stdout,
            Output::Stderr => Stream::Stderr,
        };
        listener.wrote(stream, bytes);
    })
}

/// Tells a listener how to end what is about to start.
fn starts(listener: Option<&Arc<dyn Listener>>, stop: &Stop) {
    if let Some(listener) = listener {
        let stop = stop.clone();
        let end: Arc<dyn Fn() + Send + Sync> = Arc::new(move || stop.stop());
        listener.starts(&end);
    }
}

fn ended_already() -> LaunchFailed {
    LaunchFailed("the session has ended, so nothing more is started".to_owned())
}

fn plain(
    running: &Running,
    spec: &Spec,
    listener: Option<&Arc<dyn Listener>>,
) -> Result<Finished, LaunchFailed> {
    let _launching = running.begin().ok_or_else(ended_already)?;
    let over = running.with(|stop| {
        starts(listener, stop);
        askfirst_sandbox::launch(spec, stop)
    });
    let over = over.map_err(|e| LaunchFailed(e.to_string()))?;
    Ok(finished(over, Walled { tier: "none".to_owned(), violations: Vec::new() }))
}

fn spec(launch: &Launch) -> Result<Spec, LaunchFailed> {
    let mut argv = launch.argv.iter().cloned();
    let program: OsString =
        argv.next().ok_or_else(|| LaunchFailed("there is no program to start".to_owned()))?;
    Ok(Spec {
        program,
        args: argv.collect(),
        env: launch.env.clone(),
        folder: launch.folder.clone(),
        stdin: if launch.stdin.is_empty() { Stdin::Null } else { Stdin::Bytes(launch.stdin.clone()) },
        limits: Limits {
            wall: launch.wall,
            cpu: launch.cpu,
            memory: launch.memory,
            processes: launch.processes,
            file: launch.file,
            output: launch.output,
        },
        heard: None,
    })
}

fn ended(end: End) -> Ended {
    match end {
        End::Exited(code) => Ended::Exited(code),
        End::Signalled(signal) => Ended::Signalled(signal),
        End::TimedOut => Ended::TimedOut,
        End::Stopped => Ended::Stopped,
    }
}

fn finished(over: askfirst_sandbox::Finished, walled: Walled) -> Finished {
    let dropped = over.stdout.dropped + over.stderr.dropped;
    let told = walled.violations.iter().flat_map(|line| format!("\n[walls: {line}]").into_bytes());
    let mut stderr = [joined(over.stderr), left_running(&over.survivors)].concat();
    stderr.extend(told);
    if !walled.violations.is_empty() {
        stderr.push(b'\n');
    }
    Finished { ended: ended(over.end), dropped, stdout: joined(over.stdout), stderr, walled }
}

/// What could not be ended is told, not hidden.
fn left_running(survivors: &[i32]) -> Vec<u8> {
    if survivors.is_empty() {
        return Vec::new();
    }
    format!("\n[{} processes could not be ended: {survivors:?}]\n", survivors.len()).into_bytes()
}

/// Head and tail with a line between them that says how much is missing.
pub(crate) fn joined(captured: Captured) -> Vec<u8> {
    let mut bytes = captured.head;
    if captured.dropped > 0 {
        bytes.extend(format!("\n... [{} bytes left out]\n", captured.dropped).into_bytes());
    }
    bytes.extend(captured.tail);
    bytes
}

#[cfg(test)]
#[path = "launcher/tests.rs"]
mod tests;
