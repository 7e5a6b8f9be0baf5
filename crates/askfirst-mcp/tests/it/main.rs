//! The gateway between a client and a server that are threads of the test, over real pipes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says no by panicking"
)]

mod fixture;
mod relay;
mod rug_pull;
mod smuggling;
mod waiting;
