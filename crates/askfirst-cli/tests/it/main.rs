//! The project as a whole: its rooms, and the command line as its users meet it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test says no by panicking"
)]

mod commands;
mod endings;
mod faults;
mod guide;
mod mcp;
mod names;
mod output;
mod person;
mod secrets;
mod serve_http;
mod shell;
mod spec;
mod tidy;
mod told;
mod walls;
mod watch;
