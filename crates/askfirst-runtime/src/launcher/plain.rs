//! Starts processes without a sandbox.

use std::sync::Arc;

use askfirst::ports::{Launch, LaunchFailed, Launcher, Listener, ProcessOutput, SandboxReport};
use askfirst_sandbox::Spec;

use super::convert::{finished, output_listener, pass_stop, session_ended, spec};
use super::registry::LaunchRegistry;

/// Starts processes in a session of their own, without a sandbox.
#[derive(Debug, Default)]
pub struct PlainLauncher {
    running: LaunchRegistry,
}

impl PlainLauncher {
    /// Stops all running processes, and starts no more.
    pub fn stop(&self) {
        self.running.stop();
    }
}

impl Launcher for PlainLauncher {
    fn launch(&self, launch: &Launch) -> Result<ProcessOutput, LaunchFailed> {
        launch_plain(&self.running, &spec(launch)?, None)
    }

    fn launch_heard(
        &self,
        launch: &Launch,
        listener: &Arc<dyn Listener>,
    ) -> Result<ProcessOutput, LaunchFailed> {
        launch_plain(
            &self.running,
            &Spec { listener: Some(output_listener(listener)), ..spec(launch)? },
            Some(listener),
        )
    }
}

pub(super) fn launch_plain(
    running: &LaunchRegistry,
    spec: &Spec,
    listener: Option<&Arc<dyn Listener>>,
) -> Result<ProcessOutput, LaunchFailed> {
    let _launch = running.begin().ok_or_else(session_ended)?;
    let outcome = running.with(|stop| {
        pass_stop(listener, stop);
        askfirst_sandbox::launch(spec, stop)
    });
    let outcome = outcome.map_err(|e| LaunchFailed(e.to_string()))?;
    Ok(finished(outcome, SandboxReport { tier: "none".to_owned(), violations: Vec::new() }))
}
