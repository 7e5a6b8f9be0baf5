//! Waits for futures without an async runtime, and moves blocking work to other threads.

mod block_on;
mod offload;

pub use block_on::block_on;
pub(crate) use offload::offload;
