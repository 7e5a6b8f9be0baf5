//! Keeps what an edit replaces, so that undo restores it: for the file tools, and for tools of other programs.
//!
//! A coding agent's own tool writes the files itself. askfirst learns of it before and after, often in two processes:
//! [`EditStore::keep`] copies the files before, and [`EditStore::settle`] records what has changed.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use askfirst::record::CommitRecord;
use askfirst_changes::{ChangeError, ChangeStore, CollectLimits, CommitSummary, EditOptions, PendingEdit};
use askfirst_config::{Config, PathMode};

use crate::edit_id::{EditError, EditId};
use crate::rehearsals::{CommitNote, keep_limits, open_root, open_state};
use crate::views::open_folder;

/// How long an edit that has changed nothing yet may still begin: a person may be asked in between.
const LASTS: Duration = Duration::from_secs(24 * 3600);

/// How long the size of the store is assumed to be the same, apart from the edits of this process.
const FRESH: Duration = Duration::from_secs(10);

/// The most files and folders that one edit may replace.
const MAX_FILES: usize = 20_000;

/// Keeps what edits replace.
pub struct EditStore {
    store: ChangeStore,
    config: Config,
    /// The bytes in the store that exist nowhere else, and when they were counted.
    kept: Mutex<Option<(Instant, u64)>>,
}

impl EditStore {
    /// Opens the store in a state folder, for edits in the roots of a config. Finishes what killed processes left.
    ///
    /// # Errors
    /// Fails with the reason if edits in these roots cannot be kept there.
    pub fn open(config: &Config, state: &Path) -> Result<Self, String> {
        let (_, store) = open_state(config, state)?;
        Ok(Self { store, config: config.clone(), kept: Mutex::default() })
    }

    /// Keeps what is at these absolute paths before another program changes them. If a path is a link, keeps the link and
    /// the file that it leads to. `call_id` and `what` describe the edit for undo and for the audit log.
    ///
    /// # Errors
    /// Fails if a path is outside every writable root, or if undo could not restore it. The edit should then be asked about.
    pub fn keep(&self, paths: &[PathBuf], call_id: &str, what: &str) -> Result<EditId, EditError> {
        let mut by_root: BTreeMap<&Path, Vec<PathBuf>> = BTreeMap::new();
        for path in paths.iter().flat_map(|path| real_paths(path)) {
            let (root, below) = self.root_of(&path?)?;
            by_root.entry(root).or_default().push(below);
        }
        let mut begun = Vec::new();
        for (root, paths) in by_root {
            let opened = open_folder(root).map_err(|e| EditError::Io(root.to_owned(), e.into()))?;
            let paths = paths.iter().map(PathBuf::as_path);
            begun.push(self.begin(opened, root, paths, (call_id, what), LASTS)?);
        }
        Ok(EditId::new(begun.iter().map(PendingEdit::id)))
    }

    /// Records what an edit has changed since it was kept. Returns an entry for the audit log for each changed root, without
    /// the process. A second call returns the same entries.
    ///
    /// # Errors
    /// Fails if there is no such edit, or if the changes cannot be recorded.
    pub fn settle(&self, id: &EditId) -> Result<Vec<CommitRecord>, EditError> {
        let mut commits = Vec::new();
        let mut failed = None;
        for id in id.parts() {
            match self.store.settle(id, |root| open_root(&self.config, root)) {
                Ok(Some(summary)) => commits.extend(record(&summary)),
                Ok(None) => {}
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(commits), |error| Err(error.into()))
    }

    /// Notes that the audit log has the entries of these commits, so that the next session need not add them.
    pub fn mark_logged(&self, commits: &[CommitRecord]) {
        for commit in commits {
            // If this fails, the next session logs the commit once more.
            drop(self.store.mark_logged(&commit.commit));
        }
    }

    /// Keeps what is at paths beneath an open root.
    pub(crate) fn begin<'p>(
        &self,
        root: impl AsFd,
        folder: &Path,
        paths: impl IntoIterator<Item = &'p Path>,
        (call_id, what): (&str, &str),
        lasts: Duration,
    ) -> Result<PendingEdit, EditError> {
        let note = CommitNote {
            decision: format!("{call_id}.0"),
            root: folder.to_owned(),
            command: what.to_owned(),
        };
        let limits = keep_limits(&self.config);
        let left = limits.bytes.saturating_sub(self.kept_bytes()?);
        let limits = CollectLimits { files: MAX_FILES, bytes: left, ..CollectLimits::default() };
        Ok(self.store.keep(root, paths, &EditOptions { note: note.to_string(), lasts, limits })?)
    }

    /// Returns whether the store can keep this much more.
    pub(crate) fn has_room(&self, bytes: u64) -> Result<bool, ChangeError> {
        Ok(self.kept_bytes()?.saturating_add(bytes) <= keep_limits(&self.config).bytes)
    }

    fn kept_bytes(&self) -> Result<u64, ChangeError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((counted, bytes)) = *kept
            && counted.elapsed() < FRESH
        {
            return Ok(bytes);
        }
        let bytes = self.store.only_copies(&keep_limits(&self.config), SystemTime::now())?;
        *kept = Some((Instant::now(), bytes));
        Ok(bytes)
    }

    /// Counts an edit of this process, which is in the store now.
    pub(crate) fn count(&self, summary: &CommitSummary) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = &mut *kept {
            *bytes = bytes.saturating_add(summary.kept_bytes);
        }
    }

    /// Returns the deepest writable root that contains a real path, and the path beneath it.
    fn root_of(&self, real: &Path) -> Result<(&Path, PathBuf), EditError> {
        let all = self.config.main.sandbox.paths.values();
        let around = all.filter(|path| real.starts_with(&path.root) && real != path.root);
        let nearest = around.max_by_key(|path| path.root.components().count());
        let root = nearest.filter(|path| path.mode == PathMode::Rw).map(|path| path.root.as_path());
        let root = root.ok_or_else(|| EditError::Outside(real.to_owned()))?;
        let below = real.strip_prefix(root).map_err(|_| EditError::Outside(real.to_owned()))?;
        Ok((root, below.to_owned()))
    }
}

/// Returns the real path of a file or link, and the real path of the file that it leads to, if that is another one.
fn real_paths(path: &Path) -> Vec<Result<PathBuf, EditError>> {
    let fault = |e| EditError::Io(path.to_owned(), e);
    let own = real_parent(path).map_err(fault);
    let leads_to = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Some(path.canonicalize().map_err(fault)),
        Ok(_) | Err(_) => None,
    };
    std::iter::once(own).chain(leads_to).collect()
}

/// Resolves the links on the way to a path, as far as its folders exist, but not the path itself.
fn real_parent(path: &Path) -> std::io::Result<PathBuf> {
    use std::io::{Error, ErrorKind};
    let is_plain = |path: &Path| {
        path.is_absolute() && !path.components().any(|part| part == std::path::Component::ParentDir)
    };
    let (Some(parent), Some(name), true) = (path.parent(), path.file_name(), is_plain(path)) else {
        return Err(Error::new(ErrorKind::InvalidInput, "not the absolute path of a file"));
    };
    match parent.canonicalize() {
        Ok(parent) => Ok(parent.join(name)),
        // A broken link on the way would lead elsewhere once its target exists.
        Err(error) if error.kind() == ErrorKind::NotFound && std::fs::symlink_metadata(parent).is_err() => {
            Ok(real_parent(parent)?.join(name))
        }
        Err(error) => Err(error),
    }
}

/// The entry for the audit log, without the process.
pub(crate) fn record(summary: &CommitSummary) -> Option<CommitRecord> {
    let note = CommitNote::read(&summary.note)?;
    Some(CommitRecord {
        call_id: note.call_id().to_owned(),
        commit: summary.id.clone(),
        root: note.root.display().to_string(),
        changes: None,
        by: None,
    })
}
