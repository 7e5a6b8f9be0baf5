//! Tests inside the crate: faults at each change of the disk.

pub(crate) mod fault;
mod full;
mod kill;
mod scene;
mod units;
