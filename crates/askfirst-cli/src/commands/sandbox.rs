//! `sandbox`: runs a program in the OS sandbox of the config. The flags only remove access.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use anyhow::{Context, bail};
use askfirst::ports::{Access, Launch, ProcessEnd, WriteScope};
use askfirst_config::{Config, OSProfile as Narrower, Settings, ShellConfig};
use askfirst_runtime::launcher::SandboxLauncher;
use askfirst_runtime::sandbox::{Denial, Descriptors, Grant, Network, OSProfile, start_helper_early};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use crate::args::{Common, SandboxFlags, Switch};
use crate::exit::Exit;
use crate::print::err;
use crate::session::read_config;

/// The exit code if the program could not be started.
const NOT_STARTED: u8 = 125;

/// Runs the program and returns its exit code.
pub fn sandbox(common: &Common, flags: &SandboxFlags, command: &[OsString]) -> anyhow::Result<Exit> {
    if !flags.tty {
        start_helper_early();
    }
    let mut config = read_config(common)?;
    let folder = std::env::current_dir().context("cannot find the working directory")?;
    let shell = config.main.shell.clone().unwrap_or_default();
    narrow(&mut config, flags)?;
    let launcher = Arc::new(SandboxLauncher::new(config));
    let descriptors = if flags.tty { Descriptors::Terminal } else { Descriptors::Standard };
    let ended_by = end_on_signals(&launcher, descriptors)?;
    let outcome = launcher.attach(&launch(command, folder, &shell), descriptors);
    let ended_by = match ended_by.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(u8::try_from(128 + signal).unwrap_or(1)),
    };
    match outcome {
        Ok((ended, report)) => {
            report.violations.iter().for_each(|line| err(&format!("sandbox: {line}")));
            let ended_by = ended_by.filter(|_| ended == ProcessEnd::Stopped);
            Ok(Exit::Child(ended_by.unwrap_or_else(|| code(ended))))
        }
        Err(error) => {
            err(&format!("error: {error}"));
            Ok(Exit::Child(ended_by.unwrap_or(NOT_STARTED)))
        }
    }
}

/// Ends the program on the first signal, and this process on the second. After the first, askfirst still searches the
/// new files. With a terminal, only the program gets the signals of its keys. Returns the variable that gets the signal.
fn end_on_signals(
    launcher: &Arc<SandboxLauncher>,
    descriptors: Descriptors,
) -> anyhow::Result<Arc<AtomicI32>> {
    let (keys, ending): (&[i32], &[i32]) = match descriptors {
        Descriptors::Standard => (&[], &[SIGINT, SIGQUIT, SIGTERM, SIGHUP]),
        Descriptors::Terminal => (&[SIGINT, SIGQUIT, SIGTSTP], &[SIGTERM, SIGHUP]),
    };
    for signal in keys {
        signal_hook::flag::register(*signal, Arc::new(AtomicBool::new(false)))?;
    }
    let ignored = ignored();
    let ending = ending.iter().filter(|signal| ignored & (1 << (**signal - 1)) == 0);
    let mut signals = Signals::new(ending).context("cannot handle signals")?;
    let ended_by = Arc::new(AtomicI32::new(0));
    let (noted, launcher) = (Arc::clone(&ended_by), Arc::clone(launcher));
    std::thread::Builder::new().name("askfirst-signals".to_owned()).spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            noted.store(signal, Ordering::SeqCst);
            launcher.stop();
        }
    })?;
    Ok(ended_by)
}

/// Returns the signals that this process ignores since its start, for example under `nohup`: one bit per signal.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}

/// Adds the flags as a floor. Fails if a flag requests more than the config grants.
fn narrow(config: &mut Config, flags: &SandboxFlags) -> anyhow::Result<()> {
    if flags.read.is_empty() && flags.write.is_empty() && flags.network.is_none() {
        return Ok(());
    }
    let real =
        |path: &PathBuf| path.canonicalize().with_context(|| format!("cannot resolve `{}`", path.display()));
    let (read, write): (Vec<PathBuf>, Vec<PathBuf>) = (
        flags.read.iter().map(real).collect::<Result<_, _>>()?,
        flags.write.iter().map(real).collect::<Result<_, _>>()?,
    );
    let granted = SandboxLauncher::new(config.clone()).profile(Access::Approved)?;
    if let Some(path) = read.iter().find(|path| is_denied(&granted, path, Denial::All)) {
        bail!("`{}` is protected: no program may read it, or askfirst cannot search it", path.display());
    }
    if let Some(path) = write.iter().find(|path| is_denied(&granted, path, Denial::Write)) {
        bail!("`{}` is protected: no program may write it", path.display());
    }
    if let Some(path) = read.iter().find(|path| !reads(&granted, path)) {
        bail!("the config does not grant reading `{}`; hint: add a root that contains it", path.display());
    }
    if let Some(path) = write.iter().find(|path| !writes(&granted, path)) {
        bail!("the config does not grant writing `{}`; hint: add a root with `mode: rw`", path.display());
    }
    if flags.network == Some(Switch::On) && granted.network == Network::Own {
        bail!("the config does not grant network access; hint: set `shell.network: true`");
    }
    let given = |paths: Vec<PathBuf>| (!paths.is_empty()).then_some(paths);
    // A writable path is readable too.
    let read = given(read).map(|read| [read, write.clone()].concat());
    let mut floor = Settings::default();
    floor.sandbox.os_profile = Some(Narrower {
        read,
        write: given(write),
        network: flags.network.map(|network| network == Switch::On),
    });
    config.floors.push(floor);
    Ok(())
}

fn innermost<'a>(grants: impl Iterator<Item = &'a Grant>, path: &Path) -> usize {
    let around = grants.filter(|grant| path.starts_with(&grant.path));
    around.map(|grant| grant.path.components().count()).max().unwrap_or(0)
}

/// Whether the profile denies at least this much of a path.
fn is_denied(profile: &OSProfile, path: &Path, least: Denial) -> bool {
    profile.denied.iter().any(|denied| path.starts_with(&denied.path) && denied.what >= least)
}

fn reads(profile: &OSProfile, path: &Path) -> bool {
    innermost(profile.readable.iter().chain(&profile.writable), path) > 0
}

fn writes(profile: &OSProfile, path: &Path) -> bool {
    innermost(profile.writable.iter(), path) > innermost(profile.readable.iter(), path)
}

fn launch(command: &[OsString], folder: PathBuf, shell: &ShellConfig) -> Launch {
    let env = shell.env_pass.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    Launch {
        argv: command.to_vec(),
        env: env.collect(),
        folder,
        stdin: Vec::new(),
        wall: None,
        cpu: Some(shell.limits.cpu),
        memory: Some(shell.limits.memory),
        processes: Some(shell.limits.processes),
        file: Some(shell.limits.file),
        output: 0,
        access: Access::Approved,
        accepted: Vec::new(),
        writes: WriteScope::Everything,
    }
}

/// Returns the exit code that a shell would report.
fn code(ended: ProcessEnd) -> u8 {
    match ended {
        ProcessEnd::Exited(code) => u8::try_from(code).unwrap_or(1),
        ProcessEnd::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(1),
        ProcessEnd::TimedOut | ProcessEnd::Stopped => 137,
    }
}
