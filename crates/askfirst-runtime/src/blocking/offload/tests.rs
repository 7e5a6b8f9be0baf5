//! Work on other threads is always done, even if an earlier thread has ended.

use super::*;
use crate::blocking::block_on;

#[test]
fn all_work_is_done_at_once_and_one_after_the_other() {
    let many: Vec<_> = (0..50).map(|n| offload(CallerThread::Busy, move || n * 2)).collect();
    let done: Vec<i32> = many.into_iter().map(|one| block_on(one).unwrap()).collect();
    assert_eq!(done, (0..50).map(|n| n * 2).collect::<Vec<_>>());
    for n in 0..500 {
        assert_eq!(block_on(offload(CallerThread::Busy, move || n)), Some(n));
    }
}

#[test]
fn work_that_panics_returns_nothing_and_stops_no_other_work() {
    for n in 0..20 {
        assert_eq!(block_on(offload(CallerThread::Busy, || -> i32 { panic!("as it should") })), None);
        assert_eq!(block_on(offload(CallerThread::Busy, move || n)), Some(n));
    }
}

#[test]
fn thread_of_another_process_is_not_waited_for() {
    let (hand, _work) = channel();
    IDLE.lock().unwrap().push(IdleThread { id: u64::MAX, process: 0, hand });
    assert_eq!(block_on(offload(CallerThread::Busy, || 7)), Some(7));
}

#[test]
fn work_of_a_waiting_thread_runs_on_that_thread() {
    let here = std::thread::current().id();
    let id = || std::thread::current().id();
    assert_eq!(block_on(offload(CallerThread::Waiting, id)), Some(here));
    assert_eq!(block_on(offload(CallerThread::Waiting, || -> i32 { panic!("as it should") })), None);
    assert_ne!(block_on(offload(CallerThread::Busy, id)), Some(here));
}
