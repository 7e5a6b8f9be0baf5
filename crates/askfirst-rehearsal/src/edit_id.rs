//! The name of an edit that another program makes, and why it could not be kept.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// An edit whose files are kept. Its text form can be passed to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditId(Vec<String>);

impl EditId {
    #[cfg(target_os = "linux")]
    pub(crate) fn new<'i>(parts: impl Iterator<Item = &'i str>) -> Self {
        Self(parts.map(str::to_owned).collect())
    }

    /// The ids of the commits that the edit becomes, one for each root.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for EditId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("+"))
    }
}

impl FromStr for EditId {
    type Err = EditError;

    fn from_str(text: &str) -> Result<Self, EditError> {
        let is_id = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        if text.split('+').all(is_id) {
            Ok(Self(text.split('+').map(str::to_owned).collect()))
        } else {
            Err(EditError::BadId(text.to_owned()))
        }
    }
}

/// Why an edit could not be kept or settled.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The path is in no folder that the config lets tools write.
    #[error("`{}` is in no writable root", .0.display())]
    Outside(PathBuf),
    /// The path cannot be resolved.
    #[error("cannot open `{}`: {}", .0.display(), .1)]
    Io(PathBuf, std::io::Error),
    /// The text names no edit.
    #[error("invalid edit id `{0}`")]
    BadId(String),
    /// The store cannot keep or record it.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Changes(#[from] askfirst_changes::ChangeError),
    /// This system has no store.
    #[error("{0}")]
    NoStore(String),
}
