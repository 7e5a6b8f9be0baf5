//! MCP front ends: a gateway in front of any MCP server, and an MCP server with the tools of a config.
//!
//! The gateway checks every `tools/call`, forwards the original bytes and parses strictly. It refuses a message that
//! could be read in two ways.

pub mod clients;
pub mod elicit;
pub mod framing;
pub mod gateway;
pub mod http;
mod keys;
mod lines;
mod message;
mod out;
mod pins;
pub mod server;
mod sink;
mod splice;
mod task;
mod upstream;

pub use gateway::{Gateway, Link, Setup};
pub use lines::{MAX_LINE, TooLong};
pub use out::{Connection, widen};
pub use pins::{Pins, PinsError};

// The former names of these modules and types.
#[doc(hidden)]
pub use clients as wrap;
#[doc(hidden)]
pub use out::Connection as Ways;
#[doc(hidden)]
pub use server as serve;
