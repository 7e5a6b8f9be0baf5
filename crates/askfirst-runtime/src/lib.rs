//! One call, end to end: sessions, the pipeline, the controller, the audit log and the built-in tools.
//!
//! Read [`pipeline`] first: every call goes through it. The ten items that a user of this crate wants:
//!
//! - [`ApprovalToolset`]: puts approval around a toolset
//! - [`ApprovalController`]: mode, memory and approver
//! - [`Session`] and [`session::SessionBuilder`]: everything around the calls of one front end, from a config
//! - [`config::load`]: reads `askfirst.yaml` with its layers
//! - [`ledger::Ledger`]: the audit log
//! - [`observer::Observer`]: is notified of each step of each call
//! - [`tools::filesystem::FileToolset`]: file tools, confined to the roots of a config
//! - [`tools::shell::ShellToolset`]: commands, judged and run in the OS sandbox
//! - [`tools::catalog::Catalog`]: all tools of a config, with the policy over them
//! - [`block_on()`]: waits for a future without an async runtime

pub mod approver;
pub mod assess;
mod blocking;
mod call_state;
pub mod clock;
pub mod controller;
pub mod in_turn;
pub mod launcher;
pub mod ledger;
mod nested;
pub mod observer;
pub mod origin;
pub mod pipeline;
pub mod project;
pub mod random;
mod recording;
pub mod session;
pub mod sessions;
mod settle;
#[cfg(test)]
mod skip;
pub mod tools;
pub mod toolset;
mod views;
pub mod watch;

pub use askfirst_config as config;
pub use askfirst_display as present;
pub use askfirst_display::redact;
pub use askfirst_files::fold_text;
pub use askfirst_profile as sandbox;
#[doc(hidden)]
pub use askfirst_profile as walls;
pub use askfirst_rehearsal as rehearsal;
pub use blocking::block_on;
pub use controller::ApprovalController;
pub use session::Session;
pub use toolset::ApprovalToolset;

/// Former name of the functions that wait for a future.
#[doc(hidden)]
pub mod block_on {
    pub use crate::blocking::block_on;
}

/// Former name of [`tools::catalog`].
#[doc(hidden)]
pub mod offered {
    pub use crate::tools::catalog::{
        Catalog as Offered, CatalogError as OfferedError, ledger_path, redactor, warnings,
    };
}

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
