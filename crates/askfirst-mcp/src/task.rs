//! Pending calls, polled without an executor: the code that has news for a call polls it.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

type CallFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const AGAIN: u8 = 2;

/// One call. A wake-up puts it into a queue; code that has news for it can poll it at once.
pub(crate) struct Task {
    running: Mutex<Option<CallFuture>>,
    state: AtomicU8,
    queue: Sender<Arc<Task>>,
}

impl Task {
    pub(crate) fn new(
        running: impl Future<Output = ()> + Send + 'static,
        queue: Sender<Arc<Task>>,
    ) -> Arc<Self> {
        Arc::new(Self { running: Mutex::new(Some(Box::pin(running))), state: AtomicU8::new(IDLE), queue })
    }

    /// Polls the call as far as it goes. If another thread is polling it, that thread polls once more.
    pub(crate) fn drive(self: &Arc<Self>) {
        loop {
            match self.state.compare_exchange(IDLE, RUNNING, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(RUNNING) => {
                    let again =
                        self.state.compare_exchange(RUNNING, AGAIN, Ordering::AcqRel, Ordering::Acquire);
                    if again.is_ok() {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
        let waker = Waker::from(Arc::clone(self));
        loop {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(future) = running.as_mut()
                && future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            {
                *running = None;
            }
            drop(running);
            if self.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return;
            }
            self.state.store(RUNNING, Ordering::Release);
        }
    }

    /// Cancels the call: its future is dropped, which withdraws its request.
    pub(crate) fn cancel(&self) {
        let given_up = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(given_up);
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let queue = self.queue.clone();
        // The queue has no receiver after the end of the gateway.
        let _ = queue.send(self);
    }
}

#[cfg(test)]
#[path = "task/tests.rs"]
mod tests;
