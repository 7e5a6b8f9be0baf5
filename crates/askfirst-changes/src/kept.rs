//! Changes that other code makes itself: the store copies what is there before, and records afterward what has changed.
//!
//! A copy is complete on the disk before the caller may change anything. If the caller is killed, or never says that it is
//! done, [`ChangeStore::recover`] records what has changed until then.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::AtFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::apply::{TopFolder, conflict};
use crate::beneath::{self, MAX_PATH};
use crate::change::{Carrier, Change, ChangeKind, ChangeSet, RootId};
use crate::collect::{CollectLimits, Depth, Walk, root_id};
use crate::commit::{CommitOptions, OldContent, open_root};
use crate::copied::{BEFORE, Copier, fresh};
use crate::error::{ChangeError, TooLarge, failed};
use crate::history::CommitSummary;
use crate::journal::{CommitState, Journal};
use crate::object::raw;
use crate::operation::{self, Action};
use crate::store::{ChangeStore, CommitFolder};

/// The file of a commit folder that lists what was copied, until the edit is settled.
const KEPT: &[u8] = b"kept";

/// How to keep what an edit replaces.
#[derive(Debug, Clone, Default)]
pub struct EditOptions {
    /// A text for the list of commits.
    pub note: String,
    /// How long the edit may take after its process has ended. Then a recovery settles it.
    pub lasts: Duration,
    /// How much may be copied.
    pub limits: CollectLimits,
}

#[derive(Serialize, Deserialize)]
struct KeptEdit {
    root: RootId,
    note: String,
    /// When it began and when a recovery may settle it, in seconds since 1970.
    made: u64,
    expires: u64,
    paths: Vec<KeptPath>,
}

#[derive(Serialize, Deserialize)]
struct KeptPath {
    #[serde(with = "raw")]
    path: Vec<u8>,
}

/// An edit that may begin now: everything that it replaces is copied. While this exists, no recovery settles it.
#[derive(Debug)]
pub struct PendingEdit {
    store: ChangeStore,
    commit: CommitFolder,
    root: OwnedFd,
}

impl PendingEdit {
    /// The id of the edit, which becomes the id of the commit.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.commit.id
    }

    /// Records what has changed. Returns `None` if nothing has.
    ///
    /// # Errors
    ///
    /// Fails if the changes cannot be read or recorded. The next recovery tries again.
    pub fn settle(self) -> Result<Option<CommitSummary>, ChangeError> {
        settle(&self.store, &self.commit, &self.root, EmptyEdit::Dropped)
    }
}

impl ChangeStore {
    /// Copies what is at these paths, before the caller or another program changes them.
    ///
    /// # Errors
    ///
    /// Fails if something cannot be copied as a whole. The caller must then not rely on undo.
    pub fn keep<'p>(
        &self,
        root: impl AsFd,
        paths: impl IntoIterator<Item = &'p Path>,
        options: &EditOptions,
    ) -> Result<PendingEdit, ChangeError> {
        let root = beneath::open_folder(root, b"").map_err(failed("open", b"."))?;
        let paths: Result<Vec<_>, _> = paths.into_iter().map(|path| existing_top(&root, path)).collect();
        let paths = outermost(paths?);
        let pending = self.begin(&root)?;
        let kept = copy_all(&pending.commit, &root, paths, options);
        if let Err(error) = kept.and_then(|()| self.sync_names()) {
            pending.discard()?;
            return Err(error);
        }
        Ok(PendingEdit { store: self.clone(), commit: pending.commit, root })
    }

    /// Records what an edit has changed, whichever process began it. Returns `None` if nothing has changed.
    ///
    /// `root_of` opens the folder with this inode, or returns `None`.
    ///
    /// # Errors
    ///
    /// Fails if there is no such edit, if its process still works on it, or if the changes cannot be recorded.
    pub fn settle(
        &self,
        id: &str,
        root_of: impl FnOnce(RootId) -> Option<OwnedFd>,
    ) -> Result<Option<CommitSummary>, ChangeError> {
        let commit = self.open_commit(id)?;
        match (read(&commit)?, commit.state()?) {
            // It was settled before.
            (_, Some(_)) => CommitSummary::read(&commit).map(Some),
            (None, None) => Err(ChangeError::UnknownCommit(id.to_owned())),
            (Some(kept), None) => {
                let root = root_of(kept.root).ok_or_else(|| ChangeError::OtherRoot(id.to_owned()))?;
                let root = open_root(root, id, kept.root.inode)?;
                settle(self, &commit, &root, EmptyEdit::Dropped)
            }
        }
    }

    /// Records what edits have changed that began at least `age` ago and are not settled. Those without a change stay.
    ///
    /// # Errors
    ///
    /// Fails only if the store cannot be listed. A later call tries the others again.
    pub fn settle_changed(
        &self,
        age: Duration,
        mut root_of: impl FnMut(RootId) -> Option<OwnedFd>,
    ) -> Result<(), ChangeError> {
        for (commit, kept) in self.unsettled()? {
            let is_old = seconds(SystemTime::now()).saturating_sub(kept.made) >= age.as_secs();
            if let Some(root) = root_of(kept.root).filter(|_| is_old) {
                drop(settle(self, &commit, &root, EmptyEdit::StillPending));
            }
        }
        Ok(())
    }

    /// Returns the roots and the notes of the edits that are not settled.
    ///
    /// # Errors
    ///
    /// Fails only if the store cannot be listed.
    pub fn pending_edits(&self) -> Result<Vec<(RootId, String)>, ChangeError> {
        Ok(self.unsettled()?.into_iter().map(|(_, kept)| (kept.root, kept.note)).collect())
    }

    /// Returns the edits that are not settled, and on which no process works.
    fn unsettled(&self) -> Result<Vec<(CommitFolder, KeptEdit)>, ChangeError> {
        let mut found = Vec::new();
        for name in self.names()? {
            // Only an edit has this file, and almost all commits are settled.
            let path = [name.as_bytes(), b"/", KEPT].concat();
            if !beneath::stat(&*self.commits, &path).is_ok_and(|found| found.is_some()) {
                continue;
            }
            let Ok(commit) = self.open_commit(&name) else { continue };
            if let (Ok(Some(kept)), Ok(None)) = (read(&commit), commit.state()) {
                found.push((commit, kept));
            }
        }
        Ok(found)
    }

    fn sync_names(&self) -> Result<(), ChangeError> {
        self.disk.sync(&*self.commits).map_err(failed("sync", b"commits"))
    }
}

/// The treatment of an edit that has changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmptyEdit {
    /// Its copies are dropped.
    Dropped,
    /// It may still begin.
    StillPending,
}

/// The state of an edit that a recovery finds.
pub(crate) enum FoundEdit {
    /// There is none, or it was settled.
    None,
    /// Another process may still be at it.
    Pending,
    /// It must be settled in this root.
    Expired(RootId),
}

/// Looks for an edit that is not settled in a commit folder.
pub(crate) fn find(commit: &CommitFolder) -> Result<FoundEdit, ChangeError> {
    match (read(commit)?, commit.state()?) {
        (None, _) => Ok(FoundEdit::None),
        (Some(_), Some(_)) => {
            // The process was killed after it had recorded everything.
            remove(commit)?;
            Ok(FoundEdit::None)
        }
        (Some(kept), None) if kept.expires > seconds(SystemTime::now()) => Ok(FoundEdit::Pending),
        (Some(kept), None) => Ok(FoundEdit::Expired(kept.root)),
    }
}

fn read(commit: &CommitFolder) -> Result<Option<KeptEdit>, ChangeError> {
    match beneath::read_whole(&commit.folder, KEPT) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(failed("read", KEPT)(error)),
    }
}

fn remove(commit: &CommitFolder) -> Result<(), ChangeError> {
    commit.disk.remove(&commit.folder, KEPT, AtFlags::empty()).map_err(failed("remove", KEPT))
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Returns the path itself, or the topmost folder on its way that does not exist.
fn existing_top(root: &OwnedFd, path: &Path) -> Result<Vec<u8>, ChangeError> {
    let unsupported = |reason| ChangeError::Unsupported { path: path.to_owned(), reason };
    if path.as_os_str().len() > MAX_PATH {
        return Err(TooLarge::Path(MAX_PATH).into());
    }
    let mut at = PathBuf::new();
    for part in path.components() {
        let Component::Normal(name) = part else {
            return Err(unsupported("it is not a path beneath the root"));
        };
        let folder = beneath::open_lookup(root, at.as_os_str().as_bytes());
        let folder = folder.map_err(|error| match error {
            Errno::XDEV => unsupported("it is on another file system than the root"),
            Errno::LOOP | Errno::NOTDIR => unsupported("a part of the path is not a folder"),
            error => failed("open", at.as_os_str().as_bytes())(error),
        })?;
        at.push(name);
        let bytes = at.as_os_str().as_bytes();
        if beneath::stat(&folder, name.as_bytes()).map_err(failed("inspect", bytes))?.is_none() {
            break;
        }
    }
    if at.as_os_str().is_empty() {
        return Err(unsupported("it is the root itself"));
    }
    Ok(at.into_os_string().as_bytes().to_vec())
}

/// Returns the paths without those in a folder that is in the list too.
fn outermost(mut paths: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    paths.sort_unstable();
    paths.dedup();
    let is_below =
        |path: &[u8], above: &[u8]| path.strip_prefix(above).is_some_and(|rest| rest.starts_with(b"/"));
    let all = paths.clone();
    paths.retain(|path| !all.iter().any(|above| is_below(path, above)));
    paths
}

/// Copies everything, and then writes the list that makes it an edit.
fn copy_all(
    commit: &CommitFolder,
    root: &OwnedFd,
    paths: Vec<Vec<u8>>,
    options: &EditOptions,
) -> Result<(), ChangeError> {
    let copies = fresh(commit.disk, &commit.folder, BEFORE)?;
    let mut copier = Copier::synced(commit.disk, &copies);
    let mut top = TopFolder::new(beneath::open_folder(root, b"").map_err(failed("open", b"."))?);
    let mut walk = Walk::new(options.limits);
    for (number, path) in paths.iter().enumerate() {
        let Some(parent) = top.parent(path)? else { return Err(conflict(path)) };
        let place = (parent, beneath::split(path).1);
        walk.rows.clear();
        walk.pair(path, Some(place), None, Carrier::Own)?;
        let original = std::mem::take(&mut walk.rows);
        let unreadable =
            original.iter().find(|row| row.before.as_ref().is_some_and(|object| object.is_unreadable));
        if let Some(row) = unreadable {
            return Err(ChangeError::Unsupported {
                path: row.path().to_owned(),
                reason: "it cannot be read",
            });
        }
        let name = number.to_string().into_bytes();
        copier.copy(path, place, &name)?;
        let mut check = Walk::unlimited(Depth::Content);
        check.pair(path, Some((&copies, &name)), None, Carrier::Own)?;
        let same = |(copy, row): (&Change, &Change)| {
            copy.path == row.path
                && copy
                    .before
                    .as_ref()
                    .zip(row.before.as_ref())
                    .is_some_and(|(copy, row)| copy.is_same_copy(row))
        };
        if check.rows.len() != original.len() || !check.rows.iter().zip(&original).all(same) {
            return Err(conflict(path));
        }
    }
    let made = seconds(SystemTime::now());
    let expires = made.saturating_add(options.lasts.as_secs());
    let paths = paths.into_iter().map(|path| KeptPath { path }).collect();
    let kept = KeptEdit { root: root_id(root)?, note: options.note.clone(), made, expires, paths };
    commit.disk.sync(&copies).map_err(failed("sync", BEFORE))?;
    commit
        .disk
        .write_whole(&commit.folder, KEPT, &serde_json::to_vec(&kept)?)
        .map_err(failed("write", KEPT))?;
    commit.disk.sync(&commit.folder).map_err(failed("sync", KEPT))
}

/// Records what has changed since the copies were made, or drops them.
pub(crate) fn settle(
    store: &ChangeStore,
    commit: &CommitFolder,
    root: &OwnedFd,
    empty: EmptyEdit,
) -> Result<Option<CommitSummary>, ChangeError> {
    let kept = read(commit)?.ok_or_else(|| ChangeError::UnknownCommit(commit.id.clone()))?;
    let (mut rows, mut numbers) = (Vec::new(), Vec::new());
    let copies = beneath::open_folder(&commit.folder, BEFORE).map_err(failed("open", BEFORE))?;
    let mut top = TopFolder::new(beneath::open_folder(root, b"").map_err(failed("open", b"."))?);
    let mut walk = Walk::unlimited(Depth::Content);
    walk.keeps_unchanged = true;
    for (number, KeptPath { path }) in kept.paths.iter().enumerate() {
        let name = number.to_string().into_bytes();
        let now = top.parent(path)?.map(|parent| (parent, beneath::split(path).1));
        walk.rows.clear();
        walk.pair(path, Some((&copies, &name)), now, Carrier::Own)?;
        let is_same = |row: &Change| matches!(row.kind(), ChangeKind::Unchanged | ChangeKind::Times);
        if !walk.rows.iter().all(is_same) {
            numbers.push((path, number));
            rows.append(&mut walk.rows);
        }
    }
    if rows.is_empty() {
        if empty == EmptyEdit::Dropped {
            store.drop_commit(commit)?;
        }
        return Ok(None);
    }
    let _locked = store.lock_root(root_id(root)?)?;
    let mut operations = operation::plan(root, &rows)?;
    for operation in &mut operations {
        let found = numbers.iter().find(|(path, _)| **path == operation.path);
        let Some((_, number)) = found.filter(|_| operation.rows != (0, 0)) else { continue };
        operation.copy = Some(*number);
        if matches!(operation.action, Action::Attributes) {
            // The program may have replaced the file, so its old attributes come back with the copy.
            operation.action = Action::Replace;
        }
    }
    let changes = ChangeSet::new(root_id(root)?, rows);
    let replaced = if changes.replaced_bytes() == 0 { OldContent::Elsewhere } else { OldContent::OnlyHere };
    let options = CommitOptions { note: kept.note, replaced, ..CommitOptions::default() };
    let summary = CommitSummary::new(&commit.id, &changes, &options);
    summary.write(commit)?;
    let journal = Journal { root: changes.root, is_copied: true, rows: changes.rows, operations };
    journal.write(commit)?;
    Journal::replace(commit, CommitState::Done)?;
    remove(commit)?;
    commit.disk.sync(&commit.folder).map_err(failed("sync", KEPT))?;
    Ok(Some(summary))
}
