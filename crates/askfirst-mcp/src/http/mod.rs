//! MCP over HTTP: a listener for clients, and servers behind URLs.
//!
//! Without HTTP none of this runs: the gateway between standard streams needs no async runtime.

mod board;
mod bridge;
mod exchange;
mod front;
mod lines;
mod merge;
pub(crate) mod mirror;
mod peer;
mod proxy;
mod reply;
mod sessions;
pub(crate) mod sse;
mod target;
mod token;

use std::future::Future;
use std::net::IpAddr;

pub use front::{Front, FrontError, ListenerSettings};
pub use lines::serve_lines;
pub(crate) use peer::Peer;
pub use peer::{Backend, Names};
pub use proxy::serve;
pub(crate) use sessions::serve_opened;
pub use sessions::serve_sessions;
pub use target::{Target, TargetError};
pub use token::{Token, TokenError};

/// Whether a host is this machine, by name or number.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Runs a future on this thread, and first raises the limit of open files as far as possible.
pub(crate) fn run(serving: impl Future<Output = std::io::Result<()>>) -> Result<(), FrontError> {
    let mut files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    files.current = files.maximum;
    // A lower limit only allows fewer clients.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, files);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(FrontError::Runtime)?;
    runtime.block_on(serving).map_err(FrontError::Runtime)
}
