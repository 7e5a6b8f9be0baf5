//! The prompt on real pseudo-terminals: a program of its own asks, the test types.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails should say where"
)]

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
