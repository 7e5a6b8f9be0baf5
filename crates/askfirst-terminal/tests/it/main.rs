//! Tests of the prompt on real pseudo-terminals. A separate program asks, and the test types.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic shows where a test failed"
)]

mod always;
mod desk;
mod editing;
mod fixtures;
mod hostile;
mod keys;
mod losing;
mod pictures;
mod rules;
mod screens;
mod signals;
mod stills;
mod stories;
mod storm;
