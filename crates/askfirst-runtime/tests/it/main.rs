//! Tests of the public interface of the runtime.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says no by panicking"
)]

mod again;
mod asked_once;
mod broken;
mod controller;
mod files;
mod files_judged;
mod files_model;
mod files_race;
mod files_undo;
mod fixture;
mod given_up;
mod pipeline;
mod properties;
mod session;
mod sessions;
mod several;
mod withheld;
