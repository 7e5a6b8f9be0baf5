//! The errors of this crate.

use std::path::PathBuf;

use rustix::io::Errno;

/// The limit that a change set exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// Too many files, folders and links.
    #[error("more than {0} files")]
    Files(usize),
    /// Folders within folders.
    #[error("folders more than {0} deep")]
    Depth(usize),
    /// A path that no system call takes.
    #[error("a path of more than {0} bytes")]
    Path(usize),
    /// Too much content.
    #[error("more than {0} bytes to read")]
    Bytes(u64),
}

/// The reason why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The change set exceeds a limit.
    #[error("too many changes: {0}")]
    TooLarge(#[from] TooLarge),
    /// Files are not as they were when they were collected or committed. Nothing was applied.
    #[error("changed meanwhile: {}", list(.0))]
    Conflict(Vec<PathBuf>),
    /// Files changed while a commit was taken back, and these paths are not as they were before. The store keeps
    /// everything that the commit replaced.
    #[error("changed while the commit was taken back: {}", list(.0))]
    Torn(Vec<PathBuf>),
    /// This crate cannot commit such a change.
    #[error("cannot commit `{}`: {reason}", path.display())]
    Unsupported {
        /// The path beneath the root.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// There is no commit with this id.
    #[error("no commit `{0}`")]
    UnknownCommit(String),
    /// The commit is not in the state that this needs.
    #[error("commit `{id}` is {state}")]
    WrongState {
        /// The id of the commit.
        id: String,
        /// Its state.
        state: &'static str,
    },
    /// The folder is not the root of this commit.
    #[error("commit `{0}` belongs to another folder")]
    OtherRoot(String),
    /// A journal cannot be read.
    #[error("invalid journal: {0}")]
    Journal(#[from] serde_json::Error),
    /// The operating system refused something.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The path beneath the folder that was being worked on.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths.iter().take(10).map(|path| format!("`{}`", path.display())).collect();
    let more = paths.len().saturating_sub(shown.len());
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

/// Returns a function that turns an error of the operating system into a [`ChangeError`].
pub(crate) fn failed<'a>(action: &'static str, path: &'a [u8]) -> impl FnOnce(Errno) -> ChangeError + 'a {
    use std::os::unix::ffi::OsStrExt;
    move |error| ChangeError::Io {
        action,
        path: PathBuf::from(std::ffi::OsStr::from_bytes(path)),
        source: error.into(),
    }
}
