//! Runs processes on copy-on-write views of the folders that they may write, and holds their changes back.
//!
//! Each writable folder of the profile gets a view. When all processes have ended, the changes of each view are
//! collected and classified; [`judge_effects`](askfirst::judge_effects) decides about them, and a permit commits them.

mod effects;
mod git;
mod question;
mod views;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use askfirst::ports::{
    Access, CommitFailed, HeldChanges, Launch, LaunchFailed, ProcessOutput, Rehearsed, SandboxReport,
};
use askfirst::record::CommitRecord;
use askfirst::{
    ApprovalPresentation, Effects, EffectsPolicy, RecordedCommitPermit, RunBasis, RunFact, RunFactKind,
};
use askfirst_changes::{ChangeStore, CollectLimits, KeepLimits, RecoveredCommit, RootId};
use askfirst_config::Config;
use askfirst_files::{RootView, Roots};
use askfirst_sandbox::{Attempt, End, LaunchError, Network, Stop, Tier, Violation};

use crate::launcher::{SandboxLauncher, Search, finished, is_network, spec, with_explanation};
use crate::sandbox::{DerivedProfile, probe_machine};
use crate::tools::finished::quoted;
use views::{CollectedView, Views};

pub(crate) use git::{IgnoreRules, read_rules};
pub(crate) use question::{counts, request};
pub(crate) use views::{open_file, open_folder};

/// How often a process runs again because another commit changed a folder meanwhile.
const MAX_TRIES: usize = 3;

/// Variables that a program gets on a view: git takes no locks that would count as changes, and programs do not report
/// home, because a try to reach the network is a question.
const VARIABLES: [(&str, &str); 6] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("DO_NOT_TRACK", "1"),
    ("NEXT_TELEMETRY_DISABLED", "1"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("npm_config_update_notifier", "false"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
];

/// What a session needs for views: made for the first one.
pub(crate) struct Rehearsals {
    pub(super) store: ChangeStore,
    /// The path of the store.
    pub(super) folder: PathBuf,
    pub(super) roots: Arc<Roots>,
    pub(super) config: Config,
}

impl Rehearsals {
    /// Opens the store beneath the state folder, and finishes what a killed process left there.
    pub(crate) fn open(config: &Config, state: &Path) -> Result<Self, String> {
        let state = std::path::absolute(state).map_err(|e| e.to_string())?;
        std::fs::create_dir_all(&state).map_err(|e| format!("cannot create `{}`: {e}", state.display()))?;
        let state = state.canonicalize().map_err(|e| format!("cannot open `{}`: {e}", state.display()))?;
        let roots = config.main.sandbox.paths.values().map(|path| &path.root);
        if let Some(root) = roots.into_iter().find(|root| state.starts_with(root)) {
            return Err(format!(
                "the state folder `{}` is in the root `{}`",
                state.display(),
                root.display()
            ));
        }
        let folder = Self::folder(&state);
        let store = views::open_store(&folder)?;
        let roots = Arc::new(Roots::new(config).map_err(|e| e.to_string())?);
        let rehearsals = Self { store, folder, roots, config: config.clone() };
        rehearsals.tidy_up()?;
        Ok(rehearsals)
    }

    /// The store in a state folder.
    pub(crate) fn folder(state: &Path) -> PathBuf {
        state.join("changes")
    }

    /// Finishes the commits of killed processes in the roots of this config, and drops what need not be kept.
    fn tidy_up(&self) -> Result<(), String> {
        let open = |id: RootId| {
            let mut roots = self.config.main.sandbox.paths.values();
            roots.find_map(|path| {
                let root = open_folder(&path.root).ok()?;
                (rustix::fs::fstat(&root).ok()?.st_ino == id.inode).then_some(root)
            })
        };
        let recovered = self.store.recover(open).map_err(|e| e.to_string())?;
        for (id, result) in recovered {
            if let RecoveredCommit::Failed(error) = result {
                return Err(format!("the commit `{id}` of an earlier session cannot be finished: {error}"));
            }
        }
        let pruned = self.store.prune(&self.keep_limits(), std::time::SystemTime::now());
        pruned.map(drop).map_err(|e| e.to_string())
    }
}

impl SandboxLauncher {
    /// Returns why nothing can run on a view here, or `None` if it can.
    pub(crate) fn obstacle(&self) -> Option<Arc<str>> {
        if let Err(why) = probe_machine().sandbox(Tier::Full) {
            return Some(format!("the sandbox does not work here: {why}").into());
        }
        self.rehearsals().err().map(Into::into)
    }

    /// Runs a process on views, to its end. Runs it again if another commit changed a folder meanwhile.
    pub(crate) fn run_on_views(&self, launch: &Launch) -> Result<Rehearsed, LaunchFailed> {
        let mut tries = 0;
        loop {
            let (output, views, facts) = self.run_once_on_views(launch)?;
            if views::is_outdated(&views) && tries < MAX_TRIES {
                tries += 1;
                continue;
            }
            let rehearsals = self.rehearsals().map_err(LaunchFailed)?;
            let effects = effects::of(&views, rehearsals, facts);
            let held = Arc::new(HeldRun::new(rehearsals, views, effects, note(launch)));
            return Ok(Rehearsed { output, held });
        }
    }

    fn run_once_on_views(
        &self,
        launch: &Launch,
    ) -> Result<(ProcessOutput, Vec<CollectedView>, Vec<RunFact>), LaunchFailed> {
        let sandbox = probe_machine().sandbox(Tier::Full);
        let sandbox =
            sandbox.map_err(|why| LaunchFailed(format!("the sandbox does not work here: {why}")))?;
        let rehearsals = self.rehearsals().map_err(LaunchFailed)?;
        let mut spec = self.with_variables(&spec(launch)?);
        spec.env.extend(VARIABLES.map(|(name, value)| (name.into(), value.into())));
        let mut hidden = None;
        let run = |derived: &DerivedProfile, stop: &Stop| {
            let mut profile = derived.profile.clone();
            if launch.accepted.contains(&RunFactKind::Network) {
                profile.network = Network::Shared;
            }
            profile.environment.extend(VARIABLES.map(|(name, _)| name.into()));
            let views = Views::of(rehearsals, &mut profile).map_err(no_view)?;
            let result = askfirst_sandbox::launch_in_sandbox(sandbox, &profile, &spec, stop);
            hidden = match &result {
                Ok(outcome) => self.explain_outcome(&outcome.finished, &spec, &profile),
                Err(failed) => self.explain_failure(failed, &spec, &profile),
            };
            let outcome = result?;
            let facts = facts(&outcome.violations, outcome.finished.end);
            Ok(((outcome.finished, views, facts), outcome.violations))
        };
        let result = self.run_in_sandbox(launch.access, Search::NotNeeded, run);
        let ((outcome, views, facts), violations) = with_explanation(result, hidden)?;
        let views = views.collect(&CollectLimits::default());
        let views = views.map_err(|e| LaunchFailed(format!("cannot collect its changes: {e}")))?;
        let report = SandboxReport { tier: sandbox.tier().to_string(), violations };
        Ok((finished(outcome, report), views, facts))
    }
}

/// The error for a view that could not be made.
fn no_view(why: String) -> LaunchError {
    LaunchError::Sandbox { step: "making a view".to_owned(), cause: std::io::Error::other(why) }
}

/// What the store keeps about a commit: the decision in the audit log, and the command.
pub(crate) struct CommitNote {
    /// The id of the decision.
    pub(crate) decision: String,
    /// The command.
    pub(crate) command: String,
}

impl CommitNote {
    /// Reads the note of a commit.
    pub(crate) fn read(note: &str) -> Self {
        let (decision, command) = note.split_once('\n').unwrap_or(("", note));
        Self { decision: decision.to_owned(), command: command.to_owned() }
    }

    /// Returns the id of the call that the decision is about.
    pub(crate) fn call_id(&self) -> &str {
        self.decision.rsplit_once('.').map_or(&self.decision, |(call, _)| call)
    }
}

impl std::fmt::Display for CommitNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}", self.decision, self.command)
    }
}

/// The command of a launch, as a person wrote it.
fn note(launch: &Launch) -> String {
    let words: Vec<String> = launch.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match words.as_slice() {
        [bash, _, _, flag, line] if bash == "bash" && flag == "-c" => line.clone(),
        words => quoted(words),
    }
}

/// What happened besides the changes.
fn facts(violations: &[Violation], end: End) -> Vec<RunFact> {
    let tries = |violation: &Violation| match violation.attempt {
        Attempt::Outside(times) => u64::try_from(times).unwrap_or(1),
        attempt => u64::from(is_network(attempt)),
    };
    let mut facts = Vec::new();
    let tries: u64 = violations.iter().map(tries).sum();
    if tries > 0 {
        facts.push(RunFact::TriedNetwork(tries));
    }
    if end == End::TimedOut {
        facts.push(RunFact::TimedOut);
    }
    facts
}

/// The changes of one run. Dropping it discards them.
struct HeldRun {
    effects: Effects,
    note: String,
    asks_about_removals: bool,
    undo_obstacle: Option<Arc<str>>,
    roots: Arc<Roots>,
    store: ChangeStore,
    views: Mutex<Option<Vec<CollectedView>>>,
}

impl HeldRun {
    fn new(rehearsals: &Rehearsals, views: Vec<CollectedView>, effects: Effects, note: String) -> Self {
        Self {
            effects,
            note,
            asks_about_removals: rehearsals.asks_about_removals(),
            undo_obstacle: rehearsals.undo_obstacle(&views),
            roots: Arc::clone(&rehearsals.roots),
            store: rehearsals.store.clone(),
            views: Mutex::new(Some(views)),
        }
    }
}

impl HeldChanges for HeldRun {
    fn effects(&self) -> &Effects {
        &self.effects
    }

    fn policy(&self, basis: RunBasis) -> EffectsPolicy {
        EffectsPolicy {
            basis,
            asks_about_removals: self.asks_about_removals,
            undo_obstacle: self.undo_obstacle.clone(),
            accepted: Vec::new(),
        }
    }

    fn present(&self) -> ApprovalPresentation {
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        question::present(&self.effects, views.as_deref().unwrap_or_default(), &RootView::new(&self.roots))
    }

    fn commit(&self, permit: RecordedCommitPermit) -> Result<Vec<CommitRecord>, CommitFailed> {
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner).take();
        let views =
            views.ok_or_else(|| CommitFailed::Failed("the changes were already decided".to_owned()))?;
        let (digest, decision) = permit.spend();
        if digest != self.effects.digest {
            return Err(CommitFailed::Failed("the permit is for other changes".to_owned()));
        }
        let note = CommitNote { decision, command: self.note.clone() };
        views::commit(views, &note.to_string(), digest)
    }

    fn mark_logged(&self, commits: &[CommitRecord]) {
        for commit in commits {
            // If this fails, the next session logs the commit once more.
            drop(self.store.mark_logged(&commit.commit));
        }
    }
}

impl Rehearsals {
    fn asks_about_removals(&self) -> bool {
        false
    }

    fn keep_limits(&self) -> KeepLimits {
        KeepLimits { commits: 50, age: Duration::from_secs(7 * 24 * 3600), bytes: 1 << 30 }
    }

    /// Whether a path beneath a root is build output.
    fn is_product(&self, root: &Path, path: &Path) -> bool {
        let _ = (root, path);
        false
    }
}

/// Whether a call at this access gets its effects judged as a rehearsal, or was approved itself.
pub(crate) fn basis(access: Access) -> RunBasis {
    match access {
        Access::Rehearsal => RunBasis::Rehearsal,
        Access::WithoutAsking | Access::Standing | Access::Approved => RunBasis::Approval,
    }
}
