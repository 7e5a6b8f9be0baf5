//! Tests polling, waking and canceling.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use super::Task;

#[test]
fn task_woken_while_it_runs_is_polled_again() {
    let (queue, woken) = channel();
    let (polls, news) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, seen) = (Arc::clone(&polls), Arc::clone(&news));
    let done = Arc::new(AtomicUsize::new(0));
    let finished = Arc::clone(&done);
    let waiting = std::future::poll_fn(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        if seen.load(Ordering::SeqCst) == 1000 { Poll::Ready(()) } else { Poll::Pending }
    });
    let task = Task::new(
        async move {
            waiting.await;
            finished.fetch_add(1, Ordering::SeqCst);
        },
        queue,
    );
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..250 {
                    news.fetch_add(1, Ordering::SeqCst);
                    task.drive();
                }
            });
        }
    });
    assert_eq!(done.load(Ordering::SeqCst), 1, "the last news was not lost");
    assert!(polls.load(Ordering::SeqCst) <= 2000);
    assert!(woken.try_recv().is_err());
}

#[test]
fn canceled_task_is_dropped_at_once() {
    struct DropCount(Arc<AtomicUsize>);
    impl Drop for DropCount {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (queue, woken) = channel();
    let drops = Arc::new(AtomicUsize::new(0));
    let held = DropCount(Arc::clone(&drops));
    let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
    let kept = Arc::clone(&waker);
    let task = Task::new(
        async move {
            let _held = held;
            std::future::poll_fn::<(), _>(|context| {
                *kept.lock().unwrap() = Some(context.waker().clone());
                Poll::Pending
            })
            .await;
        },
        queue,
    );
    task.drive();
    assert_eq!(drops.load(Ordering::SeqCst), 0);
    task.cancel();
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    waker.lock().unwrap().take().unwrap().wake();
    woken.recv().unwrap().drive();
}
