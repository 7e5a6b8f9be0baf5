//! The config: read in two stages, every fault at once, then merged layer by layer.

pub mod fault;
pub mod settings;

pub use settings::*;
