//! Systems without views of folders: everything says so.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use askfirst::ports::HeldChanges;
use askfirst::record::CommitRecord;
use askfirst::{Effects, EffectsPolicy, RunFact};
use askfirst_config::Config;
use askfirst_files::{ChangeGuard, KeptChanges, PlannedChange, RootView};
use askfirst_sandbox::{OSProfile, Sandbox};

use crate::edit_id::{EditError, EditId};
use crate::undo_entry::{UndoEntry, UndoError, UndoPath};

const NO_VIEWS: &str = "commands can run on a copy of the files only on Linux";

/// There are no views here.
pub enum Rehearsals {}

/// There are no views here.
pub enum RunViews {}

/// There are no views here.
pub enum CollectedRun {}

/// There is nothing to undo here.
pub enum UndoStore {}

/// There are no file tools here.
pub struct FileEffects;

impl FileEffects {
    /// Creates a guard that refuses everything.
    #[must_use]
    pub fn new(_: &Config, _: &Path) -> Self {
        Self
    }
}

/// Nothing can be kept here.
pub enum EditStore {}

impl EditStore {
    /// Fails.
    ///
    /// # Errors
    /// Always fails.
    pub fn open(_: &Config, _: &Path) -> Result<Self, String> {
        Err(NO_VIEWS.to_owned())
    }

    /// Keeps what is at paths.
    ///
    /// # Errors
    /// Never called.
    pub fn keep(&self, _: &[PathBuf], _: &str, _: &str) -> Result<EditId, EditError> {
        match *self {}
    }

    /// Records what an edit has changed.
    ///
    /// # Errors
    /// Never called.
    pub fn settle(&self, _: &EditId) -> Result<Vec<CommitRecord>, EditError> {
        match *self {}
    }

    /// Notes that the audit log has these commits.
    pub fn mark_logged(&self, _: &[CommitRecord]) {
        match *self {}
    }
}

impl ChangeGuard for FileEffects {
    fn effects(&self, _: &RootView<'_>, _: &[PlannedChange<'_>]) -> Result<(Effects, EffectsPolicy), String> {
        Err(NO_VIEWS.to_owned())
    }
}

impl Rehearsals {
    /// Fails.
    ///
    /// # Errors
    /// Always fails.
    pub fn open(_: &Config, _: &Path) -> Result<Self, String> {
        Err(NO_VIEWS.to_owned())
    }

    /// Returns why no view can be made.
    #[must_use]
    pub fn obstacle(&self, _: &Sandbox) -> Option<String> {
        match *self {}
    }

    /// Makes views.
    ///
    /// # Errors
    /// Never called.
    pub fn views(
        &self,
        _: &mut OSProfile,
        _: &Path,
        _: &[PathBuf],
        _: &[PathBuf],
    ) -> Result<RunViews, String> {
        match *self {}
    }

    /// Returns the folders of build output that exist.
    #[must_use]
    pub fn direct_folders(&self) -> Vec<PathBuf> {
        match *self {}
    }
}

impl RunViews {
    /// Collects the changes.
    ///
    /// # Errors
    /// Never called.
    pub fn collect(self) -> Result<CollectedRun, String> {
        match self {}
    }
}

impl CollectedRun {
    /// Whether the run must be repeated.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        match *self {}
    }

    /// Says what the run wrote to places that are thrown away.
    #[must_use]
    pub fn lost(&self) -> Option<&str> {
        match *self {}
    }

    /// Holds the changes back.
    #[must_use]
    pub fn hold(self, _: &Rehearsals, _: Vec<RunFact>, _: String) -> Arc<dyn HeldChanges> {
        match self {}
    }
}

impl UndoStore {
    /// Fails.
    ///
    /// # Errors
    /// Always fails.
    pub fn open(_: &Path, _: &Path) -> Result<Self, UndoError> {
        Err(UndoError::Store(NO_VIEWS.to_owned()))
    }

    /// There is no store.
    #[must_use]
    pub fn exists(_: &Path) -> bool {
        false
    }

    /// Returns the folder in which a store would be.
    #[must_use]
    pub fn folder(state: &Path) -> PathBuf {
        state.join("changes")
    }

    /// Returns how many bytes the store keeps.
    ///
    /// # Errors
    /// Never called.
    pub fn kept_bytes(&self) -> Result<u64, UndoError> {
        match *self {}
    }

    /// Returns the commits.
    ///
    /// # Errors
    /// Never called.
    pub fn list(&self) -> Result<Vec<UndoEntry>, UndoError> {
        match *self {}
    }

    /// Returns the paths of a commit.
    ///
    /// # Errors
    /// Never called.
    pub fn paths(&self, _: &str) -> Result<Vec<UndoPath>, UndoError> {
        match *self {}
    }

    /// Returns the newest commit.
    ///
    /// # Errors
    /// Never called.
    pub fn last(&self) -> Result<UndoEntry, UndoError> {
        match *self {}
    }

    /// Undoes a commit.
    ///
    /// # Errors
    /// Never called.
    pub fn undo(&self, _: &str) -> Result<CommitRecord, UndoError> {
        match *self {}
    }

    /// Redoes a commit.
    ///
    /// # Errors
    /// Never called.
    pub fn redo(&self, _: &str) -> Result<(), UndoError> {
        match *self {}
    }

    /// Returns the commits that are not in the audit log.
    ///
    /// # Errors
    /// Never called.
    pub fn unlogged(&self, _: Duration) -> Result<Vec<CommitRecord>, UndoError> {
        match *self {}
    }

    /// Notes that the audit log has a commit.
    pub fn mark_logged(&self, _: &CommitRecord) {
        match *self {}
    }
}
