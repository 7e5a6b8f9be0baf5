//! What can go wrong with files: while the roots are opened, and while one call is looked at or run.

use askfirst::ToolError;
use rustix::io::Errno;

/// The file tools cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// The folder of a root is not there, or cannot be opened.
    #[error("the root `{name}` cannot be opened: {cause}")]
    Root {
        /// The root.
        name: String,
        /// Why.
        cause: String,
    },
    /// The system cannot keep file access beneath a folder.
    #[error("the root `{name}` cannot be confined here: {cause}")]
    NotConfined {
        /// The root.
        name: String,
        /// What is missing.
        cause: String,
    },
    /// A rule about what is never touched cannot be read.
    #[error("`{rule}` is no rule for paths: {cause}")]
    Rule {
        /// The rule as it is written.
        rule: String,
        /// Why.
        cause: String,
    },
    /// A derived sandbox would allow more than the one it comes from.
    #[error("the root `{root}` would be wider than `{of}`: {what}")]
    Wider {
        /// The derived root.
        root: String,
        /// The root that it is taken from.
        of: String,
        /// In what.
        what: String,
    },
    /// A derived sandbox names a root that is not there.
    #[error("there is no root `{0}` to derive from")]
    NoSuchRoot(String),
}

/// Why one call does not go on. The text is for the agent, so it names no place outside the roots.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    /// It can never run.
    #[error("{0}")]
    Blocked(String),
    /// The arguments make no sense.
    #[error("{0}")]
    BadArgs(String),
    /// It could not be done.
    #[error("{0}")]
    Failed(String),
    /// What was shown or looked at no longer holds.
    #[error("{0}")]
    Stale(String),
}

impl Trouble {
    pub(crate) fn failed(what: &str, error: impl Into<std::io::Error>) -> Self {
        Self::Failed(format!("{what}: {}", plain(&error.into())))
    }
}

impl From<Trouble> for ToolError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Blocked(text) | Trouble::Failed(text) => Self::Failed(text),
            Trouble::BadArgs(text) => Self::BadArgs(text),
            Trouble::Stale(text) => Self::Stale(text),
        }
    }
}

/// A system's error without its number.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let known = error.raw_os_error().map(Errno::from_raw_os_error);
    let text = match known {
        Some(Errno::NOSPC) => "no space left on the disk",
        Some(Errno::DQUOT) => "the disk quota is used up",
        Some(Errno::NAMETOOLONG) => "the name is too long",
        Some(Errno::NOTDIR) => "a part of it is not a folder",
        Some(Errno::NOTEMPTY) => "the folder is not empty",
        Some(Errno::ISDIR) => "it is a folder",
        Some(Errno::XDEV) => "it lies on another file system",
        Some(Errno::ROFS) => "the file system is read only",
        Some(Errno::ACCESS | Errno::PERM) => "permission denied",
        Some(Errno::NOENT) => "there is no such file or folder",
        Some(Errno::EXIST) => "it exists already",
        Some(_) | None => return error.kind().to_string(),
    };
    text.to_owned()
}
