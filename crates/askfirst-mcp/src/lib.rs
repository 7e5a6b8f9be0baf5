//! MCP: a gateway that stands in front of any server and lets no `tools/call` through unjudged.
//!
//! It relays original bytes and parses strictly: what does not parse in exactly one way is refused, never passed on.

pub mod elicit;
mod fold;
pub mod framing;
pub mod gateway;
pub mod http;
mod lines;
mod message;
mod out;
mod pins;
pub mod serve;
mod sink;
mod splice;
mod task;
mod upstream;
pub mod wrap;

pub use gateway::{Gateway, Link, Setup};
pub use lines::{MAX_LINE, TooLong};
pub use out::{Ways, widen};
pub use pins::{Pins, PinsError};
