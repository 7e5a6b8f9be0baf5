//! Tests inside the crate: faults at each change of the disk.

mod editor;
mod edits;
mod fault;
mod full;
mod kill;
mod scene;
mod units;
