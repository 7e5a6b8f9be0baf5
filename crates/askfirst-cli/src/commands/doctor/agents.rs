//! Finds the coding agents on this machine, with their versions, and reports whether each asks askfirst.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use askfirst_agents::Agent;
use askfirst_agents::agent::HookFault;
use rustix::process::{Pid, Signal, kill_process_group};

use super::Health;
use crate::commands::hook::{HookState, Scope, hook_command, inspect};

/// How long an agent may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(5);

/// The most bytes of a version that are read.
const VERSION_BYTES: u64 = 200;

/// Reports each agent that is installed or that has a hook.
pub fn about_agents() -> anyhow::Result<Vec<(Health, String)>> {
    let started = Agent::ALL.map(|agent| (agent, program(agent).map(|path| VersionQuery::start(&path))));
    let mut findings = Vec::new();
    for (agent, query) in started {
        let version = query.map(VersionQuery::finish);
        let title = agent.facts().title;
        let mut active = false;
        for scope in [Scope::User, Scope::Project] {
            let found = inspect(agent, scope)?;
            if found.state == HookState::Missing {
                continue;
            }
            active |= found.state == HookState::Active;
            let mut warnings = found.warnings(agent);
            let mut is_good = found.state == HookState::Active && found.switches.is_empty();
            if found.state == HookState::Active
                && let Err(why) = try_hook(agent)
            {
                is_good = false;
                warnings.push(format!("the hook did not deny a trial event: {why}"));
            }
            let place = format!("{} config {}", scope.name(), found.path.display());
            let state = found.state.sentence();
            findings.push((
                if is_good { Health::Good } else { Health::Bad },
                format!("{title}: {state} ({place})"),
            ));
            findings
                .extend(warnings.into_iter().map(|warning| (Health::Weak, format!("{title}: {warning}"))));
        }
        let Some(version) = version else { continue };
        let state = if active {
            format!("{title} {version}: {}", on_faults(agent))
        } else {
            format!("{title} {version}: no hook; hint: `askfirst hook install {}`", agent.name())
        };
        findings.push((if active { Health::Good } else { Health::Weak }, state));
    }
    Ok(findings)
}

/// Sends the hook an event that it cannot read, which it must deny. No call runs.
fn try_hook(agent: Agent) -> anyhow::Result<()> {
    let mut command = Command::new(hook_command()?.program);
    command.args(["hook", agent.name()]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output()?;
    let is_denial = output.status.code() == Some(2) && !output.stderr.is_empty() && output.stdout.is_empty();
    anyhow::ensure!(is_denial, "{}", output.status);
    Ok(())
}

/// Returns the fate of a call if the hook gives no answer.
fn on_faults(agent: Agent) -> String {
    let facts = agent.facts();
    let faults = [("is missing", facts.missing), ("crashes", facts.crash), ("is too slow", facts.timeout)];
    let runs: Vec<&str> =
        faults.iter().filter(|(_, fault)| *fault == HookFault::Runs).map(|(name, _)| *name).collect();
    if runs.is_empty() {
        "denies a call if askfirst gives no answer".to_owned()
    } else {
        format!("runs a call if askfirst {}", runs.join(" or "))
    }
}

/// Finds the program of an agent on the `PATH`. A program below the current folder could belong to a project.
fn program(agent: Agent) -> Option<PathBuf> {
    let name = match agent {
        Agent::Cursor => "cursor-agent",
        Agent::Claude | Agent::Codex | Agent::Gemini | Agent::Copilot | Agent::Qwen | Agent::Opencode => {
            agent.name()
        }
    };
    let here = std::env::current_dir().ok()?;
    let search = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&search).filter(|folder| folder.is_absolute());
    let mut files = folders.map(|folder| folder.join(name));
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
            && path.canonicalize().is_ok_and(|real| here == Path::new("/") || !real.starts_with(&here))
    };
    files.find(is_program)
}

/// A program that prints its version.
struct VersionQuery {
    child: std::io::Result<Child>,
    output: Receiver<String>,
    until: Instant,
}

impl VersionQuery {
    fn start(program: &Path) -> Self {
        let mut command = Command::new(program);
        // In no project, and without a terminal to draw on.
        command.arg("--version").current_dir("/").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn();
        let (sender, output) = channel();
        let stdout = child.as_mut().ok().and_then(|child| child.stdout.take());
        if let Some(stdout) = stdout {
            // In a thread of its own: a process that the program started may keep the pipe open.
            std::thread::spawn(move || {
                let mut line = Vec::new();
                let read = BufReader::new(stdout.take(VERSION_BYTES)).read_until(b'\n', &mut line);
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                read.is_ok().then(|| sender.send(line))
            });
        }
        Self { child, output, until: Instant::now() + VERSION_LIMIT }
    }

    /// Returns the first line of the output, or why there is none.
    fn finish(self) -> String {
        let Ok(mut child) = self.child else { return "(does not start)".to_owned() };
        let line = self.output.recv_timeout(self.until.saturating_duration_since(Instant::now()));
        let mut has_ended = false;
        while !has_ended && Instant::now() < self.until {
            has_ended = child.try_wait().is_ok_and(|exit| exit.is_some());
            std::thread::sleep(Duration::from_millis(5));
        }
        if !has_ended {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
        }
        line.ok().filter(|line| !line.is_empty()).unwrap_or_else(|| "(does not print its version)".to_owned())
    }
}
