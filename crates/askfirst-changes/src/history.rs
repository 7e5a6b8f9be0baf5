//! The list of commits, and which of them the store keeps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::beneath;
use crate::change::{Change, ChangeKind, ChangeSet, RootId, bytes};
use crate::commit::{CommitOptions, OldContent};
use crate::error::{ChangeError, failed};
use crate::journal::{CommitState, Journal};
use crate::store::{ChangeStore, CommitFolder, DROPPED};

const SUMMARY: &[u8] = b"summary";

/// A commit in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSummary {
    /// The id of the commit.
    pub id: String,
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// The root that it changed.
    pub root: RootId,
    /// The caller's text.
    pub note: String,
    /// How many paths were added.
    pub added: usize,
    /// How many paths were changed.
    pub changed: usize,
    /// How many paths were removed.
    pub removed: usize,
    /// How many bytes the store keeps for it.
    pub kept_bytes: u64,
    /// Whether only the store has the replaced content.
    pub is_only_copy: bool,
}

impl CommitSummary {
    pub(crate) fn new(id: &str, changes: &ChangeSet, options: &CommitOptions) -> Self {
        let kinds: Vec<ChangeKind> = changes.changes().map(Change::kind).collect();
        let count = |kind| kinds.iter().filter(|found| **found == kind).count();
        let (added, removed) = (count(ChangeKind::Added), count(ChangeKind::Removed));
        let new = bytes(changes.rows().iter().filter_map(|row| row.after.as_ref()));
        Self {
            id: id.to_owned(),
            made: seconds(SystemTime::now()),
            root: changes.root(),
            note: options.note.clone(),
            added,
            changed: kinds.len().saturating_sub(added + removed),
            removed,
            // After an undo, the store keeps the new objects instead.
            kept_bytes: changes.replaced_bytes().max(new),
            is_only_copy: options.replaced == OldContent::OnlyHere,
        }
    }

    pub(crate) fn write(&self, commit: &CommitFolder) -> Result<(), ChangeError> {
        let text = serde_json::to_vec(self)?;
        commit.disk.write_whole(&commit.folder, SUMMARY, &text).map_err(failed("write", SUMMARY))
    }

    pub(crate) fn read(commit: &CommitFolder) -> Result<Self, ChangeError> {
        let text = beneath::read_whole(&commit.folder, SUMMARY).map_err(failed("read", SUMMARY))?;
        Ok(serde_json::from_slice(&text)?)
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// How long and how much the store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepLimits {
    /// The number of commits.
    pub commits: usize,
    /// The time after which a commit is dropped.
    pub age: Duration,
    /// The bytes of all commits together.
    pub bytes: u64,
}

impl Default for KeepLimits {
    fn default() -> Self {
        Self { commits: 50, age: Duration::from_secs(7 * 24 * 3600), bytes: 1 << 30 }
    }
}

impl ChangeStore {
    /// Lists the finished commits, the newest first, with their states.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read. Leaves out commits that another process works on.
    pub fn list(&self) -> Result<Vec<(CommitSummary, CommitState)>, ChangeError> {
        let mut found = Vec::new();
        for id in self.names()?.iter().rev() {
            found.extend(self.listed(id)?);
        }
        Ok(found)
    }

    /// Returns a finished commit that no other process works on.
    fn listed(&self, id: &str) -> Result<Option<(CommitSummary, CommitState)>, ChangeError> {
        if id.starts_with(DROPPED) {
            return Ok(None);
        }
        let commit = match self.open_commit(id) {
            Ok(commit) => commit,
            Err(ChangeError::WrongState { .. } | ChangeError::UnknownCommit(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let state = commit.state()?;
        state.map(|state| Ok((CommitSummary::read(&commit)?, state))).transpose()
    }

    /// Returns everything that a commit changed, with digests and in the order of the paths.
    ///
    /// # Errors
    ///
    /// Fails if there is no such commit, or if its journal cannot be read.
    pub fn show(&self, id: &str) -> Result<Vec<Change>, ChangeError> {
        let commit = self.open_commit(id)?;
        let state = commit.state()?.ok_or_else(|| ChangeError::UnknownCommit(id.to_owned()))?;
        Ok(Journal::read(&commit.folder, state)?.rows)
    }

    /// Drops what exceeds the limits, the oldest first, and returns the ids. A commit whose replaced content exists
    /// nowhere else stays until its age exceeds the limit.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read or changed.
    pub fn prune(&self, limits: &KeepLimits, now: SystemTime) -> Result<Vec<String>, ChangeError> {
        let (mut count, mut sum) = (0, 0_u64);
        let mut dropped = Vec::new();
        for (summary, state) in self.list()? {
            count += 1;
            sum = sum.saturating_add(summary.kept_bytes);
            let is_old = limits.is_past(&summary, now);
            let is_too_much = !summary.is_only_copy && (count > limits.commits || sum > limits.bytes);
            if state.direction().is_some() || !(is_old || is_too_much) {
                continue;
            }
            sum = sum.saturating_sub(summary.kept_bytes);
            count -= 1;
            // Another process may have begun to undo it.
            let Ok(commit) = self.open_commit(&summary.id) else { continue };
            if commit.state()?.is_some_and(|state| state.direction().is_none()) {
                self.drop_commit(&commit)?;
                dropped.push(summary.id);
            }
        }
        Ok(dropped)
    }

    /// Returns true if the store can keep `bytes` more without dropping the only copy of anything too early.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub fn would_fit(&self, bytes: u64, limits: &KeepLimits, now: SystemTime) -> Result<bool, ChangeError> {
        Ok(self.only_copies(limits, now)?.saturating_add(bytes) <= limits.bytes)
    }

    /// Returns how many bytes the store keeps that exist nowhere else and are too young to be dropped.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub fn only_copies(&self, limits: &KeepLimits, now: SystemTime) -> Result<u64, ChangeError> {
        let listed = self.list()?;
        let firm = listed.iter().filter(|(summary, _)| summary.is_only_copy && !limits.is_past(summary, now));
        Ok(firm.fold(0_u64, |sum, (summary, _)| sum.saturating_add(summary.kept_bytes)))
    }
}

/// The file in a commit folder that says that the audit log has the commit.
const LOGGED: &[u8] = b"logged";

impl ChangeStore {
    /// Marks a commit as written to the audit log.
    ///
    /// # Errors
    ///
    /// Fails if the mark cannot be made.
    pub fn mark_logged(&self, id: &str) -> Result<(), ChangeError> {
        let commit = self.open_commit(id)?;
        commit.disk.write_whole(&commit.folder, LOGGED, b"").map_err(failed("write", LOGGED))
    }

    /// Returns the finished commits that are older than `age` and not marked as logged: their process was killed.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub fn unlogged(&self, age: Duration, now: SystemTime) -> Result<Vec<CommitSummary>, ChangeError> {
        let is_old = |summary: &CommitSummary| seconds(now).saturating_sub(summary.made) >= age.as_secs();
        let mut found = Vec::new();
        for name in self.names()? {
            // Almost all commits have the mark, so nothing else is read of them.
            let mark = format!("{name}/{}", String::from_utf8_lossy(LOGGED));
            let is_marked =
                rustix::fs::statat(&*self.commits, mark, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok();
            let Some((summary, state)) = (!is_marked).then(|| self.listed(&name)).transpose()?.flatten()
            else {
                continue;
            };
            if state == CommitState::Done && is_old(&summary) {
                found.push(summary);
            }
        }
        Ok(found)
    }
}

impl KeepLimits {
    fn is_past(&self, summary: &CommitSummary, now: SystemTime) -> bool {
        seconds(now).saturating_sub(summary.made) > self.age.as_secs()
    }
}
