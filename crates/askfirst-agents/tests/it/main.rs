//! Tests of the contracts, with events of real agents and a model of how each agent obeys an answer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "these are tests"
)]

mod claude;
mod fixtures;
mod forms;
mod hostile;
mod obeys;
mod table;
