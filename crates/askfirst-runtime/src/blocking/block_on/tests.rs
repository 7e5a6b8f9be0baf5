//! No wake-up is lost.

use std::task::Poll;
use std::time::Duration;

use super::block_on;

#[test]
fn wake_up_during_a_poll_is_not_lost() {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut polls = 0;
        block_on(std::future::poll_fn(|context| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            // Uses up the park token of the thread.
            std::thread::park();
            Poll::Pending
        }));
        done.send(()).unwrap();
    });
    assert!(is_done.recv_timeout(Duration::from_secs(30)).is_ok(), "it waits for ever");
}
