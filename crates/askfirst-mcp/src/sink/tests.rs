//! Lines go whole, and a side that takes nothing holds up nobody else.

use std::io::{BufRead, BufReader, pipe};
use std::sync::Arc;

use super::*;

#[test]
fn lines_go_whole_with_their_end_and_no_other() {
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
fn a_side_that_takes_nothing_is_noticed_and_closed_without_waiting_for_it() {
    let (from, to) = pipe().unwrap();
    let sink = Arc::new(Sink::new(Box::new(to)));
    assert_eq!(sink.stuck(), None);
    let giving = Arc::clone(&sink);
    let given = std::thread::spawn(move || giving.line(&vec![b'x'; 8 << 20]));
    while sink.stuck().is_none() {
        std::thread::yield_now();
    }
    sink.close();
    assert!(sink.stuck().is_some(), "it still waits, and nobody waited for it");
    drop(from);
    assert!(given.join().unwrap().is_err());
    assert_eq!(sink.stuck(), None);
    assert!(sink.line(b"{}").is_err());
}
