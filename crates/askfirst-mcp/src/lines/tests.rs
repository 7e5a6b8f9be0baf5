//! Tests that lines are the same however the bytes arrive.

use std::io::{BufReader, Cursor, Read};

use super::{KEPT, KeptLine, LEAST, LineRead, Lines, MAX_LINE};

/// A reader that returns this many bytes at once.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }
}

fn all(input: impl Read) -> Vec<Vec<u8>> {
    let mut lines = Lines::new(input);
    let mut found = Vec::new();
    while let LineRead::Line(line) = lines.next().unwrap() {
        found.push(line.to_vec());
    }
    found
}

#[test]
fn lines_are_whole_however_the_bytes_arrive() {
    let bytes = b"{\"a\":1}\n\n{\"b\":2}\r\nhalf";
    for capacity in 1..20 {
        let wanted = [&b"{\"a\":1}"[..], b"", b"{\"b\":2}"];
        assert_eq!(all(Pieces(bytes, capacity)), wanted);
        assert_eq!(all(BufReader::with_capacity(capacity, Cursor::new(bytes))), wanted);
    }
}

#[test]
fn long_and_short_lines_arrive_whole_and_in_order() {
    let lengths = [1, LEAST - 1, LEAST, LEAST + 1, 3, 0, 5 * LEAST, KEPT + 7, 2, 2 * KEPT, LEAST / 2, 9];
    let line = |at: usize, length: usize| vec![b'a' + u8::try_from(at).unwrap(); length];
    let wanted: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(at, length)| line(at, *length)).collect();
    let bytes = [wanted.join(&b'\n'), vec![b'\n']].concat();
    for size in [1000, LEAST - 1, LEAST, LEAST + 1, usize::MAX] {
        assert!(all(Pieces(&bytes, size)) == wanted, "{size}");
    }
}

#[test]
fn too_long_line_is_reported_before_it_is_buffered() {
    struct Endless(usize);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer.fill(b'x');
            self.0 += buffer.len();
            Ok(buffer.len())
        }
    }
    let mut lines = Lines::new(Endless(0));
    assert_eq!(lines.next().unwrap(), LineRead::TooLong);
    assert!(lines.held.len() <= MAX_LINE + LEAST && lines.input.0 <= MAX_LINE + LEAST);
}

#[test]
fn longest_line_is_accepted_but_not_one_byte_more() {
    for (length, taken) in [(MAX_LINE, true), (MAX_LINE + 1, false)] {
        let bytes = [vec![b'x'; length], vec![b'\n']].concat();
        let mut lines = Lines::new(&bytes[..]);
        assert_eq!(lines.next().unwrap() != LineRead::TooLong, taken, "{length}");
    }
}

#[test]
fn memory_of_a_long_line_is_freed() {
    let bytes = [vec![b'x'; 2 * KEPT], b"\n{}\n".to_vec()].concat();
    let mut lines = Lines::new(Pieces(&bytes, LEAST));
    assert!(matches!(lines.next().unwrap(), LineRead::Line(line) if line.len() == 2 * KEPT));
    assert_eq!(lines.next().unwrap(), LineRead::Line(b"{}"[..].into()));
    assert_eq!(lines.next().unwrap(), LineRead::End);
    assert!(lines.held.len() <= KEPT);
}

#[test]
fn kept_line_survives_later_reads() {
    let lengths = [LEAST - 1, LEAST, 7, LEAST + 1, 3 * LEAST, 5 * LEAST, 1, KEPT + 7, 2 * KEPT, LEAST / 2, 9];
    let line = |at: usize, length: usize| vec![b'a' + u8::try_from(at).unwrap(); length];
    let wanted: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(at, length)| line(at, *length)).collect();
    let bytes = [wanted.join(&b'\n'), vec![b'\n']].concat();
    for size in [1000, LEAST - 1, LEAST, LEAST + 1, usize::MAX] {
        for among in 1..4 {
            let mut lines = Lines::new(Pieces(&bytes, size));
            let mut kept = Vec::new();
            while let LineRead::Line(line) = lines.next().unwrap() {
                // Some lines are kept, and some are dropped at once.
                let line = line.keep();
                kept.push(if kept.len() % among == 0 { line } else { KeptLine::Own(line.to_vec()) });
            }
            assert!(kept.iter().map(|line| &**line).eq(wanted.iter().map(Vec::as_slice)), "{size} {among}");
        }
    }
}

#[test]
fn kept_line_holds_little_and_free_buffer_is_reused() {
    let long = [vec![b'x'; LEAST], vec![b'\n']].concat();
    let bytes = [&long[..], b"{}\n", &long, &long].concat();
    let mut lines = Lines::new(Pieces(&bytes, 4 * LEAST));
    let mut next = || match lines.next().unwrap() {
        LineRead::Line(line) => line.keep(),
        LineRead::End | LineRead::TooLong => KeptLine::default(),
    };
    let place = |kept: &KeptLine| match kept {
        KeptLine::Shared(held, _) => {
            assert!(held.len() <= 2 * kept.len(), "{} {}", held.len(), kept.len());
            Some(held.as_ptr())
        }
        KeptLine::Own(_) => None,
    };
    let (long, short) = (next(), next());
    let first = place(&long);
    assert!(first.is_some() && place(&short).is_none());
    drop(long);
    let second = next();
    assert_eq!(place(&second), first, "the first line is no longer kept");
    assert_ne!(place(&next()), first, "the second line is still kept");
}
