//! The changes that calls made in a folder, and undoing them.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use askfirst::record::CommitRecord;
use askfirst_changes::{ChangeError, ChangeKind, ChangeStore, CommitState, CommitSummary, Object, RootId};

use crate::ignore_rules::{IgnoreRules, read_rules};
use crate::rehearsals::{CommitNote, store_folder};
use crate::undo_entry::{UndoEntry, UndoError, UndoPath};
use crate::views::{open_file, open_folder, open_store};

/// The changes that can be restored in one folder.
pub struct UndoStore {
    store: ChangeStore,
    folder: PathBuf,
}

impl UndoStore {
    /// Opens the store in a state folder, for the changes in `folder` and around it. Finishes what a killed process left.
    ///
    /// # Errors
    /// Fails if the store cannot be opened.
    pub fn open(state: &Path, folder: &Path) -> Result<Self, UndoError> {
        let store = open_store(&store_folder(state)).map_err(UndoError::Store)?;
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let opened = Self { store, folder };
        let folders: Vec<(RootId, PathBuf)> = opened.folders()?;
        let root_of = |id: RootId| {
            let (_, path) = folders.iter().find(|(known, _)| known.inode == id.inode)?;
            open_folder(path).ok()
        };
        opened.store.recover(root_of)?;
        // A person who wants to undo an edit knows that it is over.
        opened.store.settle_changed(Duration::ZERO, root_of)?;
        Ok(opened)
    }

    fn folders(&self) -> Result<Vec<(RootId, PathBuf)>, UndoError> {
        let commits = self.store.list()?.into_iter().map(|(summary, _)| (summary.root, summary.note));
        let all = commits.chain(self.store.pending_edits()?);
        Ok(all.filter_map(|(root, note)| Some((root, CommitNote::read(&note)?.root))).collect())
    }

    /// Whether a state folder has a store at all.
    #[must_use]
    pub fn exists(state: &Path) -> bool {
        Self::folder(state).is_dir()
    }

    /// Returns the folder of the store in a state folder.
    #[must_use]
    pub fn folder(state: &Path) -> PathBuf {
        store_folder(state)
    }

    /// Returns how many bytes the store keeps, for all folders.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn kept_bytes(&self) -> Result<u64, UndoError> {
        let all = self.store.list()?;
        Ok(all.iter().fold(0, |sum, (summary, _)| sum.saturating_add(summary.kept_bytes)))
    }

    /// Returns the commits in the folder, the newest first.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn list(&self) -> Result<Vec<UndoEntry>, UndoError> {
        let mut all = self.store.list()?;
        all.sort_by(|(a, _), (b, _)| b.id.cmp(&a.id));
        Ok(all.into_iter().filter_map(|(summary, state)| self.entry(summary, state)).collect())
    }

    fn entry(&self, summary: CommitSummary, state: CommitState) -> Option<UndoEntry> {
        let note = CommitNote::read(&summary.note)?;
        let is_here = note.root.starts_with(&self.folder) || self.folder.starts_with(&note.root);
        is_here.then(|| UndoEntry {
            id: summary.id,
            made: summary.made,
            call_id: note.call_id().to_owned(),
            root: note.root,
            command: note.command,
            counts: (summary.added, summary.changed, summary.removed),
            is_applied: state == CommitState::Done,
            state: state.as_str(),
        })
    }

    fn find(&self, id: &str) -> Result<UndoEntry, UndoError> {
        let known = self.store.list()?.into_iter().find(|(summary, _)| summary.id == id);
        let (summary, state) = known.ok_or_else(|| ChangeError::UnknownCommit(id.to_owned()))?;
        self.entry(summary, state).ok_or_else(|| UndoError::OtherFolder(id.to_owned()))
    }

    /// Returns the paths that a commit changed.
    ///
    /// # Errors
    /// Fails if there is no such commit in the folder.
    pub fn paths(&self, id: &str) -> Result<Vec<UndoPath>, UndoError> {
        let root = self.find(id)?.root;
        let rows = self.store.show(id)?;
        let changed = || rows.iter().filter(|row| row.kind() != ChangeKind::Unchanged);
        let folder = open_root(&root)?;
        let ignored = IgnoreRules::new(&root, changed().filter_map(|row| row.path().parent()), |path| {
            open_file(&folder, path).and_then(|file| read_rules(File::from(file))).into_iter().collect()
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

    /// Restores what a commit replaced, or nothing. Returns the entry for the audit log, without the process.
    ///
    /// # Errors
    /// Fails if something else has changed a file of the commit since.
    pub fn undo(&self, id: &str) -> Result<CommitRecord, UndoError> {
        let entry = self.find(id)?;
        let root = open_root(&entry.root)?;
        self.store.undo(id, &root)?;
        Ok(record(&entry))
    }

    /// Makes the changes of an undone commit again.
    ///
    /// # Errors
    /// Fails if something else has changed a file of the commit since.
    pub fn redo(&self, id: &str) -> Result<(), UndoError> {
        let root = open_root(&self.find(id)?.root)?;
        self.store.redo(id, &root)?;
        Ok(())
    }

    /// Returns an entry for the audit log, without the process, for each commit older than `age` whose process was
    /// killed before it wrote one.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn unlogged(&self, age: Duration) -> Result<Vec<CommitRecord>, UndoError> {
        let found = self.store.unlogged(age, SystemTime::now())?;
        let entries = found.into_iter().filter_map(|summary| self.entry(summary, CommitState::Done));
        Ok(entries.map(|entry| record(&entry)).collect())
    }

    /// Notes that the audit log has a commit.
    pub fn mark_logged(&self, commit: &CommitRecord) {
        // If this fails, a later session adds the entry once more.
        drop(self.store.mark_logged(&commit.commit));
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
        by: None,
    }
}
