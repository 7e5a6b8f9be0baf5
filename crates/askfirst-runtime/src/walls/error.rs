//! Why no walls could be made from a config.

use std::path::PathBuf;

/// Why no walls could be made from a config.
#[derive(Debug, thiserror::Error)]
pub enum WallsError {
    /// A root is not there as the config has it.
    #[error("the root `{}` cannot be granted: {cause}", path.display())]
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
    #[error("`{}` in `sandbox.os_profile` cannot be looked up: {cause}", path.display())]
    Profile {
        /// The path.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A folder could not be searched for protected names.
    #[error("`{}` cannot be searched for protected names: {cause}", path.display())]
    Search {
        /// The folder.
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
        example.display()
    )]
    Links {
        /// How many.
        count: usize,
        /// One of them.
        example: PathBuf,
    },
    /// Something that appeared could not be moved away.
    #[error("`{}` appeared and could not be moved away: {cause}", path.display())]
    Quarantine {
        /// Where it is.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
}
