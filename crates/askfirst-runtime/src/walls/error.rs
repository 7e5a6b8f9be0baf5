//! Why no walls could be made from a config.

use std::path::{Path, PathBuf};

use askfirst_display::escape::visible_line;

/// Longer paths are shown by their ends.
const MOST: usize = 400;

/// A path on one line, with whatever would not be seen in it escaped.
pub(super) fn shown(path: &Path) -> String {
    let text = visible_line(&path.to_string_lossy()).text();
    let count = text.chars().count();
    if count <= MOST {
        return text;
    }
    let half = MOST / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{start} … {end}")
}

/// Why no walls could be made from a config.
#[derive(Debug, thiserror::Error)]
pub enum WallsError {
    /// A root is not there as the config has it.
    #[error("the root `{}` cannot be granted: {cause}", shown(path))]
    Root {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The whole system is no root.
    #[error("`/` cannot be a root behind walls")]
    Everything,
    /// A path of `os_profile` cannot be compared with the roots.
    #[error("`{}` in `sandbox.os_profile` cannot be looked up: {cause}", shown(path))]
    Profile {
        /// The path.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A folder could not be searched for protected names.
    #[error("`{}` cannot be searched for protected names: {cause}", shown(path))]
    Search {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// Something of git's could not be read, so nobody knows what it leads to.
    #[error(
        "`{}` cannot be read, so nobody knows where it leads git: {cause}; hint: see that it can, or take it away",
        shown(path)
    )]
    Settings {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A rule that cannot be read.
    #[error("{0}")]
    Rule(String),
    /// Too many files have names elsewhere.
    #[error(
        "{count} files in writable roots have other names elsewhere (hard links), such as `{}`; hint: copy them",
        shown(example)
    )]
    Links {
        /// How many.
        count: usize,
        /// One of them.
        example: PathBuf,
    },
    /// Too much is protected.
    #[error(
        "{count} places in the roots are protected, more than {most}, such as `{}`; hint: take away what is not \
         needed, or name smaller roots",
        shown(example)
    )]
    Covers {
        /// How many.
        count: usize,
        /// So many may be.
        most: usize,
        /// One of them.
        example: PathBuf,
    },
    /// While things were moved aside, others appeared.
    #[error("in `{}` protected names appear for as long as they are moved away", shown(path))]
    Restless {
        /// The root.
        path: PathBuf,
    },
    /// Something that appeared could not be moved away.
    #[error("`{}` appeared and could not be moved away: {cause}", shown(path))]
    Quarantine {
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
}
