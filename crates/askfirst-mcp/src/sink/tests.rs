//! Tests that lines are written whole, and that a stuck reader blocks no one else.

use std::io::{BufRead, BufReader, pipe};
use std::sync::Arc;

use super::*;

#[test]
fn line_is_written_whole_with_one_line_ending() {
    let (from, to) = pipe().unwrap();
    let sink = Sink::new(Box::new(to));
    let long = vec![b'x'; SHORT];
    let reading =
        std::thread::spawn(move || BufReader::new(from).split(b'\n').map(Result::unwrap).collect::<Vec<_>>());
    for line in [&b"{\"a\":\r\n1}"[..], b"{}", &long] {
        sink.line(line).unwrap();
    }
    sink.close();
    assert!(sink.line(b"{}").is_err());
    assert_eq!(reading.join().unwrap(), [&b"{\"a\":  1}"[..], b"{}", &long]);
}

#[test]
fn stuck_side_is_noticed_and_closed_without_waiting() {
    let (from, to) = pipe().unwrap();
    let sink = Arc::new(Sink::new(Box::new(to)));
    assert_eq!(sink.stuck(), None);
    let giving = Arc::clone(&sink);
    let given = std::thread::spawn(move || giving.line(&vec![b'x'; 8 << 20]));
    while sink.stuck().is_none() {
        std::thread::yield_now();
    }
    sink.close();
    assert!(sink.stuck().is_some(), "the write still waits, but `close` did not");
    drop(from);
    assert!(given.join().unwrap().is_err());
    assert_eq!(sink.stuck(), None);
    assert!(sink.line(b"{}").is_err());
}
