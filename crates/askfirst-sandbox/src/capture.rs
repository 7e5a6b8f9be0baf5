//! Keeps the beginning and the end of a stream within a budget; never loses the end and never miscounts the gap.

use std::collections::VecDeque;

/// One output stream, cut in the middle if it was longer than its budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes: all of them if they fit into the first half of the budget.
    pub head: Vec<u8>,
    /// The last bytes after `head`, at most the other half of the budget.
    pub tail: Vec<u8>,
    /// How many bytes there were between `head` and `tail`.
    pub dropped: u64,
}

impl Captured {
    /// The whole stream, if nothing was dropped.
    pub fn whole(&self) -> Option<Vec<u8>> {
        (self.dropped == 0).then(|| [self.head.as_slice(), self.tail.as_slice()].concat())
    }
}

/// A [`Captured`] being filled.
#[derive(Clone, Debug)]
pub struct Keeper {
    head: Vec<u8>,
    head_room: usize,
    tail: VecDeque<u8>,
    tail_room: usize,
    dropped: u64,
}

impl Keeper {
    /// Keeps at most `budget` bytes; if it is odd, the head gets the odd one.
    pub fn new(budget: usize) -> Self {
        let tail_room = budget / 2;
        Self { head: Vec::new(), head_room: budget - tail_room, tail: VecDeque::new(), tail_room, dropped: 0 }
    }

    /// Adds bytes at the end.
    pub fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_room - self.head.len()));
        self.head.extend_from_slice(first);

        let (skipped, kept) = rest.split_at(rest.len().saturating_sub(self.tail_room));
        let oldest = (self.tail.len() + kept.len()).saturating_sub(self.tail_room);
        self.tail.drain(..oldest);
        self.tail.extend(kept);
        self.dropped += (skipped.len() + oldest) as u64;
    }

    /// What was kept.
    pub fn finish(self) -> Captured {
        Captured { head: self.head, tail: self.tail.into(), dropped: self.dropped }
    }
}

#[cfg(test)]
mod tests;
