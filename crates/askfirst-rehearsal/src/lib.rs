//! Views of a config's roots for one run, the effects of the run, and undo.
//!
//! [`Rehearsals::views`] puts a copy-on-write view of each writable folder into a sandbox profile. When all processes of
//! the run have ended, [`RunViews::collect`] compares the views with the real folders, and [`Collected::hold`] keeps the
//! changes back. [`judge_effects`](askfirst::judge_effects) decides about them, and a permit commits them.
//! [`UndoStore`] restores what a commit replaced.
//!
//! This crate starts no program, asks no one and decides nothing.

#![cfg(target_os = "linux")]

mod effects;
mod folders;
mod git_index;
mod held;
mod ignore_rules;
mod question;
mod rehearsals;
mod repositories;
mod undo;
mod views;

pub use git_index::{IndexEntry, read_index};
pub use question::{counts, request};
pub use rehearsals::Rehearsals;
pub use undo::{UndoEntry, UndoError, UndoPath, UndoStore};
pub use views::{Collected, RunViews};
