//! The OS sandbox as the analysis sees it: one trait. The caller may have to start a process to answer.

use std::path::Path;

/// Whether the OS sandbox hides the files of `never_read` from a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Masked {
    /// No sandbox hides them. Only a person can let a command read a folder with such a file.
    #[default]
    No,
    /// The sandbox hides them.
    BySandbox,
}

/// The files that the OS sandbox hides from every command, and those that it shows to it.
///
/// The analysis asks only if a verdict depends on the answer.
pub trait SandboxView {
    /// Returns whether the sandbox hides the files of `never_read`.
    fn masked(&self) -> Masked;

    /// Returns the paths outside every root that every program in the sandbox can read.
    fn shown(&self) -> &[&str];

    /// Returns the folders outside every root that a rehearsed command has to itself, such as `/tmp`.
    fn private(&self) -> &[&str] {
        &[]
    }

    /// Returns whether every program in the sandbox can read a path without links because it is in a toolchain.
    fn is_in_toolchain(&self, _path: &Path) -> bool {
        false
    }
}

/// A sandbox that shows nothing outside the roots.
impl SandboxView for Masked {
    fn masked(&self) -> Masked {
        *self
    }

    fn shown(&self) -> &[&str] {
        &[]
    }
}
