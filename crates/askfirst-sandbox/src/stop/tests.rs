//! Tests that one handle wakes all its watchers, and that later watchers see at once that it was used.

use std::io::Read;

use super::*;

#[test]
fn stop_wakes_every_watcher() {
    let stop = Stop::new();
    let watchers: Vec<Watch> = (0..3).map(|_| stop.clone().watch().unwrap()).collect();
    assert!(!stop.is_stopped());
    stop.stop();
    stop.stop();
    assert!(stop.is_stopped());
    for watcher in watchers {
        let Watch::Until(reader) = watcher else { panic!("stopped too early") };
        assert_eq!(rustix::io::ioctl_fionread(&reader).unwrap(), 1);
    }
}

#[test]
fn watch_after_stop_returns_stopped() {
    let stop = Stop::new();
    stop.stop();
    assert!(matches!(stop.watch().unwrap(), Watch::Stopped));
}

#[test]
fn watcher_is_not_woken_before_stop() {
    let stop = Stop::new();
    let Watch::Until(mut reader) = stop.watch().unwrap() else { panic!("stopped too early") };
    rustix::io::ioctl_fionbio(&reader, true).unwrap();
    assert_eq!(reader.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
}
