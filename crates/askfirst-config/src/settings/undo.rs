//! The settings for undoing committed changes.

/// How much askfirst keeps to undo committed changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoConfig {
    /// How many commits can be undone.
    pub keep: usize,
    /// For how many days askfirst keeps content that git cannot restore.
    pub days: u64,
    /// How many bytes of replaced content askfirst keeps.
    pub size: u64,
    /// Whether a deletion that undo can restore needs a question.
    pub deletes: UndoDeletes,
}

impl Default for UndoConfig {
    fn default() -> Self {
        Self { keep: 50, days: 7, size: 1 << 30, deletes: UndoDeletes::Commit }
    }
}

/// Whether a deletion that undo can restore needs a question. Variants are ordered by strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum UndoDeletes {
    /// It is committed like any other change.
    #[default]
    Commit,
    /// askfirst asks about it.
    Ask,
}

impl UndoDeletes {
    /// Returns the word for it in a config file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Ask => "ask",
        }
    }
}
