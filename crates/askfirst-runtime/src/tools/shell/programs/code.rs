//! Small languages in words: `sed`, `awk`, `jq`, `yq`. A reader says that a text only computes and prints, or that it cannot tell.

mod awk;
mod jq;
mod sed;

pub(super) use awk::awk;
pub(super) use jq::{jq, yq};
pub(super) use sed::sed;

/// What a look into a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Looked {
    /// It only computes and prints, and reads these files.
    Fine {
        /// Files that it names itself.
        reads: Vec<String>,
    },
    /// It does more, or was not understood; why, in words for a person.
    Doubt(String),
}
