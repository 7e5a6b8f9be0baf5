//! A text of any size with a sparse index. Lines are drawn only when they are on screen.
//!
//! The index finds a line far down without reading everything before it.
//! A long line is split into several slots, and a run of blank lines is one slot.

use std::sync::Arc;

use askfirst::{ApprovalPresentation, ApprovalRequest};
use serde_json::Value;

use super::escape::{MAX_BLANK_LINES, Piece, PieceKind, VisibleText, blank_lines, is_plain, visible_line};
use super::line::Row;
use super::tone::Tone;

/// The index stores the start of every 32nd slot.
pub(super) const STRIDE: usize = 32;
/// The longest slot in bytes. A longer line is split.
pub(super) const MAX_LINE: usize = 2_048;

/// The place that holds a text. A text that a request already holds is not copied, because it can be large.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Here, as an owned string.
    Own(String),
    /// In a request, as the content of its presentation.
    Shown(Arc<ApprovalRequest>),
    /// In a request, as the argument with this name.
    Arg(Arc<ApprovalRequest>, String),
}

impl Default for Source {
    fn default() -> Self {
        Self::Own(String::new())
    }
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        Self::Own(text)
    }
}

impl Source {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Own(text) => text,
            Self::Shown(request) => {
                request.presentation.as_ref().map_or("", ApprovalPresentation::full_content)
            }
            Self::Arg(request, name) => request.args.get(name).and_then(Value::as_str).unwrap_or_default(),
        }
    }
}

/// A text with an index.
#[derive(Debug, Clone, Default)]
pub(super) struct IndexedText {
    source: Source,
    starts: Vec<LineStart>,
    len: usize,
    /// The number of characters that are drawn as escapes.
    pub(super) escaped: usize,
    /// The number of spaces, tabs and blank lines that are drawn as a count.
    pub(super) collapsed: usize,
}

/// The start of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LineStart {
    at: usize,
    number: usize,
    row: Row,
}

/// One line, a part of a long line, or a run of blank lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot<'a> {
    /// The text, without its newline.
    pub(super) raw: &'a str,
    /// The number of its line, starting at 1.
    pub(super) number: usize,
    /// Whether it continues the slot before.
    pub(super) row: Row,
    /// The number of blank lines that it replaces, or 0 if it is a line of its own.
    pub(super) blanks: usize,
    /// Its start in the text, in bytes.
    pub(super) start: usize,
}

impl Slot<'_> {
    /// The slot as visible text, without emphasis.
    pub(super) fn drawn(&self) -> VisibleText {
        if self.blanks == 0 {
            return visible_line(self.raw);
        }
        let piece = Piece { text: blank_lines(self.blanks), kind: PieceKind::Collapsed, tone: Tone::None };
        VisibleText { lines: vec![vec![piece]], escaped: 0, collapsed: self.blanks }
    }
}

impl IndexedText {
    /// Indexes a text. A newline at its end does not start another line.
    pub(super) fn new(source: impl Into<Source>) -> Self {
        let mut indexed = Self { source: source.into(), ..Self::default() };
        let mut slots = indexed.slots(LineStart { at: 0, number: 1, row: Row::First });
        let (mut starts, mut len, mut escaped, mut collapsed) = (Vec::new(), 0, 0, 0);
        loop {
            let here = slots.here;
            let Some(slot) = slots.next() else { break };
            if len % STRIDE == 0 {
                starts.push(here);
            }
            len += 1;
            if slot.blanks > 0 || !is_plain(slot.raw) {
                let drawn = slot.drawn();
                escaped += drawn.escaped;
                collapsed += drawn.collapsed;
            }
        }
        (indexed.starts, indexed.len, indexed.escaped, indexed.collapsed) = (starts, len, escaped, collapsed);
        indexed
    }

    /// The length of the text in bytes.
    pub(super) fn size(&self) -> usize {
        self.source.as_str().len()
    }

    /// The number of slots.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The number of the last indexed slot at or before `at`, and the slots from there on.
    pub(super) fn near(&self, at: usize) -> (usize, Slots<'_>) {
        let index = (at / STRIDE).min(self.starts.len().saturating_sub(1));
        let begin =
            self.starts.get(index).copied().unwrap_or(LineStart { at: 0, number: 1, row: Row::First });
        (index * STRIDE, self.slots(begin))
    }

    /// One slot.
    pub(super) fn slot(&self, at: usize) -> Option<Slot<'_>> {
        let (first, mut slots) = self.near(at);
        slots.nth(at.checked_sub(first)?)
    }

    fn slots(&self, here: LineStart) -> Slots<'_> {
        let whole = self.source.as_str();
        let text = whole.strip_suffix('\n').unwrap_or(whole);
        // A single newline is one empty line. An empty text has no lines.
        let is_done = whole.is_empty();
        Slots { text, here, is_done }
    }
}

/// Iterates is_done the slots of a text.
pub(super) struct Slots<'a> {
    text: &'a str,
    here: LineStart,
    is_done: bool,
}

impl<'a> Slots<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.here.at..).unwrap_or_default()
    }

    /// Moves past the next newline, or ends the iteration.
    fn step(&mut self, bytes: usize, lines: usize) {
        let end = self.here.at + bytes;
        self.is_done = end >= self.text.len();
        self.here = LineStart { at: end + 1, number: self.here.number + lines, row: Row::First };
    }

    /// The number of blank lines from here on, and their length in bytes without the last newline.
    fn blank_run(&self) -> (usize, usize) {
        let (mut count, mut bytes) = (0, 0);
        for line in self.rest().split('\n') {
            if !line.bytes().all(|byte| matches!(byte, b' ' | b'\t')) {
                break;
            }
            bytes += line.len() + usize::from(count > 0);
            count += 1;
        }
        (count, bytes)
    }
}

impl<'a> Iterator for Slots<'a> {
    type Item = Slot<'a>;

    fn next(&mut self) -> Option<Slot<'a>> {
        if self.is_done {
            return None;
        }
        let LineStart { number, row, at: start } = self.here;
        let rest = self.rest();
        if row == Row::First && rest.starts_with([' ', '\t', '\n']) || rest.is_empty() {
            let (count, bytes) = self.blank_run();
            if count > MAX_BLANK_LINES {
                self.step(bytes, count);
                return Some(Slot { raw: "", number, row, blanks: count, start });
            }
        }
        let window = rest.as_bytes().get(..=MAX_LINE).unwrap_or(rest.as_bytes());
        if let Some(end) = window.iter().position(|byte| *byte == b'\n') {
            self.step(end, 1);
            return Some(Slot { raw: rest.get(..end).unwrap_or_default(), number, row, blanks: 0, start });
        }
        if rest.len() <= MAX_LINE {
            self.step(rest.len(), 1);
            return Some(Slot { raw: rest, number, row, blanks: 0, start });
        }
        // A run of spaces and tabs stays together, so that it is counted as one.
        let blanks = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let mut end = MAX_LINE.max(blanks);
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        if end >= rest.len() {
            self.step(rest.len(), 1);
        } else if rest.as_bytes().get(end) == Some(&b'\n') {
            self.step(end, 1);
        } else {
            self.here = LineStart { at: self.here.at + end, number, row: Row::Continued };
        }
        Some(Slot { raw: rest.get(..end).unwrap_or_default(), number, row, blanks: 0, start })
    }
}

#[cfg(test)]
#[path = "text/tests.rs"]
mod tests;
