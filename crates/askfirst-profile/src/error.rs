//! The reasons why no sandbox could be derived from a config.

use std::path::{Path, PathBuf};

use askfirst_display::escape::visible_line;

/// Longer paths are shown by their beginning and end.
const MAX_SHOWN: usize = 400;

/// Returns a path on one line, with invisible characters escaped.
pub(super) fn show(path: &Path) -> String {
    let text = visible_line(&path.to_string_lossy()).text();
    let count = text.chars().count();
    if count <= MAX_SHOWN {
        return text;
    }
    let half = MAX_SHOWN / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{start} … {end}")
}

/// Why no sandbox could be derived from a config, or why the cleanup after a command failed.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// A root does not exist, or is not what the config says.
    #[error("cannot grant the root `{}`: {cause}", show(path))]
    Root {
        /// The root folder.
        path: PathBuf,
        /// The error of the system.
        cause: std::io::Error,
    },
    /// The root folder of the system is configured as a root.
    #[error("`/` cannot be a root of the sandbox")]
    WholeSystem,
    /// A path of `os_profile` cannot be looked up.
    #[error("cannot look up `{}` in `sandbox.os_profile`: {cause}", show(path))]
    Profile {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        cause: std::io::Error,
    },
    /// A folder could not be searched for protected names.
    #[error("cannot search `{}` for protected names: {cause}", show(path))]
    Search {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        cause: std::io::Error,
    },
    /// A git file could not be read, so its targets are unknown.
    #[error(
        "cannot read `{}`, so it is unknown which other files git would use: {cause}; \
         hint: make it readable, or remove it",
        show(path)
    )]
    GitSettings {
        /// The git file.
        path: PathBuf,
        /// The error of the system.
        cause: std::io::Error,
    },
    /// A rule about protected names is invalid.
    #[error("{0}")]
    Rule(String),
    /// Too many files have hard links outside the writable roots.
    #[error(
        "{count} files in writable roots have hard links elsewhere, such as `{}`; hint: copy them",
        show(example)
    )]
    TooManyLinks {
        /// The number of files.
        count: usize,
        /// One of them.
        example: PathBuf,
    },
    /// Too many paths are protected.
    #[error(
        "{count} paths in the roots are protected, more than the maximum of {most}, such as `{}`; \
         hint: remove those that are not needed, or configure smaller roots",
        show(example)
    )]
    TooManyProtected {
        /// The number of paths.
        count: usize,
        /// The maximum.
        most: usize,
        /// One of them.
        example: PathBuf,
    },
    /// New protected names appeared during every round of the cleanup.
    #[error("protected names keep appearing in `{}` while askfirst moves them away", show(path))]
    KeepsAppearing {
        /// The root.
        path: PathBuf,
    },
    /// A protected name that appeared could not be renamed.
    #[error("`{}` appeared and could not be moved away: {cause}", show(path))]
    Quarantine {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        cause: std::io::Error,
    },
}
