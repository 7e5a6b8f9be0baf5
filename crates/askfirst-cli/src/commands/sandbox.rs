//! `sandbox`: any program behind the walls that the config sets up. Its flags only take away.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use anyhow::{Context, bail};
use askfirst::ports::{Access, Ended, Launch};
use askfirst_config::{Config, OSProfile as Narrower, Settings, ShellConfig};
use askfirst_runtime::launcher::WalledLauncher;
use askfirst_runtime::walls::{Denial, Descriptors, Grant, Network, OSProfile};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use crate::args::{Common, SandboxFlags, Switch};
use crate::exit::Exit;
use crate::print::err;
use crate::session::read_config;

/// The code if the program could not be started.
const NOT_STARTED: u8 = 125;

/// Runs the program, and ends as it does.
pub fn sandbox(common: &Common, flags: &SandboxFlags, command: &[OsString]) -> anyhow::Result<Exit> {
    let mut config = read_config(common)?;
    let folder = std::env::current_dir().context("the working folder is gone")?;
    let shell = config.main.shell.clone().unwrap_or_default();
    narrow(&mut config, flags)?;
    let launcher = Arc::new(WalledLauncher::new(config));
    let descriptors = if flags.tty { Descriptors::Terminal } else { Descriptors::Standard };
    let told = end_on_signals(&launcher, descriptors)?;
    let outcome = launcher.attach(&launch(command, folder, &shell), descriptors);
    let told = match told.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(u8::try_from(128 + signal).unwrap_or(1)),
    };
    match outcome {
        Ok((ended, walled)) => {
            walled.violations.iter().for_each(|line| err(&format!("walls: {line}")));
            let told = told.filter(|_| ended == Ended::Stopped);
            Ok(Exit::Child(told.unwrap_or_else(|| code(ended))))
        }
        Err(error) => {
            err(&format!("error: {error}"));
            Ok(Exit::Child(told.unwrap_or(NOT_STARTED)))
        }
    }
}

/// Told to end, it ends the program first, and what that made is searched; a second signal ends it at once. With a
/// terminal, its keys are for the program, and end nothing else. Gives where the signal is noted.
fn end_on_signals(
    launcher: &Arc<WalledLauncher>,
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
    let mut signals = Signals::new(ending).context("signals cannot be watched")?;
    let told = Arc::new(AtomicI32::new(0));
    let (noted, launcher) = (Arc::clone(&told), Arc::clone(launcher));
    std::thread::Builder::new().name("askfirst-signals".to_owned()).spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            noted.store(signal, Ordering::SeqCst);
            launcher.stop();
        }
    })?;
    Ok(told)
}

/// The signals that whoever started this wants to be ignored, as `nohup` does: one bit for each.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}

/// Adds the flags as a layer that can only make it stricter. What the config does not grant is an error.
fn narrow(config: &mut Config, flags: &SandboxFlags) -> anyhow::Result<()> {
    let real = |path: &PathBuf| {
        path.canonicalize().with_context(|| format!("`{}` cannot be looked up", path.display()))
    };
    let (read, write): (Vec<PathBuf>, Vec<PathBuf>) = (
        flags.read.iter().map(real).collect::<Result<_, _>>()?,
        flags.write.iter().map(real).collect::<Result<_, _>>()?,
    );
    let granted = WalledLauncher::new(config.clone()).profile(Access::Approved)?;
    if let Some(path) = read.iter().find(|path| is_denied(&granted, path, Denial::All)) {
        bail!("`{}` is protected: it is never read, or cannot be searched", path.display());
    }
    if let Some(path) = write.iter().find(|path| is_denied(&granted, path, Denial::Write)) {
        bail!("`{}` is protected: it is never written", path.display());
    }
    if let Some(path) = read.iter().find(|path| !reads(&granted, path)) {
        bail!("`{}` is not readable by the config; hint: it lies in no root that is", path.display());
    }
    if let Some(path) = write.iter().find(|path| !writes(&granted, path)) {
        bail!("`{}` is not writable by the config; hint: it lies in no root with `mode: rw`", path.display());
    }
    if flags.network == Some(Switch::On) && granted.network == Network::Own {
        bail!("there is no network by the config; hint: `shell.network` is not true");
    }
    let given = |paths: Vec<PathBuf>| (!paths.is_empty()).then_some(paths);
    // What is written can also be read.
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

/// Whether so much of a place is denied inside of what is granted.
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
    }
}

/// As a shell says it.
fn code(ended: Ended) -> u8 {
    match ended {
        Ended::Exited(code) => u8::try_from(code).unwrap_or(1),
        Ended::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(1),
        Ended::TimedOut | Ended::Stopped => 137,
    }
}
