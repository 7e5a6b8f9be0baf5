//! The commands, one module each.

pub mod call;
pub mod decide;
pub mod demo;
pub mod doctor;
pub mod effective;
pub mod explain;
pub mod hook;
pub mod init;
pub mod log;
pub mod mcp;
pub mod memory;
pub mod migrate;
pub mod run;
pub mod sandbox;
pub mod serve;
pub mod tools;
pub mod trust;
pub mod undo;
pub mod watch;
pub mod wrap;
