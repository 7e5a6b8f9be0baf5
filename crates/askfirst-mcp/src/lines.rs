//! Lines of a stream, one document each. A line that is too long ends the stream: nothing is buffered without bound.

use std::io::{self, BufRead};

/// The longest line that is taken.
pub const MAX_LINE: usize = 32 << 20;

/// A line was longer than [`MAX_LINE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message is longer than {MAX_LINE} bytes")]
pub struct TooLong;

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A line, without its end, in the buffer.
    Line,
    /// The stream ended. What stood before the end without a line break is no message.
    End,
    /// The line is too long.
    TooLong,
}

/// Reads one line into `line`.
pub(crate) fn next(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Next> {
    line.clear();
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if chunk.is_empty() {
            return Ok(Next::End);
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        if line.len() + part.len() > MAX_LINE {
            return Ok(Next::TooLong);
        }
        line.extend_from_slice(part);
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(Next::Line);
        }
    }
}

#[cfg(test)]
#[path = "lines/tests.rs"]
mod tests;
