//! Runs blocking work on another thread, so that the calling thread is free.
//!
//! An idle thread waits a while for more work, because waking a thread is faster than starting one.
//! If the calling thread only waits anyway, it does the work itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use askfirst::toolset::CallerThread;

/// How long an idle thread waits for more work.
const PATIENCE: Duration = Duration::from_secs(5);
/// The maximum number of idle threads.
const WAITING: usize = 4;

type Work = Box<dyn FnOnce() + Send>;

/// An idle thread.
struct IdleThread {
    id: u64,
    /// The process that started the thread. A fork copies the list, but none of the threads.
    process: u32,
    hand: Sender<Work>,
}

static IDLE: Mutex<Vec<IdleThread>> = Mutex::new(Vec::new());

struct Slot<T> {
    done: Option<Option<T>>,
    waker: Option<Waker>,
}

/// Runs `f` and returns a future of its result. The result is `None` if no thread could be started or `f` panicked.
pub(crate) fn offload<T: Send + 'static>(
    thread: CallerThread,
    f: impl FnOnce() -> T + Send + 'static,
) -> OffloadedWork<T> {
    if thread == CallerThread::Waiting {
        let done = catch_unwind(AssertUnwindSafe(f)).ok();
        return OffloadedWork(Arc::new(Mutex::new(Slot { done: Some(done), waker: None })));
    }
    let slot = Arc::new(Mutex::new(Slot { done: None, waker: None }));
    let finish = Finish { slot: Arc::clone(&slot), result: None };
    hand_over(Box::new(move || {
        let mut finish = finish;
        finish.result = Some(f());
    }));
    OffloadedWork(slot)
}

/// Gives work to an idle thread, or to a new one.
fn hand_over(mut work: Work) {
    let process = std::process::id();
    loop {
        let waiting = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(waiting) = waiting else { break };
        if waiting.process == process {
            match waiting.hand.send(work) {
                Ok(()) => return,
                Err(back) => work = back.0,
            }
        }
    }
    drop(std::thread::Builder::new().name("askfirst-tool".to_owned()).spawn(move || serve(work)));
}

/// Runs work until the thread was idle for too long. Work that panics ends the thread.
fn serve(work: Work) {
    let mut next = Some(work);
    while let Some(work) = next {
        work();
        next = wait();
    }
}

/// Waits for more work, at most for [`PATIENCE`].
fn wait() -> Option<Work> {
    static IDS: AtomicU64 = AtomicU64::new(0);
    let id = IDS.fetch_add(1, Ordering::Relaxed);
    let (hand, work) = channel();
    let idle = || IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    {
        let mut idle = idle();
        if idle.len() >= WAITING {
            return None;
        }
        idle.push(IdleThread { id, process: std::process::id(), hand });
    }
    work.recv_timeout(PATIENCE).ok().or_else(|| {
        let mut idle = idle();
        let before = idle.len();
        idle.retain(|waiting| waiting.id != id);
        let taken = idle.len() == before;
        drop(idle);
        // Another thread took the sender at the last moment, so work is about to arrive.
        taken.then(|| work.recv().ok()).flatten()
    })
}

/// Stores the result and wakes the waiting future, also if the thread could not be started or panicked.
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

/// A future of work that runs on another thread.
pub(crate) struct OffloadedWork<T>(Arc<Mutex<Slot<T>>>);

impl<T> Future for OffloadedWork<T> {
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

#[cfg(test)]
#[path = "offload/tests.rs"]
mod tests;
