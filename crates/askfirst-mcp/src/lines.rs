//! Lines of a stream, one document each. A line that is too long ends the stream: nothing is buffered without bound.

use std::io::{self, BufRead, Read as _};

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
    // One byte more than is taken tells a line that is too long from one that just fits.
    let most = u64::try_from(MAX_LINE).unwrap_or(u64::MAX).saturating_add(1);
    input.take(most).read_until(b'\n', line)?;
    if line.pop_if(|last| *last == b'\n').is_none() {
        return Ok(if line.len() > MAX_LINE { Next::TooLong } else { Next::End });
    }
    line.pop_if(|last| *last == b'\r');
    Ok(Next::Line)
}

#[cfg(test)]
#[path = "lines/tests.rs"]
mod tests;
