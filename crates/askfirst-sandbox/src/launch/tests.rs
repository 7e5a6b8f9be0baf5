//! The last bytes are read to the end, but nobody is waited for.

use std::io::Write;

use super::*;
use crate::spec::Limits;

fn keeping(output: usize) -> Spec {
    Spec { limits: Limits { output, ..Limits::default() }, ..Spec::new("x", "/") }
}

#[test]
fn all_that_is_there_is_read_though_the_pipe_stays_open() {
    let (reader, mut writer) = io::pipe().unwrap();
    let bytes: Vec<u8> = (0..50_000_u32).map(|number| (number % 251) as u8).collect();
    writer.write_all(&bytes).unwrap();
    let mut source = Source::new(reader, &keeping(1 << 20), Output::Stdout).unwrap();
    source.drain(&mut [0; 1000]).unwrap();
    assert!(source.keeper.finish().whole().unwrap() == bytes);
    drop(writer);
}

#[test]
fn an_end_and_an_empty_pipe_are_both_nothing() {
    let (reader, writer) = io::pipe().unwrap();
    let mut source = Source::new(reader, &keeping(10), Output::Stdout).unwrap();
    assert_eq!(source.read(&mut [0; 10]).unwrap(), 0);
    assert!(source.pipe.is_some());
    drop(writer);
    assert_eq!(source.read(&mut [0; 10]).unwrap(), 0);
    assert!(source.pipe.is_none());
    source.drain(&mut [0; 10]).unwrap();
}

#[test]
fn whoever_listens_hears_what_is_read_when_it_is_read() {
    let (reader, mut writer) = io::pipe().unwrap();
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = std::sync::Arc::clone(&heard);
    let listener: Heard = std::sync::Arc::new(move |output, bytes: &[u8]| {
        told.lock().unwrap().push((output, bytes.to_vec()));
    });
    let spec = Spec { heard: Some(listener), ..keeping(4) };
    let mut source = Source::new(reader, &spec, Output::Stderr).unwrap();
    writer.write_all(b"0123456789").unwrap();
    source.read(&mut [0; 100]).unwrap();
    assert_eq!(*heard.lock().unwrap(), [(Output::Stderr, b"0123456789".to_vec())]);
}
