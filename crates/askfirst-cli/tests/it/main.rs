//! Tests of the whole project: the structure of its crates, and the command line as users see it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

mod commands;
mod endings;
mod faults;
mod first_hour;
mod guide;
mod hook;
mod init;
mod log;
mod mcp;
mod memory;
mod names;
mod output;
mod person;
mod reads;
mod rehearsal;
mod sandbox;
mod secrets;
mod serve_http;
mod shell;
mod spec;
mod tidy;
mod toolchains;
mod warnings;
mod watch;
