//! Waiting for futures without an async runtime, and moving work that blocks to other threads.

mod block_on;
mod offload;

pub use block_on::block_on;
pub(crate) use offload::offload;
