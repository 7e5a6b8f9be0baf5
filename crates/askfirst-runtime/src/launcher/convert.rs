//! Converts launches, listeners and outcomes between the port of the core and the sandbox crate.

use std::ffi::OsString;
use std::sync::Arc;

use askfirst::ports::{
    Launch, LaunchFailed, Listener, ProcessEnd, ProcessOutput, SandboxReport, Stream, WriteScope,
};
use askfirst_sandbox::{Capture, End, Lasts, Limits, Output, OutputListener, Spec, Stdin, Stop};

/// Converts a listener of the port to a listener of the sandbox crate.
pub(super) fn output_listener(listener: &Arc<dyn Listener>) -> OutputListener {
    let listener = Arc::clone(listener);
    Arc::new(move |output, bytes| {
        let stream = match output {
            Output::Stdout => Stream::Stdout,
            Output::Stderr => Stream::Stderr,
        };
        listener.wrote(stream, bytes);
    })
}

/// Gives a listener the means to stop the process that is about to start.
pub(super) fn pass_stop(listener: Option<&Arc<dyn Listener>>, stop: &Stop) {
    if let Some(listener) = listener {
        let stop = stop.clone();
        let end: Arc<dyn Fn() + Send + Sync> = Arc::new(move || stop.stop());
        listener.starts(&end);
    }
}

pub(super) fn session_ended() -> LaunchFailed {
    LaunchFailed("the session has ended, so no more commands are started".to_owned())
}

pub(crate) fn spec(launch: &Launch) -> Result<Spec, LaunchFailed> {
    let mut argv = launch.argv.iter().cloned();
    let program: OsString =
        argv.next().ok_or_else(|| LaunchFailed("the program name is missing".to_owned()))?;
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
        network: None,
        lasts: match launch.writes {
            WriteScope::Everything => Lasts::Program,
            // A server may be left behind by the shell that starts it.
            WriteScope::Products => Lasts::AllProcesses,
        },
        listener: None,
    })
}

pub(super) fn ended(end: End) -> ProcessEnd {
    match end {
        End::Exited(code) => ProcessEnd::Exited(code),
        End::Signalled(signal) => ProcessEnd::Signalled(signal),
        End::TimedOut => ProcessEnd::TimedOut,
        End::Stopped => ProcessEnd::Stopped,
    }
}

pub(crate) fn finished(outcome: askfirst_sandbox::LaunchOutcome, report: SandboxReport) -> ProcessOutput {
    let dropped = outcome.stdout.dropped + outcome.stderr.dropped;
    let lines = report.violations.iter().flat_map(|line| format!("\n[sandbox: {line}]").into_bytes());
    let mut stderr = [joined(outcome.stderr), survivors_line(&outcome.survivors)].concat();
    stderr.extend(lines);
    if !report.violations.is_empty() {
        stderr.push(b'\n');
    }
    ProcessOutput {
        ended: ended(outcome.end),
        dropped,
        stdout: joined(outcome.stdout),
        stderr,
        walled: report,
    }
}

/// Reports processes that could not be killed.
fn survivors_line(survivors: &[i32]) -> Vec<u8> {
    if survivors.is_empty() {
        return Vec::new();
    }
    format!("\n[{} processes could not be killed: {survivors:?}]\n", survivors.len()).into_bytes()
}

/// Joins head and tail, with a line between them that says how many bytes were left out.
pub(crate) fn joined(captured: Capture) -> Vec<u8> {
    let mut bytes = captured.head;
    if captured.dropped > 0 {
        bytes.extend(format!("\n... [{} bytes left out]\n", captured.dropped).into_bytes());
    }
    bytes.extend(captured.tail);
    bytes
}
