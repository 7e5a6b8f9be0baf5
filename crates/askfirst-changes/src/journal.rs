//! The journal of a commit, and the state that its file name tells.
//!
//! A journal is written and synced under a temporary name, then renamed. Each later rename changes the state in one step.

use std::os::fd::OwnedFd;

use rustix::fs::AtFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::beneath;
use crate::change::{Change, RootId};
use crate::error::{ChangeError, failed};
use crate::operation::{Direction, Operation};
use crate::store::CommitFolder;

/// How far a commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitState {
    /// The commit is being applied for the first time.
    Sealed,
    /// An undone commit is being applied again.
    Redoing,
    /// The commit is being undone.
    Undoing,
    /// The commit met a conflict and is being taken back.
    TakingBack,
    /// A conflict remains. The store keeps everything that was replaced.
    Torn,
    /// The commit was undone.
    Undone,
    /// The commit was applied.
    Done,
}

impl CommitState {
    /// All states; one in which work is left comes before those in which none is.
    const ALL: [Self; 7] =
        [Self::TakingBack, Self::Sealed, Self::Redoing, Self::Undoing, Self::Torn, Self::Undone, Self::Done];

    /// The state as a word, which is also the name of the journal.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::Redoing => "redoing",
            Self::Undoing => "undoing",
            Self::TakingBack => "taking-back",
            Self::Torn => "torn",
            Self::Undone => "undone",
            Self::Done => "done",
        }
    }

    /// The direction of the work that is left.
    pub(crate) fn direction(self) -> Option<Direction> {
        match self {
            Self::Sealed | Self::Redoing => Some(Direction::Forward),
            Self::Undoing | Self::TakingBack => Some(Direction::Backward),
            Self::Torn | Self::Undone | Self::Done => None,
        }
    }

    /// The state after the work, or `None` if the journal is then removed.
    pub(crate) fn next(self) -> Option<Self> {
        match self {
            Self::Sealed | Self::Redoing => Some(Self::Done),
            Self::Undoing => Some(Self::Undone),
            Self::TakingBack => None,
            Self::Torn | Self::Undone | Self::Done => Some(self),
        }
    }

    /// The state in which the work is taken back.
    pub(crate) fn reversed(self) -> Self {
        match self {
            Self::Sealed => Self::TakingBack,
            Self::Redoing => Self::Undoing,
            Self::Undoing => Self::Redoing,
            Self::TakingBack | Self::Torn | Self::Undone | Self::Done => Self::Torn,
        }
    }

    /// Returns the state of a commit folder, or `None` if it has no journal.
    pub(crate) fn of(folder: &OwnedFd) -> Result<Option<Self>, ChangeError> {
        for state in Self::ALL {
            let name = state.as_str().as_bytes();
            if beneath::stat(folder, name).map_err(failed("inspect", name))?.is_some() {
                return Ok(Some(state));
            }
        }
        Ok(None)
    }

    /// Changes the state in one step.
    pub(crate) fn become_state(self, commit: &CommitFolder, next: Option<Self>) -> Result<(), ChangeError> {
        let name = self.as_str().as_bytes();
        let renamed = match next {
            Some(next) => commit.disk.rename_over(&commit.folder, name, next.as_str().as_bytes()),
            None => commit.disk.remove(&commit.folder, name, AtFlags::empty()),
        };
        renamed.map_err(failed("rename the journal", name))
    }
}

/// Everything that is needed to go on in either direction.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Journal {
    pub(crate) root: RootId,
    /// Whether the new objects are copies, because the upper layer is on another file system.
    pub(crate) is_copied: bool,
    pub(crate) rows: Vec<Change>,
    pub(crate) operations: Vec<Operation>,
}

impl Journal {
    /// Reads the journal of a state.
    pub(crate) fn read(folder: &OwnedFd, state: CommitState) -> Result<Self, ChangeError> {
        let name = state.as_str().as_bytes();
        let bytes = beneath::read_whole(folder, name).map_err(failed("read", name))?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Writes the journal under its temporary name.
    pub(crate) fn write(&self, commit: &CommitFolder) -> Result<(), ChangeError> {
        let fault = || failed("write", NEW);
        let bytes = serde_json::to_vec(self)?;
        let CommitFolder { folder, disk, .. } = commit;
        let written = || {
            disk.remove(folder, NEW, AtFlags::empty())?;
            let file = disk.make_file(folder, NEW)?;
            disk.write(&file, &bytes)?;
            disk.sync(&file)
        };
        written().map_err(|error: Errno| fault()(error))
    }

    /// Puts the written journal in the place of the journal of this state, which may not exist.
    pub(crate) fn replace(commit: &CommitFolder, state: CommitState) -> Result<(), ChangeError> {
        let name = state.as_str().as_bytes();
        commit.disk.rename_over(&commit.folder, NEW, name).map_err(failed("rename the journal", name))
    }
}

const NEW: &[u8] = b"journal.new";
