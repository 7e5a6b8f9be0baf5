//! MCP: a gateway that stands in front of any server and lets no `tools/call` through unjudged.
//!
//! It relays original bytes and parses strictly: what does not parse in exactly one way is refused, never passed on.

pub mod gateway;
mod lines;
mod message;
mod pins;
mod task;
mod upstream;
pub mod wrap;

pub use gateway::{Gateway, Setup};
pub use lines::{MAX_LINE, TooLong};
pub use pins::{Pins, PinsError};
