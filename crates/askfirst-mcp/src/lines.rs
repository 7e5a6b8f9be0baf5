//! The lines of a stream, one document each. A line that is too long ends the stream, so the buffer has a limit.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The longest line that is accepted, in bytes.
pub const MAX_LINE: usize = 32 << 20;

/// The size of a new buffer, in bytes.
const LEAST: usize = 64 << 10;

/// A buffer larger than this is freed once it is empty, in bytes.
const KEPT: usize = 2 << 20;

/// A line was longer than [`MAX_LINE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message is longer than {MAX_LINE} bytes")]
pub struct TooLong;

/// A message without its line ending. It borrows from the read buffer.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    bytes: &'a [u8],
    /// The read buffer and the start of the line in it, if the line fills at least half of the buffer.
    held: Option<(&'a Arc<Vec<u8>>, usize)>,
}

impl Line<'_> {
    /// Keeps the line for longer than the buffer holds it. A long line is shared, not copied.
    pub(crate) fn keep(&self) -> KeptLine {
        match self.held {
            Some((held, start)) => KeptLine::Shared(Arc::clone(held), start..start + self.bytes.len()),
            None => KeptLine::Own(self.bytes.to_vec()),
        }
    }
}

impl<'a> From<&'a [u8]> for Line<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, held: None }
    }
}

impl Deref for Line<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl PartialEq for Line<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl fmt::Debug for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.bytes.escape_ascii().to_string())
    }
}

/// A line that outlives the next read.
pub(crate) enum KeptLine {
    Own(Vec<u8>),
    /// A range of a read buffer.
    Shared(Arc<Vec<u8>>, Range<usize>),
}

impl Default for KeptLine {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl Deref for KeptLine {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(line) => line,
            Self::Shared(held, range) => held.get(range.clone()).unwrap_or_default(),
        }
    }
}

/// The next item of a stream.
#[derive(Debug, PartialEq)]
pub(crate) enum LineRead<'a> {
    /// A line without its line ending.
    Line(Line<'a>),
    /// The stream ended. Bytes after the last line break are not a message.
    End,
    /// The line is too long.
    TooLong,
}

/// Reads lines in place. While a line is kept, the next one is read into another buffer.
pub(crate) struct Lines<R> {
    input: R,
    held: Arc<Vec<u8>>,
    /// The unread part of the buffer: its start and its end.
    start: usize,
    end: usize,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, held: Arc::default(), start: 0, end: 0 }
    }

    /// Reads the next line.
    pub(crate) fn next(&mut self) -> io::Result<LineRead<'_>> {
        let mut searched = self.start;
        let end = loop {
            let new = self.held.get(searched..self.end).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', new) {
                break searched + at;
            }
            searched = self.end;
            if self.end - self.start > MAX_LINE {
                return Ok(LineRead::TooLong);
            }
            searched -= self.make_room();
            let held = Arc::get_mut(&mut self.held).map(Vec::as_mut_slice).unwrap_or_default();
            match self.input.read(held.get_mut(self.end..).unwrap_or_default()) {
                Ok(0) => return Ok(LineRead::End),
                Ok(count) => self.end += count,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        };
        let start = std::mem::replace(&mut self.start, end + 1);
        let line = self.held.get(start..end).unwrap_or_default();
        if line.len() > MAX_LINE {
            return Ok(LineRead::TooLong);
        }
        let bytes = line.strip_suffix(b"\r").unwrap_or(line);
        // A kept line holds at most twice its own length.
        let held = (bytes.len() * 2 >= self.held.len()).then_some((&self.held, start));
        Ok(LineRead::Line(Line { bytes, held }))
    }

    /// Makes room for the next read. Returns by how many bytes the unread part moved to the front.
    fn make_room(&mut self) -> usize {
        let moved = self.start;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        let begun = self.start..self.end;
        let Some(held) = Arc::get_mut(&mut self.held).filter(|held| !begun.is_empty() || held.len() <= KEPT)
        else {
            let begun = self.held.get(begun).unwrap_or_default();
            let mut held = Vec::with_capacity((begun.len() * 2).clamp(LEAST, MAX_LINE + LEAST));
            held.extend_from_slice(begun);
            (self.start, self.end) = (0, held.len());
            held.resize(held.capacity(), 0);
            self.held = Arc::new(held);
            return moved;
        };
        if self.end == held.len() {
            held.copy_within(begun, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if held.len() < self.end * 2 || held.is_empty() {
                held.resize((held.len() * 2).clamp(LEAST, MAX_LINE + LEAST), 0);
            }
        }
        moved - self.start
    }
}

#[cfg(test)]
#[path = "lines/tests.rs"]
mod tests;
