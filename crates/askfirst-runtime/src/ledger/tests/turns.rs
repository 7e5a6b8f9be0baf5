//! A busy writer keeps the lock, and other writers still get their turn.

use std::sync::atomic::AtomicBool;

use super::*;

/// More entries than needed before the lock is kept.
const MANY: usize = 20;

fn hurry(ledger: &Ledger, name: &str) {
    for i in 0..MANY {
        ledger.append(&executed(&format!("{name}-{i}")), Durability::Written).unwrap();
    }
}

#[test]
fn busy_writer_keeps_the_lock_until_it_pauses() {
    let (_folder, path) = scratch();
    let (one, other) = (open(&path), open(&path));
    hurry(&one, "a");
    assert!(one.keeper.is_held(), "nothing is kept, so nothing is shown here");
    hurry(&other, "b");
    hurry(&one, "c");
    assert_eq!((call_ids(&path).len(), faults(&path)), (3 * MANY, Vec::new()));
}

#[test]
fn writer_that_never_pauses_lets_others_in() {
    let (_folder, path) = scratch();
    let (one, other) = (open(&path), open(&path));
    let over = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let mut written = 0;
            while !over.load(Ordering::Relaxed) {
                one.append(&executed("busy"), Durability::Written).unwrap();
                written += 1;
            }
            written
        });
        // Each of these must find its own gap.
        for i in 0..MANY {
            other.append(&executed(&format!("now-and-then-{i}")), Durability::Written).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        over.store(true, Ordering::Relaxed);
        busy.join().unwrap()
    });
    assert_eq!((call_ids(&path).len(), faults(&path)), (written + MANY, Vec::new()));
}

#[test]
fn closed_log_holds_no_lock() {
    let (_folder, path) = scratch();
    let one = open(&path);
    hurry(&one, "a");
    drop(one);
    let lock = std::fs::File::open(&path).unwrap();
    lock.try_lock().unwrap();
}

/// A forked process has the same file and lock, and must leave both to its parent.
#[test]
fn forked_process_leaves_the_lock_of_its_parent() {
    let (_folder, path) = scratch();
    let one = open(&path);
    hurry(&one, "a");
    let split_off = std::process::id() + 1;
    drop(one.keeper.turn(Timestamp(0), split_off).unwrap());
    assert!(!one.keeper.is_held());
    hurry(&one, "b");
    assert_eq!((call_ids(&path).len(), faults(&path)), (2 * MANY, Vec::new()));
}
