//! Views of a config's roots for one run, the effects of the run, and undo.
//!
//! [`Rehearsals::views`] puts a copy-on-write view of each writable folder into a sandbox profile. When all processes of
//! the run have ended, [`RunViews::collect`] compares the views with the real folders, and [`CollectedRun::hold`] keeps the
//! changes back. [`judge_effects`](askfirst::judge_effects) decides about them, and a permit commits them.
//! [`UndoStore`] restores what a commit replaced.
//!
//! This crate starts no program, asks no one and decides nothing.

mod edit_id;
mod git_index;
mod request;
mod undo_entry;

#[cfg(target_os = "linux")]
mod changed_root;
#[cfg(target_os = "linux")]
mod edits;
#[cfg(target_os = "linux")]
mod effects;
#[cfg(target_os = "linux")]
mod file_effects;
#[cfg(target_os = "linux")]
mod folders;
#[cfg(target_os = "linux")]
mod git_objects;
#[cfg(target_os = "linux")]
mod held;
#[cfg(target_os = "linux")]
mod ignore_rules;
#[cfg(target_os = "linux")]
mod question;
#[cfg(target_os = "linux")]
mod rehearsals;
#[cfg(target_os = "linux")]
mod repositories;
#[cfg(target_os = "linux")]
mod sha1;
#[cfg(target_os = "linux")]
mod temporary_layers;
#[cfg(target_os = "linux")]
mod undo;
#[cfg(target_os = "linux")]
mod views;

#[cfg(not(target_os = "linux"))]
mod other_systems;

pub use edit_id::{EditError, EditId};
pub use git_index::{IndexEntry, read_index};
#[cfg(not(target_os = "linux"))]
pub use other_systems::{CollectedRun, EditStore, FileEffects, Rehearsals, RunViews, UndoStore};
pub use request::{counts, request};
pub use undo_entry::{UndoEntry, UndoError, UndoPath};
#[cfg(target_os = "linux")]
pub use {
    edits::EditStore,
    file_effects::FileEffects,
    rehearsals::Rehearsals,
    undo::UndoStore,
    views::{CollectedRun, RunViews},
};
