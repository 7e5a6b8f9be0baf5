//! Lines, however the bytes arrive.

use std::io::{BufReader, Cursor, Read};

use super::{KEPT, Kept, LEAST, Lines, MAX_LINE, Next};

/// Gives so many bytes at once.
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
    while let Next::Line(line) = lines.next().unwrap() {
        found.push(line.to_vec());
    }
    found
}

#[test]
fn lines_come_whole_however_the_bytes_arrive() {
    let bytes = b"{\"a\":1}\n\n{\"b\":2}\r\nhalf";
    for capacity in 1..20 {
        let wanted = [&b"{\"a\":1}"[..], b"", b"{\"b\":2}"];
        assert_eq!(all(Pieces(bytes, capacity)), wanted);
        assert_eq!(all(BufReader::with_capacity(capacity, Cursor::new(bytes))), wanted);
    }
}

#[test]
fn long_and_short_lines_come_in_order_and_whole() {
    let lengths = [1, LEAST - 1, LEAST, LEAST + 1, 3, 0, 5 * LEAST, KEPT + 7, 2, 2 * KEPT, LEAST / 2, 9];
    let line = |at: usize, length: usize| vec![b'a' + u8::try_from(at).unwrap(); length];
    let wanted: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(at, length)| line(at, *length)).collect();
    let bytes = [wanted.join(&b'\n'), vec![b'\n']].concat();
    for size in [1000, LEAST - 1, LEAST, LEAST + 1, usize::MAX] {
        assert!(all(Pieces(&bytes, size)) == wanted, "{size}");
    }
}

#[test]
fn a_line_that_is_too_long_is_told_before_it_is_held() {
    struct Endless(usize);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer.fill(b'x');
            self.0 += buffer.len();
            Ok(buffer.len())
        }
    }
    let mut lines = Lines::new(Endless(0));
    assert_eq!(lines.next().unwrap(), Next::TooLong);
    assert!(lines.held.len() <= MAX_LINE + LEAST && lines.input.0 <= MAX_LINE + LEAST);
}

#[test]
fn the_longest_line_is_taken_and_one_byte_more_is_not() {
    for (length, taken) in [(MAX_LINE, true), (MAX_LINE + 1, false)] {
        let bytes = [vec![b'x'; length], vec![b'\n']].concat();
        let mut lines = Lines::new(&bytes[..]);
        assert_eq!(lines.next().unwrap() != Next::TooLong, taken, "{length}");
    }
}

#[test]
fn what_a_long_line_took_is_given_back() {
    let bytes = [vec![b'x'; 2 * KEPT], b"\n{}\n".to_vec()].concat();
    let mut lines = Lines::new(Pieces(&bytes, LEAST));
    assert!(matches!(lines.next().unwrap(), Next::Line(line) if line.len() == 2 * KEPT));
    assert_eq!(lines.next().unwrap(), Next::Line(b"{}"[..].into()));
    assert_eq!(lines.next().unwrap(), Next::End);
    assert!(lines.held.len() <= KEPT);
}

#[test]
fn what_is_kept_stays_as_it_was_whatever_comes_after_it() {
    let lengths = [LEAST - 1, LEAST, 7, LEAST + 1, 3 * LEAST, 5 * LEAST, 1, KEPT + 7, 2 * KEPT, LEAST / 2, 9];
    let line = |at: usize, length: usize| vec![b'a' + u8::try_from(at).unwrap(); length];
    let wanted: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(at, length)| line(at, *length)).collect();
    let bytes = [wanted.join(&b'\n'), vec![b'\n']].concat();
    for size in [1000, LEAST - 1, LEAST, LEAST + 1, usize::MAX] {
        for among in 1..4 {
            let mut lines = Lines::new(Pieces(&bytes, size));
            let mut kept = Vec::new();
            while let Next::Line(line) = lines.next().unwrap() {
                // Some stay where they were read to, some are let go at once.
                let line = line.keep();
                kept.push(if kept.len() % among == 0 { line } else { Kept::Own(line.to_vec()) });
            }
            assert!(kept.iter().map(|line| &**line).eq(wanted.iter().map(Vec::as_slice)), "{size} {among}");
        }
    }
}

#[test]
fn what_is_kept_holds_little_more_than_itself_and_what_is_let_go_is_read_to_again() {
    let long = [vec![b'x'; LEAST], vec![b'\n']].concat();
    let bytes = [&long[..], b"{}\n", &long, &long].concat();
    let mut lines = Lines::new(Pieces(&bytes, 4 * LEAST));
    let mut next = || match lines.next().unwrap() {
        Next::Line(line) => line.keep(),
        Next::End | Next::TooLong => Kept::default(),
    };
    let place = |kept: &Kept| match kept {
        Kept::Shared(held, _) => {
            assert!(held.len() <= 2 * kept.len(), "{} {}", held.len(), kept.len());
            Some(held.as_ptr())
        }
        Kept::Own(_) => None,
    };
    let (long, short) = (next(), next());
    let first = place(&long);
    assert!(first.is_some() && place(&short).is_none());
    drop(long);
    let second = next();
    assert_eq!(place(&second), first, "nobody keeps the first any more");
    assert_ne!(place(&next()), first, "somebody keeps the second");
}
