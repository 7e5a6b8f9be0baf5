//! Runs something that blocks on a thread of its own, so that nobody else waits.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

struct Slot<T> {
    done: Option<Option<T>>,
    waker: Option<Waker>,
}

/// The result of `f`; nothing if there was no thread to run it or it panicked.
pub(crate) fn offload<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Offloaded<T> {
    let slot = Arc::new(Mutex::new(Slot { done: None, waker: None }));
    let finish = Finish { slot: Arc::clone(&slot), result: None };
    let work = move || {
        let mut finish = finish;
        finish.result = Some(f());
    };
    drop(std::thread::Builder::new().name("askfirst-tool".to_owned()).spawn(work));
    Offloaded(slot)
}

/// Tells the waiting side, also when the thread could not be started or unwinds.
struct Finish<T> {
    slot: Arc<Mutex<Slot<T>>>,
    result: Option<T>,
}

impl<T> Drop for Finish<T> {
    fn drop(&mut self) {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.done = Some(self.result.take());
        let waker = slot.waker.take();
        drop(slot);
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Waits for what runs elsewhere.
pub(crate) struct Offloaded<T>(Arc<Mutex<Slot<T>>>);

impl<T> Future for Offloaded<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.done.take() {
            Some(result) => Poll::Ready(result),
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
