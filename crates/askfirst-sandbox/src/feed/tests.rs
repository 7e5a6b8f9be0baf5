//! Tests that a reader that closes its end causes neither an error nor a `SIGPIPE`.

use std::io::Read;

use super::*;

#[test]
fn full_pipe_needs_another_write() {
    let bytes = vec![7; 1 << 20];
    let (mut reader, writer) = io::pipe().unwrap();
    let mut feed = Some(Feed::new(writer, &bytes).unwrap());
    let mut got = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while let Some(more) = feed.take() {
        feed = more.write_more().unwrap();
        let count = reader.read(&mut buffer).unwrap();
        got.extend_from_slice(&buffer[..count]);
    }
    reader.read_to_end(&mut got).unwrap();
    assert_eq!(got, bytes);
}

#[test]
fn closed_reader_ends_the_feed_without_a_signal() {
    // Block the signal in this thread. If the feed raised it and did not remove it, it would stay pending here.
    let (mut set, mut pending) = (std::mem::MaybeUninit::uninit(), std::mem::MaybeUninit::uninit());
    let default = libc::SIG_DFL;
    // SAFETY: the sets are initialised by the calls that get them first. The handler is restored below.
    let old = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, default)
    };
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    assert!(Feed::new(writer, b"lost").unwrap().write_more().unwrap().is_none());
    // SAFETY: `pending` is filled before it is read; `old` came from the same call.
    unsafe {
        libc::sigpending(pending.as_mut_ptr());
        assert_eq!(libc::sigismember(pending.as_ptr(), libc::SIGPIPE), 0);
        libc::signal(libc::SIGPIPE, old);
    }
}
