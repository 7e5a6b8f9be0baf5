//! Collects, commits and undoes the changes of a copy-on-write view, on directory handles.
//!
//! A view is an overlay over a root. When its processes have ended and it is unmounted, [`collect`] compares its upper
//! layer with the root and returns a [`ChangeSet`]. [`PendingCommit::commit`] applies exactly these changes or none: it
//! swaps objects between the layer and the root, so what it replaced stays in the [`ChangeStore`], and
//! [`ChangeStore::undo`] swaps it back. [`ChangeStore::recover`] finishes what a killed process left behind.
//!
//! This crate decides nothing: no policy, no approval, no mounts.

#![cfg(target_os = "linux")]

mod apply;
mod beneath;
mod change;
mod collect;
mod commit;
mod copied;
mod disk;
mod error;
mod history;
mod journal;
mod kept;
mod marks;
mod object;
mod operation;
mod planned;
mod recover;
mod store;
#[cfg(test)]
mod tests;
mod verify;

pub use change::{Change, ChangeKind, ChangeSet, RootId, SpecialProperty};
pub use collect::{CollectLimits, collect};
pub use commit::{CommitOptions, Durability, OldContent, SpecialFiles};
pub use error::{ChangeError, TooLarge};
pub use history::{CommitSummary, KeepLimits};
pub use journal::CommitState;
pub use kept::{EditOptions, PendingEdit};
pub use object::{Digest, Object, ObjectKind, Timestamp};
pub use planned::PlannedState;
pub use recover::RecoveredCommit;
pub use store::{ChangeStore, PendingCommit};
