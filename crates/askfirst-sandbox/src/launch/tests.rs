//! Tests that output is read to its end without waiting for other writers.

use std::io::Write;

use super::*;
use crate::spec::Limits;

fn spec_keeping(output: usize) -> Spec {
    Spec { limits: Limits { output, ..Limits::default() }, ..Spec::new("x", "/") }
}

#[test]
fn drain_with_open_pipe_reads_all_available_bytes() {
    let (reader, mut writer) = io::pipe().unwrap();
    let bytes: Vec<u8> = (0..50_000_u32).map(|number| (number % 251) as u8).collect();
    writer.write_all(&bytes).unwrap();
    let mut source = OutputPipe::new(reader, &spec_keeping(1 << 20), Output::Stdout).unwrap();
    source.drain(&mut [0; 1000]).unwrap();
    assert!(source.buffer.finish().whole().unwrap() == bytes);
    drop(writer);
}

#[test]
fn read_of_empty_or_closed_pipe_returns_zero() {
    let (reader, writer) = io::pipe().unwrap();
    let mut source = OutputPipe::new(reader, &spec_keeping(10), Output::Stdout).unwrap();
    assert_eq!(source.read(&mut [0; 10]).unwrap(), 0);
    assert!(source.pipe.is_some());
    drop(writer);
    assert_eq!(source.read(&mut [0; 10]).unwrap(), 0);
    assert!(source.pipe.is_none());
    source.drain(&mut [0; 10]).unwrap();
}

#[test]
fn listener_gets_every_byte_when_it_is_read() {
    let (reader, mut writer) = io::pipe().unwrap();
    let received = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = std::sync::Arc::clone(&received);
    let listener: OutputListener = std::sync::Arc::new(move |output, bytes: &[u8]| {
        sink.lock().unwrap().push((output, bytes.to_vec()));
    });
    let spec = Spec { listener: Some(listener), ..spec_keeping(4) };
    let mut source = OutputPipe::new(reader, &spec, Output::Stderr).unwrap();
    writer.write_all(b"0123456789").unwrap();
    source.read(&mut [0; 100]).unwrap();
    assert_eq!(*received.lock().unwrap(), [(Output::Stderr, b"0123456789".to_vec())]);
}
