//! The effects of calls to the file tools: what each changed path is called, and how much it matters.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use askfirst::record::CommitRecord;
use askfirst::{Effects, EffectsPolicy, RunBasis};
use askfirst_changes::{ChangeSet, PendingEdit, PlannedState};
use askfirst_config::Config;
use askfirst_files::{ChangeGuard, KeptChanges, NewState, PlannedChange, RootView};

use crate::changed_root::ChangedRoot;
use crate::edits::{EditStore, record};
use crate::effects::{self, NO_ROOM};
use crate::rehearsals::asks_about_removals;
use crate::views::open_file;

/// Classifies what the file tools of a config would change, and keeps what they replace.
pub struct FileEffects {
    config: Config,
    state: PathBuf,
    /// Opened for the first change.
    edits: OnceLock<Result<Arc<EditStore>, String>>,
}

impl FileEffects {
    /// Creates the guard of the file tools of a config, with the changes in this state folder.
    #[must_use]
    pub fn new(config: &Config, state: &Path) -> Self {
        Self { config: config.clone(), state: state.to_owned(), edits: OnceLock::new() }
    }

    fn edits(&self) -> Result<&Arc<EditStore>, String> {
        let open = || EditStore::open(&self.config, &self.state).map(Arc::new);
        self.edits.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    /// Why undo could not restore what changes replace.
    fn undo_obstacle(&self, bytes: u64) -> Option<Arc<str>> {
        let room = self.edits().and_then(|edits| edits.has_room(bytes).map_err(|e| e.to_string()));
        match room {
            Ok(true) => None,
            Ok(false) => Some(NO_ROOM.into()),
            Err(why) => Some(why.into()),
        }
    }
}

impl ChangeGuard for FileEffects {
    fn effects(
        &self,
        ground: &RootView<'_>,
        changes: &[PlannedChange<'_>],
    ) -> Result<(Effects, EffectsPolicy), String> {
        let by_root = by_root(changes);
        let mut sets = Vec::new();
        for planned in by_root.values() {
            let Some(root) = planned.first().map(|change| change.root) else { continue };
            let set = ChangeSet::planned(root, planned.iter().map(|change| state(change)));
            sets.push((root, planned, set.map_err(|e| e.to_string())?));
        }
        let roots: Vec<_> = by_root.keys().zip(&sets).map(|(path, set)| changed_root(path, set)).collect();
        let replaced = sets.iter().fold(0, |sum: u64, (.., set)| sum.saturating_add(set.replaced_bytes()));
        let undo_obstacle = self.undo_obstacle(replaced);
        let effects = effects::of(&roots, ground, &self.config, Vec::new(), undo_obstacle.as_deref());
        let policy = EffectsPolicy {
            // The approval of the root is asked for before the call runs.
            basis: RunBasis::Approval,
            asks_about_removals: asks_about_removals(&self.config),
            undo_obstacle,
            accepted: Vec::new(),
        };
        Ok((effects, policy))
    }

    fn keep(
        &self,
        changes: &[PlannedChange<'_>],
        call_id: &str,
        what: &str,
    ) -> Result<Box<dyn KeptChanges>, String> {
        let edits = self.edits()?;
        let mut begun = Vec::new();
        for (folder, planned) in by_root(changes) {
            let Some(root) = planned.first().map(|change| change.root) else { continue };
            let paths = planned.iter().map(|change| change.path.as_path());
            // The edit is over when its process has ended.
            let edit = edits.begin(root, folder, paths, (call_id, what), Duration::ZERO);
            begun.push(edit.map_err(|e| e.to_string())?);
        }
        Ok(Box::new(BegunEdits { edits: Arc::clone(edits), begun }))
    }

    fn mark_logged(&self, commits: &[CommitRecord]) {
        if let Ok(edits) = self.edits() {
            edits.mark_logged(commits);
        }
    }
}

/// The edits of one call, one for each root.
struct BegunEdits {
    edits: Arc<EditStore>,
    begun: Vec<PendingEdit>,
}

impl KeptChanges for BegunEdits {
    fn settle(self: Box<Self>) -> Vec<CommitRecord> {
        let mut commits = Vec::new();
        for edit in self.begun {
            // If this fails, the next session records the changes.
            if let Ok(Some(summary)) = edit.settle() {
                self.edits.count(&summary);
                commits.extend(record(&summary));
            }
        }
        commits
    }
}

fn by_root<'c, 'a>(changes: &'c [PlannedChange<'a>]) -> BTreeMap<&'c Path, Vec<&'c PlannedChange<'a>>> {
    let mut by_root: BTreeMap<&Path, Vec<&PlannedChange<'_>>> = BTreeMap::new();
    for change in changes {
        by_root.entry(&change.folder).or_default().push(change);
    }
    by_root
}

fn state<'a>(change: &'a PlannedChange<'_>) -> (&'a Path, PlannedState<'a>) {
    let state = match &change.becomes {
        NewState::Nothing => PlannedState::Removed,
        NewState::Folder => PlannedState::Folder,
        NewState::File { mode, .. } => PlannedState::File { mode: *mode },
        NewState::Moved { root, path } => PlannedState::Moved { root: *root, path },
    };
    (&change.path, state)
}

type PlannedSet<'a> = (BorrowedFd<'a>, &'a Vec<&'a PlannedChange<'a>>, ChangeSet);

fn changed_root<'a>(path: &'a Path, (root, planned, changes): &'a PlannedSet<'a>) -> ChangedRoot<'a> {
    let requested = |change: &&PlannedChange<'_>| Some((change.path.clone(), change.requested.clone()?));
    ChangedRoot {
        path,
        root: *root,
        changes,
        protected: &[],
        requested: planned.iter().filter_map(requested).collect(),
        new: Box::new(|path| planned.iter().find_map(|change| new_content(change, path))),
    }
}

/// Opens the content that a path would have because of a change.
fn new_content<'a>(change: &'a PlannedChange<'_>, path: &Path) -> Option<Box<dyn Read + 'a>> {
    let below = path.strip_prefix(&change.path).ok()?;
    match &change.becomes {
        NewState::Nothing | NewState::Folder => None,
        NewState::File { content, .. } => {
            (below == Path::new("")).then(|| Box::new(&**content) as Box<dyn Read>)
        }
        NewState::Moved { root, path } => {
            let from: PathBuf = if below == Path::new("") { path.clone() } else { path.join(below) };
            Some(Box::new(File::from(open_file(root, &from)?)))
        }
    }
}
