//! Committed changes as a person sees them, and why they could not be undone.

use std::path::PathBuf;

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
    /// The commit is about another folder.
    #[error("commit `{0}` changed another folder; hint: run this command there")]
    OtherFolder(String),
    /// There is nothing to undo.
    #[error("no changes to undo here")]
    Nothing,
    /// The changes cannot be taken back.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Changes(#[from] askfirst_changes::ChangeError),
}
