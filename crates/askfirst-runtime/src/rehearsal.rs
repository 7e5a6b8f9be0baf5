//! Runs processes on copy-on-write views of the folders that they may write, and holds their changes back.
//!
//! Each writable folder of the profile gets a view. When all processes have ended, the changes of each view are
//! collected and classified; [`judge_effects`](askfirst::judge_effects) decides about them, and a permit commits them.

mod effects;
mod folders;
mod git;
mod question;
mod repositories;
mod views;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use askfirst::ports::{
    Access, CommitFailed, HeldChanges, Launch, LaunchFailed, ProcessEnd, ProcessOutput, Rehearsed,
    SandboxReport,
};
use askfirst::record::CommitRecord;
use askfirst::{
    ApprovalPresentation, Effects, EffectsPolicy, RecordedCommitPermit, RunBasis, RunFact, RunFactKind,
};
use askfirst_changes::{ChangeStore, CollectLimits, KeepLimits, RecoveredCommit, RootId};
use askfirst_config::{Config, PathMode, UndoDeletes};
use askfirst_files::{RootView, Roots};
use serde::{Deserialize, Serialize};

use askfirst_sandbox::{Attempt, End, LaunchError, RunFacts, SandboxRun, Stop, Tier, User, Violation};

use crate::launcher::{SandboxLauncher, Search, finished, is_network, spec, with_explanation};
use crate::sandbox::{DerivedProfile, probe_machine};
use crate::tools::finished::quoted;
use folders::SessionFolders;
use views::{CollectedView, Views};

pub(crate) use git::{IgnoreRules, read_rules};
pub(crate) use question::{counts, request};
pub(crate) use views::{open_file, open_folder, open_store};

/// How often a process runs again because another commit changed a folder meanwhile.
const MAX_TRIES: usize = 3;

/// Variables that a program gets on a view: git takes no locks and Python writes no caches that would count as changes,
/// and programs do not report home, because a try to reach the network is a question.
const VARIABLES: [(&str, &str); 7] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
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
    state: PathBuf,
    session: OnceLock<Result<SessionFolders, String>>,
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
        let folder = store_folder(&state);
        let store = views::open_store(&folder)?;
        let roots = Arc::new(Roots::new(config).map_err(|e| e.to_string())?);
        let rehearsals =
            Self { store, folder, roots, config: config.clone(), state, session: OnceLock::new() };
        rehearsals.tidy_up()?;
        Ok(rehearsals)
    }

    /// Returns the folders of this session, made with the first run.
    fn session(&self) -> Result<&SessionFolders, String> {
        let new = || SessionFolders::new(&self.state).map_err(|e| format!("cannot make a folder: {e}"));
        self.session.get_or_init(new).as_ref().map_err(Clone::clone)
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

/// Returns the folder of the store in a state folder.
pub(crate) fn store_folder(state: &Path) -> PathBuf {
    state.join("changes")
}

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
        let writable = rehearsals.config.main.sandbox.paths.values().filter(|path| path.mode == PathMode::Rw);
        let mut failed = writable.filter_map(|path| {
            let why = sandbox.check_view(&path.root, &rehearsals.folder, User::Same).err()?;
            Some(format!("no view of `{}` can be made: {why}", path.root.display()).into())
        });
        failed.next()
    }

    /// Runs a process on views, to its end. Runs it again if another commit changed a folder meanwhile.
    pub(crate) fn run_on_views(&self, launch: &Launch) -> Result<Rehearsed, LaunchFailed> {
        let rehearsals = self.rehearsals().map_err(LaunchFailed)?;
        // With the network, a second run could send something twice.
        let may_repeat = !launch.accepted.contains(&RunFactKind::Network);
        let mut tries = 0;
        let mut emptied: Vec<PathBuf> = Vec::new();
        loop {
            let mut direct = rehearsals.direct_folders();
            direct.retain(|folder| !emptied.contains(folder));
            let filled: Vec<PathBuf> = direct.iter().filter(|folder| !is_empty(folder)).cloned().collect();
            let (output, views, facts) = self.run_once_on_views(launch, &direct)?;
            // It may have read what the other commit replaced, so its changes must not be made.
            if views::is_outdated(&views) {
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
            let effects = effects::of(&views, rehearsals, facts);
            let held = Arc::new(HeldRun::new(rehearsals, views, effects, note(launch)));
            return Ok(Rehearsed { output, held });
        }
    }

    fn run_once_on_views(
        &self,
        launch: &Launch,
        direct: &[PathBuf],
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
            profile.network = self.network_of(launch, profile.network);
            profile.environment.extend(VARIABLES.map(|(name, _)| name.into()));
            let views = Views::of(rehearsals, &mut profile, direct).map_err(no_view)?;
            let session = rehearsals.session().map_err(no_view)?;
            let home = session.add_to(&mut profile, &spec.folder).map_err(|e| no_view(e.to_string()))?;
            let result = askfirst_sandbox::launch_in_sandbox(sandbox, &profile, &spec, stop);
            hidden = match &result {
                Ok(outcome) => self.explain_outcome(&outcome.finished, &spec, &profile),
                Err(failed) => self.explain_failure(failed, &spec, &profile),
            };
            let outcome = result?;
            let mut facts = facts(&outcome);
            if !self.may_grant_network() {
                // The config has decided: the program ran without a network, and a yes could not change that.
                facts.retain(|fact| fact.kind() != RunFactKind::Network);
            }
            let lost = home.and_then(|home| home.lost());
            Ok(((outcome.finished, views, facts, lost), outcome.violations))
        };
        let search = Search::Only(direct.to_vec());
        let result = self.run_in_sandbox(launch.access, search, run);
        let ((outcome, views, facts, lost), mut violations) = with_explanation(result, hidden)?;
        let views = views.collect(&CollectLimits::default());
        let views = views.map_err(|e| LaunchFailed(format!("cannot collect its changes: {e}")))?;
        violations.extend(lost);
        let report = SandboxReport { tier: sandbox.tier().to_string(), violations };
        Ok((finished(outcome, report), views, facts))
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// The error for a view that could not be made.
fn no_view(why: String) -> LaunchError {
    LaunchError::Sandbox { step: "making a view".to_owned(), cause: std::io::Error::other(why) }
}

/// What the store keeps about a commit: the decision in the audit log, the folder and the command.
#[derive(Serialize, Deserialize)]
pub(crate) struct CommitNote {
    /// The id of the decision.
    pub(crate) decision: String,
    /// The folder that was changed.
    pub(crate) root: PathBuf,
    /// The command.
    pub(crate) command: String,
}

impl CommitNote {
    /// Reads the note of a commit.
    pub(crate) fn read(note: &str) -> Option<Self> {
        serde_json::from_str(note).ok()
    }

    /// Returns the id of the call that the decision is about.
    pub(crate) fn call_id(&self) -> &str {
        self.decision.rsplit_once('.').map_or(&self.decision, |(call, _)| call)
    }
}

impl std::fmt::Display for CommitNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
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
fn facts(run: &SandboxRun) -> Vec<RunFact> {
    let tries = |violation: &Violation| match violation.attempt {
        Attempt::Outside(times) => u64::try_from(times).unwrap_or(1),
        attempt => u64::from(is_network(attempt)),
    };
    let RunFacts { left_processes, listening, refused_connections, refused_datagrams } = &run.facts;
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
    if run.finished.end == End::TimedOut {
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
        views::commit(views, digest, |root| {
            CommitNote { decision: decision.clone(), root: root.to_owned(), command: self.note.clone() }
                .to_string()
        })
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
        self.config.main.undo.deletes == UndoDeletes::Ask
    }

    fn keep_limits(&self) -> KeepLimits {
        let undo = &self.config.main.undo;
        let age = Duration::from_secs(undo.days.saturating_mul(24 * 3600));
        KeepLimits { commits: undo.keep, age, bytes: undo.size }
    }

    /// Returns the folders of build output.
    fn products(&self) -> impl Iterator<Item = PathBuf> {
        let paths = self.config.main.sandbox.paths.values();
        paths.flat_map(|path| path.products.iter().map(|product| path.root.join(product)))
    }

    /// Returns the package caches that exist, outside of the roots.
    fn caches(&self) -> Vec<PathBuf> {
        let sandbox = &self.config.main.sandbox;
        let view = RootView::new(&self.roots);
        let is_free = |path: &PathBuf| {
            sandbox.governing_root(path).is_none() && askfirst_shell::Roots::never_read(&view, path).is_none()
        };
        sandbox.cache_folders(self.roots.home()).into_iter().filter(is_free).collect()
    }

    /// Whether a path is build output.
    fn is_product(&self, path: &Path) -> bool {
        self.products().any(|product| path.starts_with(product))
    }

    /// Returns the folders of build output that exist. They are written directly, so that a build costs no copies.
    fn direct_folders(&self) -> Vec<PathBuf> {
        // A link could lead anywhere, so a product that is reached through one stays on the view.
        let is_real = |path: &PathBuf| path.is_dir() && path.canonicalize().is_ok_and(|real| real == *path);
        self.products().filter(is_real).collect()
    }
}

/// Whether a call at this access gets its effects judged as a rehearsal, or was approved itself.
pub(crate) fn basis(access: Access) -> RunBasis {
    match access {
        Access::Rehearsal => RunBasis::Rehearsal,
        Access::WithoutAsking | Access::Standing | Access::Approved => RunBasis::Approval,
    }
}

#[cfg(test)]
mod tests;
