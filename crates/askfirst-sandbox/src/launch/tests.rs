//! The last bytes are read to the end, but nobody is waited for.

use std::io::Write;

use super::*;

#[test]
fn all_that_is_there_is_read_though_the_pipe_stays_open() {
    let (reader, mut writer) = io::pipe().unwrap();
    let bytes: Vec<u8> = (0..50_000_u32).map(|number| (number % 251) as u8).collect();
    writer.write_all(&bytes).unwrap();
    let mut source = Source::new(reader, 1 << 20).unwrap();
    source.drain(&mut [0; 1000]).unwrap();
    assert!(source.keeper.finish().whole().unwrap() == bytes);
    drop(writer);
}

#[test]
fn an_end_and_an_empty_pipe_are_both_nothing() {
    let (reader, writer) = io::pipe().unwrap();
    let mut source = Source::new(reader, 10).unwrap();
    assert_eq!(source.read(&mut [0; 10]).unwrap(), 0);
    assert!(source.pipe.is_some());
    drop(writer);
    assert_eq!(source.read(&mut [0; 10]).unwrap(), 0);
    assert!(source.pipe.is_none());
    source.drain(&mut [0; 10]).unwrap();
}
