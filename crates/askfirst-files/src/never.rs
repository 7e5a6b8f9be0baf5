//! The rules for paths that are never read or written, even inside a root: the config's and the built-in list.

use std::ffi::OsStr;

use askfirst_shell::{Names, PathRules, never_below, never_in_folder, never_written};

use super::error::FilesError;

pub use self::NeverRules as Never;

/// The suffix of files that askfirst has quarantined, because a command created them at a protected path.
pub const ASIDE: &str = ".quarantined-by-askfirst";

/// Returns true for the name of a quarantined file. It may contain data that must never be read.
#[must_use]
pub fn is_aside(name: &OsStr) -> bool {
    memchr::memmem::find(name.as_encoded_bytes(), ASIDE.as_bytes()).is_some()
}

/// The rules of `sandbox.never_read` and `sandbox.never_write`, with the built-in list.
pub struct NeverRules {
    read: PathRules,
    write: PathRules,
}

impl NeverRules {
    /// Creates the rules from the lists `sandbox.never_read` and `sandbox.never_write`.
    ///
    /// # Errors
    /// Fails if a rule is invalid.
    pub fn new<'a>(
        read: impl IntoIterator<Item = &'a String>,
        write: impl IntoIterator<Item = &'a String>,
    ) -> Result<Self, FilesError> {
        Ok(Self { read: PathRules::new(read)?, write: PathRules::new(write)? })
    }

    /// Returns a rule that applies to the user's home folder, if there is one.
    #[must_use]
    pub fn about_home(&self) -> Option<&str> {
        self.read.about_home().or_else(|| self.write.about_home())
    }

    /// Returns true if there are no `never_read` rules.
    #[must_use]
    pub fn reads_all(&self) -> bool {
        self.read.is_empty()
    }

    /// Returns true if a `never_read` rule may cover this name in a readable folder. False is certain.
    pub(crate) fn may_hide(&self, name: &OsStr) -> bool {
        !self.reads_all() && (self.read.may_end_in(name) || is_aside(name))
    }

    /// Returns the reason why a path must not be read, if there is one.
    pub(crate) fn read(&self, names: Names<'_>) -> Option<String> {
        let is_quarantined = || !self.reads_all() && names.whole.iter().any(is_aside);
        let reason = "it is quarantined, and may contain data that must not be read";
        self.read_by_rule(names).or_else(|| is_quarantined().then(|| reason.to_owned()))
    }

    /// Returns the reason why a path must not be read by the `never_read` rules, ignoring quarantined files.
    #[must_use]
    pub fn read_by_rule(&self, names: Names<'_>) -> Option<String> {
        self.read.find_covering(names).map(|rule| format!("`sandbox.never_read` has `{rule}`"))
    }

    /// Returns the reason why a path must not be written, if there is one.
    ///
    /// The file `.git` itself is protected too, because it decides which settings git reads.
    pub(crate) fn write(&self, names: Names<'_>) -> Option<String> {
        self.read(names).or_else(|| self.write_by_rule(names))
    }

    /// Returns the reason why a path must not be written, ignoring the `never_read` rules.
    #[must_use]
    pub fn write_by_rule(&self, names: Names<'_>) -> Option<String> {
        self.own_write(names).or_else(|| never_written(names.whole))
    }

    /// Returns the reason why a path must not become a link: the link would lead to a path that a rule covers.
    #[must_use]
    pub fn link_by_rule(&self, names: Names<'_>) -> Option<String> {
        let own = || self.read.find_below(names).or_else(|| self.write.find_below(names));
        let rule = own().or_else(|| never_below(names.whole))?;
        Some(format!("it is a link on the way to `{rule}`"))
    }

    /// Returns the reason why nothing may be written in a folder, ignoring the `never_read` rules.
    #[must_use]
    pub fn write_folder_by_rule(&self, names: Names<'_>) -> Option<String> {
        self.own_write(names).or_else(|| never_in_folder(names.whole))
    }

    /// Returns the `never_write` rule that covers a path.
    fn own_write(&self, names: Names<'_>) -> Option<String> {
        self.write.find_covering(names).map(|rule| format!("`sandbox.never_write` has `{rule}`"))
    }
}

#[cfg(test)]
#[path = "never/tests.rs"]
mod tests;
