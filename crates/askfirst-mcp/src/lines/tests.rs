//! Lines, however the bytes arrive.

use std::io::{BufReader, Cursor, Read};

use super::{KEPT, LEAST, Lines, MAX_LINE, Next};

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
    assert_eq!(lines.next().unwrap(), Next::Line(b"{}"));
    assert_eq!(lines.next().unwrap(), Next::End);
    assert!(lines.held.len() <= KEPT);
}
