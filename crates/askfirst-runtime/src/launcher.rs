//! Starts processes through the sandbox crate. No walls yet: it says so with every process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use askfirst::Walls;
use askfirst::ports::{Ended, Finished, Launch, LaunchFailed, Launcher, Walled};
use askfirst_sandbox::{Captured, End, Limits, Spec, Stdin, Stop};

use crate::config::{Config, Settings};

/// What holds about walls under a config. This launcher has none, so it depends on whether the owner accepts that.
#[must_use]
pub fn walls(config: &Config) -> Walls {
    let demanded = |settings: &Settings| settings.sandbox.require_os_sandbox == Some(true);
    if demanded(&config.main) || config.floors.iter().any(demanded) {
        return Walls::Demanded;
    }
    match config.main.sandbox.require_os_sandbox {
        Some(false) => Walls::Settled,
        Some(true) | None => Walls::Missing,
    }
}

/// Starts processes in a session of their own, without walls.
#[derive(Debug, Default)]
pub struct PlainLauncher {
    running: Mutex<Vec<Stop>>,
    stopped: AtomicBool,
}

impl PlainLauncher {
    /// Ends everything that runs, and lets nothing start any more.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter().for_each(Stop::stop);
    }
}

impl Launcher for PlainLauncher {
    fn launch(&self, launch: &Launch) -> Result<Finished, LaunchFailed> {
        let mut argv = launch.argv.iter().cloned();
        let program = argv.next().ok_or_else(|| LaunchFailed("there is no program to start".to_owned()))?;
        let spec = Spec {
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
        };
        let stop = Stop::new();
        self.running.lock().unwrap_or_else(PoisonError::into_inner).push(stop.clone());
        if self.stopped.load(Ordering::SeqCst) {
            stop.stop();
        }
        let finished = askfirst_sandbox::launch(&spec, &stop).map_err(|e| LaunchFailed(e.to_string()));
        stop.stop();
        self.running.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| !known.is_stopped());
        finished.map(|finished| Finished {
            ended: match finished.end {
                End::Exited(code) => Ended::Exited(code),
                End::Signalled(signal) => Ended::Signalled(signal),
                End::TimedOut => Ended::TimedOut,
                End::Stopped => Ended::Stopped,
            },
            dropped: finished.stdout.dropped + finished.stderr.dropped,
            stdout: joined(finished.stdout),
            stderr: [joined(finished.stderr), left_running(&finished.survivors)].concat(),
            walled: Walled { tier: "none".to_owned(), violations: Vec::new() },
        })
    }
}

/// What could not be ended is told, not hidden.
fn left_running(survivors: &[i32]) -> Vec<u8> {
    if survivors.is_empty() {
        return Vec::new();
    }
    format!("\n[{} processes could not be ended: {survivors:?}]\n", survivors.len()).into_bytes()
}

/// Head and tail with a line between them that says how much is missing.
fn joined(captured: Captured) -> Vec<u8> {
    let mut bytes = captured.head;
    if captured.dropped > 0 {
        bytes.extend(format!("\n... [{} bytes left out]\n", captured.dropped).into_bytes());
    }
    bytes.extend(captured.tail);
    bytes
}
