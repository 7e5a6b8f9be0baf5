//! The core from outside, as one binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails should say where"
)]

mod compile_fail;
mod properties;
mod requires_approval;
