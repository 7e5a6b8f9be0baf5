//! Runs processes on copy-on-write views of the folders that they may write, and holds their changes back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::ports::{
    Access, Launch, LaunchFailed, ProcessEnd, ProcessOutput, RehearsedRun, SandboxReport, WriteScope,
};
use askfirst::{RunBasis, RunFact, RunFactKind};
use askfirst_rehearsal::{CollectedRun, Rehearsals};
use askfirst_sandbox::{
    Attempt, End, Grant, LaunchError, OSProfile, RunFacts, SandboxRun, Stop, Tier, Violation,
};

use crate::launcher::{SandboxLauncher, Search, finished, is_network, spec, with_explanation};
use crate::sandbox::{DerivedProfile, probe_machine};
use crate::tools::finished::quoted;

/// The words about a program that wrote to package caches.
const LOST_IN_CACHES: &str = "it wrote to package caches, on a layer that is thrown away";

/// How often a process runs again because another commit changed a folder meanwhile.
const MAX_TRIES: usize = 3;

/// Variables that a program gets on a view.
///
/// With them, git takes no locks that would count as changes, and Python writes no `__pycache__`, which git ignores.
/// Programs do not report home, because askfirst asks about an attempt to reach the network.
const VARIABLES: [(&str, &str); 7] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("DO_NOT_TRACK", "1"),
    ("NEXT_TELEMETRY_DISABLED", "1"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("npm_config_update_notifier", "false"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
];

impl SandboxLauncher {
    /// Returns why nothing can run on a view here, or `None` if it can.
    pub(crate) fn obstacle(&self) -> Option<Arc<str>> {
        let sandbox = match probe_machine().sandbox(Tier::Full) {
            Ok(sandbox) => sandbox,
            Err(why) => return Some(format!("the sandbox does not work here: {why}").into()),
        };
        let rehearsals = match self.rehearsals() {
            Ok(rehearsals) => rehearsals,
            Err(why) => return Some(why.into()),
        };
        rehearsals.obstacle(sandbox).map(Into::into)
    }

    /// Leaves a process only the writable folders of its scope. The others become read-only.
    pub(crate) fn limit_writes(&self, mut profile: OSProfile, scope: WriteScope) -> OSProfile {
        if scope == WriteScope::Everything {
            return profile;
        }
        // Without the folders of build output, nothing stays writable.
        let direct = self.rehearsals().map(Rehearsals::direct_folders).unwrap_or_default();
        let writable = std::mem::take(&mut profile.writable);
        let is_in = |path: &Path| writable.iter().any(|grant| path.starts_with(&grant.path));
        profile.writable =
            direct.iter().filter(|path| is_in(path)).filter_map(|path| Grant::of(path).ok()).collect();
        profile.readable.extend(writable);
        profile
    }

    /// Runs a process on views, to its end. Runs it again if another commit changed a folder meanwhile.
    pub(crate) fn run_on_views(&self, launch: &Launch) -> Result<RehearsedRun, LaunchFailed> {
        let rehearsals = self.rehearsals().map_err(LaunchFailed)?;
        // With the network, a second run could send something twice.
        let may_repeat = !launch.accepted.contains(&RunFactKind::Network);
        let mut tries = 0;
        let mut emptied: Vec<PathBuf> = Vec::new();
        loop {
            let mut direct = rehearsals.direct_folders();
            direct.retain(|folder| !emptied.contains(folder));
            let filled: Vec<PathBuf> = direct.iter().filter(|folder| !is_empty(folder)).cloned().collect();
            let (output, changes, facts) = self.run_once_on_views(launch, &direct)?;
            // It may have read what the other commit replaced, so its changes must not be made.
            if changes.is_outdated() {
                if may_repeat && tries < MAX_TRIES {
                    tries += 1;
                    continue;
                }
                return Err(LaunchFailed(
                    "another command changed the same folder meanwhile; nothing was changed".to_owned(),
                ));
            }
            // A folder that is mounted directly cannot be removed or renamed: `rm -rf dist` empties it and fails.
            // Once it is empty, it is as cheap on the view as anywhere.
            if may_repeat && output.ended != ProcessEnd::Exited(0) && emptied.is_empty() {
                emptied = filled.into_iter().filter(|folder| is_empty(folder)).collect();
                if !emptied.is_empty() {
                    continue;
                }
            }
            return Ok(RehearsedRun { output, held: changes.hold(rehearsals, facts, note(launch)) });
        }
    }

    fn run_once_on_views(
        &self,
        launch: &Launch,
        direct: &[PathBuf],
    ) -> Result<(ProcessOutput, CollectedRun, Vec<RunFact>), LaunchFailed> {
        let sandbox = probe_machine().sandbox(Tier::Full);
        let sandbox =
            sandbox.map_err(|why| LaunchFailed(format!("the sandbox does not work here: {why}")))?;
        let rehearsals = self.rehearsals().map_err(LaunchFailed)?;
        let mut spec = self.with_variables(&spec(launch)?);
        spec.env.extend(VARIABLES.map(|(name, value)| (name.into(), value.into())));
        let mut hidden = None;
        let run = |derived: &DerivedProfile, stop: &Stop| {
            let mut profile = derived.profile.clone();
            profile.network = self.network_of(launch, profile.network);
            profile.environment.extend(VARIABLES.map(|(name, _)| name.into()));
            let views = rehearsals
                .views(&mut profile, &spec.folder, direct, &derived.before.missing)
                .map_err(no_view)?;
            let spec = &self.with_session_network(launch, sandbox, &profile, &spec);
            let result = askfirst_sandbox::launch_in_sandbox(sandbox, &profile, spec, stop);
            hidden = match &result {
                Ok(outcome) => self.explain_outcome(&outcome.finished, spec, &profile),
                Err(failed) => self.explain_failure(failed, spec, &profile),
            };
            let outcome = result?;
            let mut facts = facts(&outcome);
            let mut refused = Vec::new();
            if !self.may_grant_network() {
                // The config has decided: the program ran without a network, and a yes could not change that.
                refused.extend(facts.extract_if(.., |fact| fact.kind() == RunFactKind::Network));
            }
            // The kernel reports the other tries itself.
            if outcome.violations.iter().any(|violation| is_network(violation.attempt)) {
                refused.clear();
            }
            let in_caches = outcome.facts.scratch_files;
            Ok(((outcome.finished, views, facts, refused, in_caches), outcome.violations))
        };
        let search = Search::Only(direct.to_vec());
        let result = self.run_in_sandbox(launch.access, search, run);
        let ((outcome, views, facts, refused, in_caches), mut violations) = with_explanation(result, hidden)?;
        let changes = views.collect();
        let changes = changes.map_err(|e| LaunchFailed(format!("cannot collect its changes: {e}")))?;
        violations.extend(changes.lost().map(str::to_owned));
        violations.extend((in_caches > 0).then(|| LOST_IN_CACHES.to_owned()));
        violations.extend(refused.iter().map(|fact| format!("it {}, which the config denies", fact.text())));
        let report = SandboxReport { tier: sandbox.tier().to_string(), violations };
        Ok((finished(outcome, report), changes, facts))
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// The error for a view that could not be made.
fn no_view(why: String) -> LaunchError {
    LaunchError::Sandbox { step: "making a view".to_owned(), cause: std::io::Error::other(why) }
}

/// The command of a launch, as a person wrote it.
fn note(launch: &Launch) -> String {
    let words: Vec<String> = launch.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match words.as_slice() {
        [bash, _, _, flag, line] if bash == "bash" && flag == "-c" => line.clone(),
        words => quoted(words),
    }
}

/// Whether a program failed because a view cannot rename a folder of the real files. Programs say so in the words of the
/// system; one that pretends it causes a question.
fn is_folder_rename(run: &SandboxRun) -> bool {
    let failed = matches!(run.finished.end, End::Exited(code) if code != 0);
    let says = |bytes: &[u8]| {
        ["cross-device link", "Errno 18]", "EXDEV"]
            .iter()
            .any(|words| memchr::memmem::find(bytes, words.as_bytes()).is_some())
    };
    let streams = [&run.finished.stderr, &run.finished.stdout];
    failed && streams.iter().any(|stream| says(&stream.head) || says(&stream.tail))
}

/// Returns the facts about a run besides its changes.
fn facts(run: &SandboxRun) -> Vec<RunFact> {
    let tries = |violation: &Violation| match violation.attempt {
        Attempt::Outside(times) => u64::try_from(times).unwrap_or(1),
        attempt => u64::from(is_network(attempt)),
    };
    let RunFacts { left_processes, listening, refused_connections, refused_datagrams, .. } = &run.facts;
    let refused = u64::from(*refused_connections).saturating_add(u64::from(*refused_datagrams));
    let tries = run.violations.iter().map(tries).fold(refused, u64::saturating_add);
    let mut facts = Vec::new();
    if tries > 0 {
        facts.push(RunFact::TriedNetwork(tries));
    }
    if !listening.is_empty() {
        facts.push(RunFact::Listened(listening.clone()));
    }
    if *left_processes > 0 {
        facts.push(RunFact::LeftProcesses(u64::from(*left_processes)));
    }
    if is_folder_rename(run) {
        facts.push(RunFact::FolderRename);
    }
    if run.finished.end == End::TimedOut {
        facts.push(RunFact::TimedOut);
    }
    facts
}

/// Whether a call at this access gets its effects judged as a rehearsal, or was approved itself.
pub(crate) fn basis(access: Access) -> RunBasis {
    match access {
        // The command is the one that was approved, but a script that it runs may be another: its changes decide.
        Access::Rehearsal | Access::Remembered => RunBasis::Rehearsal,
        Access::WithoutAsking | Access::Standing | Access::Approved => RunBasis::Approval,
    }
}

#[cfg(test)]
#[path = "views/tests/mod.rs"]
mod tests;
