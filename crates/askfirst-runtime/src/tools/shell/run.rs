//! Runs the judged bytes through the launcher, with a shell that reads no startup file.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use askfirst::ports::{
    Access, CommitFailed, HeldChanges, Launch, Launcher, ProcessEnd, ProcessOutput, RehearsedRun, WriteScope,
};
use askfirst::record::CommitRecord;
use askfirst::{
    EffectsAnswer, EffectsPolicy, EffectsQuestion, Invocation, Refusal, RefusedChanges, RunFact, RunFactKind,
    ToolError,
};
use askfirst_config::{Limits, ShellConfig};
use serde_json::{Value, json};

use super::jobs::Jobs;
use super::wish::{CommandForm, ShellArguments, Wait};
use crate::blocking::offload;
use crate::tools::finished::result_of;
use crate::views;

/// Variables that a shell acts on before it runs a command. askfirst never passes them on.
const NEVER_PASSED: [&str; 9] =
    ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "CDPATH", "PROMPT_COMMAND", "POSIXLY_CORRECT"];

/// Starts processes as the config says.
pub(super) struct Runner {
    launcher: Arc<dyn Launcher>,
    limits: Limits,
    env: Vec<(OsString, OsString)>,
    jobs: Jobs,
    /// The commands that a person let run as servers.
    servers: Mutex<Vec<ShellArguments>>,
}

impl Runner {
    pub(super) fn new(shell: &ShellConfig, launcher: Arc<dyn Launcher>) -> Self {
        let passed =
            |name: &&String| !NEVER_PASSED.contains(&name.as_str()) && !name.starts_with("BASH_FUNC_");
        let given = shell.env_pass.iter().filter(passed);
        let env = given.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
        Self { launcher, limits: shell.limits.clone(), env, jobs: Jobs::default(), servers: Mutex::default() }
    }

    fn launch_of(&self, base: &Path, wish: &ShellArguments, invocation: &Invocation) -> Launch {
        let argv: Vec<OsString> = match &wish.what {
            CommandForm::Line => {
                let words = ["bash", "--noprofile", "--norc", "-c", &wish.text];
                words.into_iter().map(OsString::from).collect()
            }
            CommandForm::Words(words) => words.iter().map(OsString::from).collect(),
        };
        let wall = wish.timeout.map_or(self.limits.wall, |timeout| timeout.min(self.limits.wall));
        Launch {
            argv,
            env: self.env.clone(),
            folder: base.join(&wish.folder),
            stdin: wish.stdin.clone().into_bytes(),
            wall: Some(wall),
            cpu: Some(self.limits.cpu),
            memory: Some(self.limits.memory),
            processes: Some(self.limits.processes),
            file: Some(self.limits.file),
            output: usize::try_from(self.limits.output).unwrap_or(usize::MAX),
            access: invocation.access,
            accepted: Vec::new(),
            writes: self.writes_of(wish),
        }
    }

    /// Returns what a command may write. One in the background runs on the real files, so that a server notices changes.
    pub(super) fn writes_of(&self, wish: &ShellArguments) -> WriteScope {
        match wish.wait {
            Wait::No if self.launcher.view_obstacle().is_none() => WriteScope::Products,
            Wait::No | Wait::ForEnd => WriteScope::Everything,
        }
    }

    /// Runs a command to its end, or starts it in the background.
    pub(super) async fn run(
        &self,
        base: &Path,
        wish: ShellArguments,
        accepted: Vec<RunFactKind>,
        invocation: Invocation,
    ) -> Result<Value, ToolError> {
        let launch = Launch { accepted, ..self.launch_of(base, &wish, &invocation) };
        match wish.wait {
            Wait::No => self.serve(launch, invocation),
            // Such a run may do less than a rehearsal, so it needs no second yes.
            Wait::ForEnd if launch.access == Access::Rehearsal && self.servers().contains(&wish) => {
                self.serve(as_server(launch, self.limits.wall), invocation)
            }
            Wait::ForEnd => match run_or_serve(&self.launcher, launch, &wish.text, &invocation).await? {
                Ran::ToEnd(result) => Ok(result),
                Ran::Server(launch) => {
                    self.servers().push(wish);
                    self.serve(as_server(launch, self.limits.wall), invocation)
                }
            },
        }
    }

    /// Starts a command in the background.
    fn serve(&self, launch: Launch, invocation: Invocation) -> Result<Value, ToolError> {
        self.launcher.share_loopback();
        let id = self.jobs.start(Arc::clone(&self.launcher), launch, invocation)?;
        Ok(json!({"id": id, "state": "running"}))
    }

    fn servers(&self) -> MutexGuard<'_, Vec<ShellArguments>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a call about a job. Returns `None` if the call is about something else.
    pub(super) async fn about_jobs(&self, invocation: &Invocation) -> Option<Result<Value, ToolError>> {
        let (tool, args) = (invocation.call.tool_name.as_str(), invocation.args());
        if !is_about_jobs(tool) {
            return None;
        }
        let id = args.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = args.keys().find(|key| *key != "id" && !(tool == "shell_output" && *key == "wait"));
        if let Some(key) = known {
            return Some(Err(ToolError::BadArgs(format!("unknown argument `{key}`"))));
        }
        let wait = args.get("wait").and_then(Value::as_f64).unwrap_or(0.0).clamp(0.0, 600.0);
        Some(match tool {
            "shell_stop" => self.jobs.stop(invocation.thread, &id).await,
            _ => {
                let wait = Duration::from_secs_f64(wait);
                self.jobs.output(invocation.thread, &id, wait).await
            }
        })
    }
}

/// How often a command runs because a person allowed more access, or because its files changed during the question.
const MAX_RUNS: usize = 4;

/// The way in which a run ended.
enum Ran {
    /// The command ended, with this result.
    ToEnd(Value),
    /// A person lets the command run on the real files.
    Server(Launch),
}

/// Runs a command to its end: on a view if that is possible, else on the real files.
pub(crate) async fn run_to_end(
    launcher: Arc<dyn Launcher>,
    launch: Launch,
    command: &str,
    invocation: &Invocation,
) -> Result<Value, ToolError> {
    match run_or_serve(&launcher, launch, command, invocation).await? {
        Ran::ToEnd(result) => Ok(result),
        Ran::Server(launch) => {
            launcher.share_loopback();
            let wall = launch.wall.unwrap_or_default();
            on_real_files(launcher, as_server(launch, wall), invocation).await
        }
    }
}

/// Runs a command, unless a person says that it is a server.
async fn run_or_serve(
    launcher: &Arc<dyn Launcher>,
    launch: Launch,
    command: &str,
    invocation: &Invocation,
) -> Result<Ran, ToolError> {
    if launch.access == Access::Rehearsal || launcher.view_obstacle().is_none() {
        return on_view(launcher, launch, command, invocation).await;
    }
    on_real_files(Arc::clone(launcher), launch, invocation).await.map(Ran::ToEnd)
}

/// Returns the launch of a server that a person lets run. It may do less than a rehearsal: the network of the session is
/// its only one, and it writes only build output.
fn as_server(launch: Launch, wall: Duration) -> Launch {
    Launch { writes: WriteScope::Products, accepted: Vec::new(), wall: Some(wall), ..launch }
}

async fn on_real_files(
    launcher: Arc<dyn Launcher>,
    launch: Launch,
    invocation: &Invocation,
) -> Result<Value, ToolError> {
    match offload(invocation.thread, move || launcher.launch(&launch)).await {
        Some(Ok(finished)) => {
            invocation.report_sandbox(finished.walled.clone());
            result_of(&finished)
        }
        Some(Err(e)) => Err(ToolError::Failed(e.to_string())),
        None => Err(ToolError::Failed("cannot start a thread for this call".to_owned())),
    }
}

/// Runs a command on a view, and makes its changes if the decision about them allows it.
async fn on_view(
    launcher: &Arc<dyn Launcher>,
    mut launch: Launch,
    command: &str,
    invocation: &Invocation,
) -> Result<Ran, ToolError> {
    let basis = views::basis(launch.access);
    let no_thread = || ToolError::Failed("cannot start a thread for this call".to_owned());
    for _ in 0..MAX_RUNS {
        let (runner, job) = (Arc::clone(launcher), launch.clone());
        let run = offload(invocation.thread, move || runner.rehearse(&job)).await.ok_or_else(no_thread)?;
        let RehearsedRun { output, held } = run.map_err(|e| ToolError::Failed(e.to_string()))?;
        invocation.report_sandbox(output.walled.clone());
        if output.ended == ProcessEnd::Stopped {
            // The session is ending, so no one decides about half of a command.
            return result_of(&output).map(Ran::ToEnd);
        }
        let effects = held.effects().clone();
        let kinds = effects.facts.iter().map(RunFact::kind).collect::<Vec<_>>();
        let counts = askfirst_rehearsal::counts(&effects);
        let (tool, text, args) =
            (invocation.call.tool_name.clone(), command.to_owned(), invocation.args().clone());
        let shown = Arc::clone(&held);
        let question = EffectsQuestion {
            tool_name: tool.clone(),
            effects,
            policy: EffectsPolicy { accepted: launch.accepted.clone(), ..held.policy(basis) },
            request: Box::new(move |effects, judgement| {
                askfirst_rehearsal::request(
                    &tool,
                    &text,
                    &args,
                    effects,
                    judgement,
                    &shown.products(),
                    || shown.present(),
                )
            }),
        };
        match invocation.settle_effects(question).await {
            EffectsAnswer::Nothing => return result_of(&output).map(Ran::ToEnd),
            EffectsAnswer::RunAgain if kinds.contains(&RunFactKind::RealFiles) => {
                let (runner, job) = (Arc::clone(launcher), Launch { access: Access::Approved, ..launch });
                let run =
                    offload(invocation.thread, move || runner.launch(&job)).await.ok_or_else(no_thread)?;
                return result_of(&run.map_err(|e| ToolError::Failed(e.to_string()))?).map(Ran::ToEnd);
            }
            EffectsAnswer::RunAgain if kinds.contains(&RunFactKind::Server) => {
                return Ok(Ran::Server(launch));
            }
            EffectsAnswer::RunAgain => launch.accepted.extend(kinds),
            EffectsAnswer::Discard(refusal) => return Err(discarded(refusal, &output, &kinds)),
            EffectsAnswer::Commit(permit) => {
                let changes = Arc::clone(&held);
                let commit = offload(invocation.thread, move || changes.commit(permit)).await;
                match commit.ok_or_else(no_thread)? {
                    Ok(commits) => {
                        return committed(invocation, &*held, &commits, &counts, &output).map(Ran::ToEnd);
                    }
                    Err(CommitFailed::Conflict(why)) if launch.accepted.contains(&RunFactKind::Network) => {
                        return Err(ToolError::Failed(format!(
                            "its changes were not made, because the files have changed meanwhile: {why}; it ran \
                             with the network, so askfirst does not run it again on its own"
                        )));
                    }
                    Err(CommitFailed::Conflict(_)) => {}
                    Err(CommitFailed::Failed(why)) => {
                        return Err(ToolError::Failed(format!("its changes were not made: {why}")));
                    }
                }
            }
        }
    }
    Err(ToolError::Failed(
        "the files kept changing while askfirst decided about the command; nothing was changed".to_owned(),
    ))
}

/// The result of a command whose changes were made.
fn committed(
    invocation: &Invocation,
    held: &dyn HeldChanges,
    commits: &[CommitRecord],
    counts: &str,
    output: &ProcessOutput,
) -> Result<Value, ToolError> {
    let ids: Vec<String> = commits.iter().map(|commit| commit.commit.clone()).collect();
    for commit in commits {
        invocation.record_commit(commit.clone()).map_err(|e| ToolError::Unrecorded(e.to_string()))?;
    }
    held.mark_logged(commits);
    let changes = format!("{counts}; `askfirst undo {}` restores them", ids.join(" "));
    let add = |result: &mut Value| {
        if let Some(map) = result.as_object_mut() {
            map.insert("changes".to_owned(), changes.into());
        }
    };
    match result_of(output) {
        Ok(mut result) => {
            add(&mut result);
            Ok(result)
        }
        Err(ToolError::Ended { message, mut result }) => {
            add(&mut result);
            Err(ToolError::Ended { message, result })
        }
        failed @ Err(_) => failed,
    }
}

/// The refusal of a command whose changes were discarded. If it met a limit of the view, its output is no result.
fn discarded(refusal: Refusal, output: &ProcessOutput, kinds: &[RunFactKind]) -> ToolError {
    let output = match result_of(output) {
        Ok(result) | Err(ToolError::Ended { result, .. }) => Some(result).filter(|_| kinds.is_empty()),
        Err(_) => None,
    };
    let reason = format!("the command ran on a copy, and its changes were not kept: {}", refusal.reason);
    let (output, changes) = (output.map(Box::new), Some(RefusedChanges::Discarded));
    ToolError::Discarded(Box::new(Refusal { reason, output, changes, ..refusal }))
}

/// Returns whether a tool is about background commands of this session.
pub(super) fn is_about_jobs(tool: &str) -> bool {
    matches!(tool, "shell_output" | "shell_stop")
}
