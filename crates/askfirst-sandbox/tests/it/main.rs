//! Tests with real processes: how programs start, what they get, what comes back, and that no process is left.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "these are tests"
)]

mod ends;
mod refusals;
mod starts;
mod streams;
mod together;

use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use askfirst_sandbox::{Capture, LaunchError, LaunchOutcome, Spec, Stop, launch};

/// Only a launch that hangs takes longer than this.
const HANGS: Duration = Duration::from_secs(120);

/// Returns `sh -c script` with these arguments, in `/`, with a `PATH`.
fn sh(script: &str, args: &[&str]) -> Spec {
    let mut spec = Spec::new("sh", "/");
    spec.args = ["-c", script, "sh"].iter().chain(args).map(OsString::from).collect();
    spec.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    spec
}

fn run(spec: Spec) -> LaunchOutcome {
    let finished = try_run(spec, &Stop::new()).unwrap();
    assert_eq!(finished.survivors, [0; 0]);
    finished
}

fn try_run(spec: Spec, stop: &Stop) -> Result<LaunchOutcome, LaunchError> {
    let ((sender, receiver), stop) = (mpsc::channel(), stop.clone());
    thread::spawn(move || sender.send(launch(&spec, &stop)).unwrap());
    receiver.recv_timeout(HANGS).expect("the launch hangs")
}

fn text(captured: &Capture) -> String {
    String::from_utf8(captured.whole().unwrap()).unwrap()
}

/// Returns a command that sleeps for an hour. Its number distinguishes it from those of other tests and other runs.
fn nap(number: u32) -> String {
    format!("sleep 3600.{:09}{number:03}", std::process::id())
}

/// Counts the processes with exactly these arguments.
fn running(words: &str) -> usize {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let lines = pids.filter_map(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").trim_end() == words).count()
}

/// For a test that changes its whole process: runs it again in a process of its own.
fn alone(test: &str, env: &[(&str, &str)]) -> Process {
    const VARIABLE: &str = "ASKFIRST_TEST_ALONE";
    if std::env::var(VARIABLE).is_ok_and(|name| name == test) {
        return Process::Own;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(VARIABLE, test)
        .envs(env.iter().copied());
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Process::Shared
}

#[derive(PartialEq, Eq)]
enum Process {
    /// The test runs in its own process and continues.
    Own,
    /// The test has passed in its own process.
    Shared,
}
