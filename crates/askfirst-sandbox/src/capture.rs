//! Keeps the beginning and the end of a stream within a budget, and counts the bytes dropped between them.

use std::collections::VecDeque;

/// One output stream, cut in the middle if it was longer than its budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// The first bytes, at most half of the budget.
    pub head: Vec<u8>,
    /// The last bytes after `head`, at most the other half of the budget.
    pub tail: Vec<u8>,
    /// The number of bytes between `head` and `tail` that were dropped.
    pub dropped: u64,
}

impl Capture {
    /// Returns the whole stream if nothing was dropped.
    pub fn whole(&self) -> Option<Vec<u8>> {
        (self.dropped == 0).then(|| [self.head.as_slice(), self.tail.as_slice()].concat())
    }
}

/// Collects a stream into a [`Capture`].
#[derive(Clone, Debug)]
pub struct CaptureBuffer {
    head: Vec<u8>,
    head_room: usize,
    tail: VecDeque<u8>,
    tail_room: usize,
    dropped: u64,
}

impl CaptureBuffer {
    /// Keeps at most `budget` bytes. If `budget` is odd, the head gets the extra byte.
    pub fn new(budget: usize) -> Self {
        let tail_room = budget / 2;
        Self { head: Vec::new(), head_room: budget - tail_room, tail: VecDeque::new(), tail_room, dropped: 0 }
    }

    /// Appends bytes to the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_room - self.head.len()));
        self.head.extend_from_slice(first);

        let (skipped, kept) = rest.split_at(rest.len().saturating_sub(self.tail_room));
        let oldest = (self.tail.len() + kept.len()).saturating_sub(self.tail_room);
        self.tail.drain(..oldest);
        self.tail.extend(kept);
        self.dropped += (skipped.len() + oldest) as u64;
    }

    /// Returns the kept bytes.
    pub fn finish(self) -> Capture {
        Capture { head: self.head, tail: self.tail.into(), dropped: self.dropped }
    }
}

#[cfg(test)]
mod tests;
