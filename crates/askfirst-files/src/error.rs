//! The errors of the file tools: those of opening the roots, and those of a single call.

use askfirst::ToolError;
use askfirst_shell::BadPathRule;
use rustix::io::Errno;

/// The reason why the file tools cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// The folder of a root does not exist or cannot be opened.
    #[error("cannot open the root `{name}`: {cause}")]
    Root {
        /// The name of the root.
        name: String,
        /// The cause.
        cause: String,
    },
    /// The system cannot confine file access to the folder of a root.
    #[error("cannot confine access to the root `{name}`: {cause}")]
    NotConfined {
        /// The name of the root.
        name: String,
        /// The missing feature of the system.
        cause: String,
    },
    /// A `never_read` or `never_write` rule is invalid.
    #[error("invalid path rule `{rule}`: {cause}")]
    Rule {
        /// The rule as written in the config.
        rule: String,
        /// The cause.
        cause: String,
    },
    /// A derived root would allow more than the root that it is derived from.
    #[error("the derived root `{root}` would allow more than `{of}`: {what}")]
    Wider {
        /// The name of the derived root.
        root: String,
        /// The name of the root that it is derived from.
        of: String,
        /// The setting that would allow more.
        what: String,
    },
    /// A derived root names an unknown root.
    #[error("cannot derive from the unknown root `{0}`")]
    NoSuchRoot(String),
}

impl From<BadPathRule> for FilesError {
    fn from(BadPathRule { rule, cause }: BadPathRule) -> Self {
        Self::Rule { rule, cause }
    }
}

/// The reason why one call does not run. The agent gets the text, so it contains no path outside the roots.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// The config or the state of the disk blocks the call.
    #[error("{0}")]
    Blocked(String),
    /// The arguments are invalid.
    #[error("{0}")]
    BadArgs(String),
    /// The call could not be done.
    #[error("{0}")]
    Failed(String),
    /// A file is no longer as it was shown or checked.
    #[error("{0}")]
    Stale(String),
}

impl CallError {
    pub(crate) fn failed(what: &str, error: impl Into<std::io::Error>) -> Self {
        Self::Failed(format!("{what}: {}", describe(&error.into())))
    }
}

impl From<CallError> for ToolError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Blocked(text) | CallError::Failed(text) => Self::Failed(text),
            CallError::BadArgs(text) => Self::BadArgs(text),
            CallError::Stale(text) => Self::Stale(text),
        }
    }
}

/// Describes an error of the system without its number.
pub(crate) fn describe(error: &std::io::Error) -> String {
    let known = error.raw_os_error().map(Errno::from_raw_os_error);
    let text = match known {
        Some(Errno::NOSPC) => "no space left on disk",
        Some(Errno::DQUOT) => "the disk quota is exceeded",
        Some(Errno::NAMETOOLONG) => "the name is too long",
        Some(Errno::NOTDIR) => "a part of the path is not a folder",
        Some(Errno::NOTEMPTY) => "the folder is not empty",
        Some(Errno::ISDIR) => "it is a folder",
        Some(Errno::XDEV) => "it is on another file system",
        Some(Errno::ROFS) => "the file system is read-only",
        Some(Errno::ACCESS | Errno::PERM) => "permission denied",
        Some(Errno::NOENT) => "no such file or folder",
        Some(Errno::EXIST) => "it already exists",
        Some(_) | None => return error.kind().to_string(),
    };
    text.to_owned()
}
