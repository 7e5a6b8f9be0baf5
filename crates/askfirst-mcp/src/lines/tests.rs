//! Lines, however the bytes arrive.

use std::io::{BufReader, Cursor};

use super::{MAX_LINE, Next, next};

fn all(bytes: &[u8], capacity: usize) -> Vec<Vec<u8>> {
    let mut input = BufReader::with_capacity(capacity, Cursor::new(bytes));
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    while next(&mut input, &mut line).unwrap() == Next::Line {
        lines.push(line.clone());
    }
    lines
}

#[test]
fn lines_come_whole_however_the_bytes_arrive() {
    let bytes = b"{\"a\":1}\n\n{\"b\":2}\r\nhalf";
    for capacity in 1..20 {
        let wanted = [&b"{\"a\":1}"[..], b"", b"{\"b\":2}"];
        assert_eq!(all(bytes, capacity), wanted);
    }
}

#[test]
fn a_line_that_is_too_long_is_told_before_it_is_held() {
    struct Endless(usize);
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer.fill(b'x');
            self.0 += buffer.len();
            Ok(buffer.len())
        }
    }
    let mut input = BufReader::with_capacity(1 << 16, Endless(0));
    let mut line = Vec::new();
    assert_eq!(next(&mut input, &mut line).unwrap(), Next::TooLong);
    assert!(line.len() <= MAX_LINE + 1 && input.get_ref().0 <= MAX_LINE + (1 << 17));
}
