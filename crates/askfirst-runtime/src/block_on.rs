//! Waits for a future on the calling thread. No runtime needed.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{Thread, current, park};

use crate::offload::alone;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Drives a future to its end.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => park(),
        }
    }
}

/// The same for calls that are made one after another. What a tool would do on another thread is done on this one,
/// which has nothing else to do; so nothing that is to go on meanwhile may be part of the future.
pub fn block_on_alone<F: Future>(future: F) -> F::Output {
    alone(|| block_on(future))
}
