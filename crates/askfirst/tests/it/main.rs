//! Integration tests of the core, as one binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic shows where a test fails"
)]

mod compile_fail;
mod properties;
mod requires_approval;
