//! Lines of a stream, one document each. A line that is too long ends the stream: nothing is buffered without bound.

use std::io::{self, ErrorKind, Read};

/// The longest line that is taken.
pub const MAX_LINE: usize = 32 << 20;

/// So much is held at first, and again once nothing long is.
const LEAST: usize = 64 << 10;

/// More than this is given back once it has been used.
const KEPT: usize = 2 << 20;

/// A line was longer than [`MAX_LINE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message is longer than {MAX_LINE} bytes")]
pub struct TooLong;

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// A line, without its end.
    Line(&'a [u8]),
    /// The stream ended. What stood before the end without a line break is no message.
    End,
    /// The line is too long.
    TooLong,
}

/// The lines of a stream. A line is looked at where it was read to.
pub(crate) struct Lines<R> {
    input: R,
    held: Vec<u8>,
    /// Where what has not been given away begins, and where it ends.
    start: usize,
    end: usize,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, held: Vec::new(), start: 0, end: 0 }
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> io::Result<Next<'_>> {
        let mut searched = self.start;
        let end = loop {
            let new = self.held.get(searched..self.end).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', new) {
                break searched + at;
            }
            searched = self.end;
            if self.end - self.start > MAX_LINE {
                return Ok(Next::TooLong);
            }
            searched -= self.make_room();
            let room = self.held.get_mut(self.end..).unwrap_or_default();
            match self.input.read(room) {
                Ok(0) => return Ok(Next::End),
                Ok(count) => self.end += count,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        };
        let line = self.held.get(self.start..end).unwrap_or_default();
        self.start = end + 1;
        if line.len() > MAX_LINE {
            return Ok(Next::TooLong);
        }
        Ok(Next::Line(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Makes room to read to. Says by how much what is held has moved to the front.
    fn make_room(&mut self) -> usize {
        let moved = self.start;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.held.len() > KEPT {
                self.held = Vec::new();
            }
        }
        if self.end == self.held.len() {
            self.held.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.held.len() < self.end * 2 || self.held.is_empty() {
                self.held.resize((self.held.len() * 2).clamp(LEAST, MAX_LINE + LEAST), 0);
            }
        }
        moved - self.start
    }
}

#[cfg(test)]
#[path = "lines/tests.rs"]
mod tests;
