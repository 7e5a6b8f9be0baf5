//! The changes that calls made in the roots of a config, and undoing them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use askfirst::record::CommitRecord;
use askfirst_changes::{ChangeError, ChangeKind, CommitState, CommitSummary, Object, RootId};
use askfirst_config::Config;

use crate::origin;
use crate::rehearsal::{CommitNote, IgnoreRules, Rehearsals, open_file, open_folder, read_rules};

/// Commits that are younger may belong to a session that is about to log them.
const LOGGED_WITHIN: Duration = Duration::from_secs(10);

/// The changes that can be restored.
pub struct UndoStore {
    rehearsals: Rehearsals,
    roots: Vec<(PathBuf, RootId)>,
}

/// One commit, for a person.
#[derive(Debug, Clone)]
pub struct UndoEntry {
    /// The id of the commit.
    pub id: String,
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// The folder that it changed.
    pub root: PathBuf,
    /// The id of the call in the audit log.
    pub call_id: String,
    /// The command.
    pub command: String,
    /// The number of paths that were added, changed and removed.
    pub counts: (usize, usize, usize),
    /// Whether the changes are in the files now, and not undone.
    pub is_applied: bool,
    /// The state, in a word.
    pub state: &'static str,
}

/// One changed path of a commit.
#[derive(Debug, Clone)]
pub struct UndoPath {
    /// The path beneath the root.
    pub path: PathBuf,
    /// The word for the change.
    pub change: &'static str,
    /// Its size before and after, in bytes.
    pub sizes: (Option<u64>, Option<u64>),
    /// Whether git ignores it, so that `git status` does not show the change.
    pub is_ignored: bool,
}

/// Why changes could not be undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// The store cannot be opened.
    #[error("{0}")]
    Store(String),
    /// The config has no root that this commit changed.
    #[error("commit `{0}` changed a folder that is no root of this config")]
    OtherRoot(String),
    /// There is nothing to undo.
    #[error("no changes to undo here")]
    Nothing,
    /// The changes cannot be taken back.
    #[error(transparent)]
    Changes(#[from] ChangeError),
}

impl UndoStore {
    /// Opens the store of a user, for the roots of a config. Finishes what a killed process left.
    ///
    /// # Errors
    /// Fails if the store or a root cannot be opened.
    pub fn open(config: &Config, state: &Path) -> Result<Self, UndoError> {
        let rehearsals = Rehearsals::open(config, state).map_err(UndoError::Store)?;
        let folders = config.main.sandbox.paths.values().map(|path| path.root.clone());
        let roots = folders.filter_map(|path| {
            let found = rustix::fs::stat(&path).ok()?;
            Some((path, RootId { device: found.st_dev, inode: found.st_ino }))
        });
        Ok(Self { rehearsals, roots: roots.collect() })
    }

    /// Whether a state folder has a store at all.
    #[must_use]
    pub fn exists(state: &Path) -> bool {
        Rehearsals::folder(state).is_dir()
    }

    /// Returns the commits in the roots of the config, the newest first.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn list(&self) -> Result<Vec<UndoEntry>, UndoError> {
        let mut all = self.rehearsals.store.list()?;
        all.sort_by(|(a, _), (b, _)| b.id.cmp(&a.id));
        Ok(all.into_iter().filter_map(|(summary, state)| self.entry(summary, state)).collect())
    }

    fn entry(&self, summary: CommitSummary, state: CommitState) -> Option<UndoEntry> {
        // The number of a device may change when the machine starts again.
        let (root, _) = self.roots.iter().find(|(_, id)| id.inode == summary.root.inode)?;
        let note = CommitNote::read(&summary.note);
        Some(UndoEntry {
            id: summary.id,
            made: summary.made,
            root: root.clone(),
            call_id: note.call_id().to_owned(),
            command: note.command,
            counts: (summary.added, summary.changed, summary.removed),
            is_applied: state == CommitState::Done,
            state: state.as_str(),
        })
    }

    fn find(&self, id: &str) -> Result<UndoEntry, UndoError> {
        let known = self.rehearsals.store.list()?.into_iter().find(|(summary, _)| summary.id == id);
        let (summary, state) = known.ok_or_else(|| ChangeError::UnknownCommit(id.to_owned()))?;
        self.entry(summary, state).ok_or_else(|| UndoError::OtherRoot(id.to_owned()))
    }

    /// Returns the paths that a commit changed.
    ///
    /// # Errors
    /// Fails if there is no such commit in the roots of the config.
    pub fn paths(&self, id: &str) -> Result<Vec<UndoPath>, UndoError> {
        let root = self.find(id)?.root;
        let rows = self.rehearsals.store.show(id)?;
        let changed = || rows.iter().filter(|row| row.kind() != ChangeKind::Unchanged);
        let folder = open_root(&root)?;
        let ignored = IgnoreRules::new(&root, changed().filter_map(|row| row.path().parent()), |path| {
            open_file(&folder, path).and_then(|file| read_rules(file.into())).into_iter().collect()
        });
        let paths = changed().map(|row| UndoPath {
            path: row.path().to_owned(),
            change: match row.kind() {
                ChangeKind::Added => "added",
                ChangeKind::Removed => "removed",
                ChangeKind::Kind | ChangeKind::Content => "changed",
                ChangeKind::Attributes | ChangeKind::Times | ChangeKind::Unchanged => "touched",
            },
            sizes: (row.before.as_ref().map(|o| o.size), row.after.as_ref().map(|o| o.size)),
            is_ignored: ignored.ignores(row.path(), row.after.as_ref().is_some_and(Object::is_folder)),
        });
        Ok(paths.collect())
    }

    /// Returns the newest commit that has not been undone.
    ///
    /// # Errors
    /// Fails if the store cannot be read, or if there is no such commit.
    pub fn last(&self) -> Result<UndoEntry, UndoError> {
        self.list()?.into_iter().find(|entry| entry.is_applied).ok_or(UndoError::Nothing)
    }

    /// Restores what a commit replaced, or nothing. Returns the entry for the audit log.
    ///
    /// # Errors
    /// Fails if something else has changed a file of the commit since.
    pub fn undo(&self, id: &str) -> Result<CommitRecord, UndoError> {
        let entry = self.find(id)?;
        let root = open_root(&entry.root)?;
        self.rehearsals.store.undo(id, &root)?;
        Ok(record(&entry))
    }

    /// Returns an entry for the audit log for each commit whose process was killed before it wrote one.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn unlogged(&self) -> Result<Vec<CommitRecord>, UndoError> {
        let found = self.rehearsals.store.unlogged(LOGGED_WITHIN, SystemTime::now())?;
        let entries = found.into_iter().filter_map(|summary| self.entry(summary, CommitState::Done));
        Ok(entries.map(|entry| record(&entry)).collect())
    }

    /// Notes that the audit log has a commit.
    pub fn mark_logged(&self, commit: &CommitRecord) {
        // If this fails, a later session adds the entry once more.
        drop(self.rehearsals.store.mark_logged(&commit.commit));
    }
}

fn open_root(path: &Path) -> Result<OwnedFd, UndoError> {
    open_folder(path).map_err(|e| UndoError::Store(format!("cannot open `{}`: {e}", path.display())))
}

fn record(entry: &UndoEntry) -> CommitRecord {
    CommitRecord {
        call_id: entry.call_id.clone(),
        commit: entry.id.clone(),
        root: entry.root.display().to_string(),
        changes: None,
        by: Some(origin::of_this_process()),
    }
}
