//! A reader that goes away is not an error, and raises no signal even where `SIGPIPE` would end the process.

use std::io::Read;

use super::*;

#[test]
fn a_full_pipe_asks_to_be_called_again() {
    let bytes = vec![7; 1 << 20];
    let (mut reader, writer) = io::pipe().unwrap();
    let mut feed = Some(Feed::new(writer, &bytes).unwrap());
    let mut got = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while let Some(more) = feed.take() {
        feed = more.go_on().unwrap();
        let count = reader.read(&mut buffer).unwrap();
        got.extend_from_slice(&buffer[..count]);
    }
    reader.read_to_end(&mut got).unwrap();
    assert_eq!(got, bytes);
}

#[test]
fn a_reader_that_went_away_ends_the_feed_without_a_signal() {
    // Blocked here, so that the signal, if it were raised and left, would stay pending and be seen.
    let (mut set, mut pending) = (std::mem::MaybeUninit::uninit(), std::mem::MaybeUninit::uninit());
    let default = libc::SIG_DFL;
    // SAFETY: the sets are initialised by the calls that first get them; the disposition is put back below.
    let old = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, default)
    };
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    assert!(Feed::new(writer, b"lost").unwrap().go_on().unwrap().is_none());
    // SAFETY: `pending` is filled before it is read; `old` came from the same call.
    unsafe {
        libc::sigpending(pending.as_mut_ptr());
        assert_eq!(libc::sigismember(pending.as_ptr(), libc::SIGPIPE), 0);
        libc::signal(libc::SIGPIPE, old);
    }
}
