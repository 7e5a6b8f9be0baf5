//! Errors of the audit log, in words for the user.

use std::io;
use std::path::{Path, PathBuf};

/// Why the audit log cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file or folder could not be opened or created.
    #[error("cannot open `{}`: {cause}", .path.display())]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// The file is not safe to use as an audit log.
    #[error("cannot use `{}` as the audit log: {why}", .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The problem with the file.
        why: String,
    },
    /// A write, sync or rename failed.
    #[error("cannot {step} `{}`: {cause}", .path.display())]
    Step {
        /// The step that failed.
        step: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// Only a part of an entry was written.
    #[error("only {written} of {length} bytes fit into `{}`", .path.display())]
    Short {
        /// The file.
        path: PathBuf,
        /// The number of bytes that were written.
        written: usize,
        /// The number of bytes of the entry.
        length: usize,
    },
    /// Another process has held the lock for too long.
    #[error("`{}` is locked by another process", .0.display())]
    Locked(PathBuf),
    /// The end of the file contains no whole entry.
    #[error("no whole entry in the last {searched} bytes of `{}`", .path.display())]
    NoGoodLine {
        /// The file.
        path: PathBuf,
        /// How many bytes from the end were searched.
        searched: u64,
    },
    /// The entry is larger than the longest line that can be read.
    #[error("the entry has {0} bytes, more than the audit log can hold")]
    TooLarge(usize),
    /// The entry cannot be written as JSON.
    #[error("the entry cannot be written: {0}")]
    Json(#[from] serde_json::Error),
    /// The file kept being removed or closed while an entry was being written.
    #[error("`{}` kept changing while it was being opened", .0.display())]
    Restless(PathBuf),
    /// The folder for the head of the audit log cannot be used.
    #[error("cannot store the head of the audit log: {0}")]
    HeadFolder(#[from] crate::sessions::SessionsError),
    /// A thread panicked while it was using the audit log.
    #[error("the audit log ends in the middle of an entry")]
    Broken,
}

impl LedgerError {
    pub(super) fn step(step: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Step { step, path: path.to_owned(), cause }
    }

    pub(super) fn open(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Open { path: path.to_owned(), cause }
    }

    /// Returns advice for the user.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Refused { .. } => {
                Some("an audit log must be a plain file that belongs to you and that no one else can write")
            }
            Self::Locked(_) => Some("another session may be stopped in the middle of an entry"),
            Self::NoGoodLine { .. } => {
                Some("`askfirst log verify` shows where; move the file away to begin a new one")
            }
            Self::Open { .. }
            | Self::Step { .. }
            | Self::Short { .. }
            | Self::TooLarge(_)
            | Self::Json(_)
            | Self::Restless(_)
            | Self::HeadFolder(_)
            | Self::Broken => None,
        }
    }
}
