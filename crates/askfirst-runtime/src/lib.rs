//! Everything around the core that touches the world: config, ledger, tools, presentation, and the one pipeline.
//!
//! Read [`pipeline`] first: it is the way of one call from wish to record.

pub mod approver;
pub mod assess;
pub mod block_on;
pub mod clock;
pub mod controller;
mod history;
pub mod in_turn;
pub mod launcher;
pub mod ledger;
mod nested;
pub mod offered;
mod offload;
pub mod pipeline;
pub mod random;
pub mod sandbox;
pub mod sessions;
#[cfg(test)]
mod skip;
pub mod tools;
pub mod toolset;
pub mod watch;

pub use askfirst_config as config;
pub use askfirst_display as present;
pub use askfirst_display::redact;
pub use controller::ApprovalController;
#[doc(hidden)]
pub use sandbox as walls;
pub use toolset::ApprovalToolset;

/// The README and the guide: their Rust is run as doc tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/guide/custom-tools.md")]
    struct CustomTools;
    #[doc = include_str!("../../../docs/guide/payload-design.md")]
    struct PayloadDesign;
    #[doc = include_str!("../../../docs/guide/rust.md")]
    struct Rust;
}
