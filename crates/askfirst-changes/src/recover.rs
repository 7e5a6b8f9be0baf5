//! Finishes what a killed process or a power cut left behind.

use std::os::fd::OwnedFd;

use crate::change::RootId;
use crate::collect::root_id;
use crate::commit::{open_root, run};
use crate::error::ChangeError;
use crate::journal::{CommitState, Journal};
use crate::kept::{self, EmptyEdit, FoundEdit};
use crate::store::{ChangeStore, CommitFolder, DROPPED};

/// The result for one commit.
#[derive(Debug)]
pub enum RecoveredCommit {
    /// It was applied, undone or taken back as a whole. The state is the one that was found.
    Finished(CommitState),
    /// It had not begun, and was dropped.
    Dropped,
    /// Another process works on it, or on an edit that it began.
    Busy,
    /// The caller could not open its root.
    NoRoot(RootId),
    /// It could not be finished.
    Failed(ChangeError),
}

impl ChangeStore {
    /// Finishes every commit that was being applied, undone or taken back, and drops those that had not begun.
    ///
    /// `open_root` opens the folder with this inode, or returns `None`.
    ///
    /// # Errors
    ///
    /// Fails only if the store cannot be listed.
    pub fn recover(
        &self,
        mut root_of: impl FnMut(RootId) -> Option<OwnedFd>,
    ) -> Result<Vec<(String, RecoveredCommit)>, ChangeError> {
        let mut report = Vec::new();
        for name in self.names()? {
            if name.starts_with(DROPPED) {
                // A folder that cannot be removed now is tried again at the next start.
                let _ = self.disk.remove_tree(&self.commits, name.as_bytes());
                continue;
            }
            let recovered = match self.open_commit(&name) {
                Ok(commit) => self.recover_one(&commit, &mut root_of),
                Err(ChangeError::WrongState { .. }) => Ok(Some(RecoveredCommit::Busy)),
                Err(ChangeError::UnknownCommit(_)) => Ok(None),
                Err(error) => Err(error),
            };
            match recovered {
                Ok(Some(result)) => report.push((name, result)),
                Ok(None) => {}
                Err(error) => report.push((name, RecoveredCommit::Failed(error))),
            }
        }
        Ok(report)
    }

    fn recover_one(
        &self,
        commit: &CommitFolder,
        root_of: &mut dyn FnMut(RootId) -> Option<OwnedFd>,
    ) -> Result<Option<RecoveredCommit>, ChangeError> {
        match kept::find(commit)? {
            FoundEdit::None => {}
            FoundEdit::Pending => return Ok(Some(RecoveredCommit::Busy)),
            FoundEdit::Expired(id) => {
                let Some(root) = root_of(id) else { return Ok(Some(RecoveredCommit::NoRoot(id))) };
                let root = open_root(root, &commit.id, id.inode)?;
                let settled = kept::settle(self, commit, &root, EmptyEdit::Dropped)?;
                let finished = settled.map(|_| RecoveredCommit::Finished(CommitState::Done));
                return Ok(Some(finished.unwrap_or(RecoveredCommit::Dropped)));
            }
        }
        let state = commit.state()?;
        let work = state.filter(|state| state.direction().is_some());
        let journal = work.map(|state| Journal::read(&commit.folder, state)).transpose()?;
        let id = match &journal {
            Some(journal) => Some(journal.root),
            None => commit.staged()?,
        };
        if let Some(id) = id {
            let Some(root) = root_of(id) else { return Ok(Some(RecoveredCommit::NoRoot(id))) };
            let root = open_root(root, &commit.id, id.inode)?;
            let _locked = self.lock_root(root_id(&root)?)?;
            match (&journal, work) {
                (Some(journal), Some(state)) => run(commit, &root, journal, state)?,
                _ => commit.remove_stage(&root)?,
            }
        }
        if state.is_none() || state == Some(CommitState::TakingBack) {
            self.drop_commit(commit)?;
        }
        Ok(match state {
            None => Some(RecoveredCommit::Dropped),
            Some(_) => work.map(RecoveredCommit::Finished),
        })
    }
}
