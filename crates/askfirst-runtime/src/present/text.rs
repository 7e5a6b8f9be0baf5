//! A text of any size, read line by line where it is looked at. Nothing of it is drawn before.
//!
//! It keeps the text and a sparse index, so that a line far down is found without going through all that stands
//! before it. Long lines are taken in pieces, runs of blank lines as one.

use std::sync::Arc;

use askfirst::{ApprovalPresentation, ApprovalRequest};
use serde_json::Value;

use super::escape::{MAX_BLANK_LINES, Piece, PieceKind, Visible, blank_lines, is_plain, visible_line};
use super::line::Row;
use super::tone::Tone;

/// Every so many lines the index knows where they begin.
pub(super) const STRIDE: usize = 32;
/// A longer line is taken in pieces of this many bytes.
pub(super) const MAX_LINE: usize = 2_048;

/// Where a text is kept. What a request holds already is not copied, as it may be large.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Here.
    Own(String),
    /// In a request, as what its tool shows.
    Shown(Arc<ApprovalRequest>),
    /// In a request, as an argument of that name.
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
pub(super) struct Text {
    source: Source,
    marks: Vec<Mark>,
    len: usize,
    /// How many characters are drawn as escapes.
    pub(super) escaped: usize,
    /// How many blanks and blank lines are drawn as a count.
    pub(super) collapsed: usize,
}

/// Where a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    at: usize,
    number: usize,
    row: Row,
}

/// One line, a piece of a long one, or a run of blank ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot<'a> {
    /// What stands there, without the line feed.
    pub(super) raw: &'a str,
    /// The number of its line, counted from 1.
    pub(super) number: usize,
    /// Whether it goes on with the slot before.
    pub(super) row: Row,
    /// How many blank lines it stands for, if it stands for several.
    pub(super) blanks: usize,
    /// Where it begins in the text.
    pub(super) start: usize,
}

impl Slot<'_> {
    /// The slot without anything that stands out.
    pub(super) fn drawn(&self) -> Visible {
        if self.blanks == 0 {
            return visible_line(self.raw);
        }
        let piece = Piece { text: blank_lines(self.blanks), kind: PieceKind::Collapsed, tone: Tone::None };
        Visible { lines: vec![vec![piece]], escaped: 0, collapsed: self.blanks }
    }
}

impl Text {
    /// Takes a text. A line feed at its end begins no further line.
    pub(super) fn new(source: impl Into<Source>) -> Self {
        let mut made = Self { source: source.into(), ..Self::default() };
        let mut slots = made.slots(Mark { at: 0, number: 1, row: Row::First });
        let (mut marks, mut len, mut escaped, mut collapsed) = (Vec::new(), 0, 0, 0);
        loop {
            let mark = slots.mark;
            let Some(slot) = slots.next() else { break };
            if len % STRIDE == 0 {
                marks.push(mark);
            }
            len += 1;
            if slot.blanks > 0 || !is_plain(slot.raw) {
                let drawn = slot.drawn();
                escaped += drawn.escaped;
                collapsed += drawn.collapsed;
            }
        }
        (made.marks, made.len, made.escaped, made.collapsed) = (marks, len, escaped, collapsed);
        made
    }

    /// How many bytes the text has.
    pub(super) fn size(&self) -> usize {
        self.source.as_str().len()
    }

    /// How many slots there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The slots from the last indexed one that is not after `at`, and which one that is.
    pub(super) fn near(&self, at: usize) -> (usize, Slots<'_>) {
        let mark = (at / STRIDE).min(self.marks.len().saturating_sub(1));
        let begin = self.marks.get(mark).copied().unwrap_or(Mark { at: 0, number: 1, row: Row::First });
        (mark * STRIDE, self.slots(begin))
    }

    /// One slot.
    pub(super) fn slot(&self, at: usize) -> Option<Slot<'_>> {
        let (first, mut slots) = self.near(at);
        slots.nth(at.checked_sub(first)?)
    }

    fn slots(&self, mark: Mark) -> Slots<'_> {
        let whole = self.source.as_str();
        let text = whole.strip_suffix('\n').unwrap_or(whole);
        // One line feed is an empty line; nothing is none.
        let over = whole.is_empty();
        Slots { text, mark, over }
    }
}

/// Goes through a text.
pub(super) struct Slots<'a> {
    text: &'a str,
    mark: Mark,
    over: bool,
}

impl<'a> Slots<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.mark.at..).unwrap_or_default()
    }

    /// Goes on behind a line feed, or ends.
    fn step(&mut self, bytes: usize, lines: usize) {
        let end = self.mark.at + bytes;
        self.over = end >= self.text.len();
        self.mark = Mark { at: end + 1, number: self.mark.number + lines, row: Row::First };
    }

    /// How many blank lines stand here, and how many bytes they take without the last line feed.
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
        if self.over {
            return None;
        }
        let Mark { number, row, at: start } = self.mark;
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
        // A run of blanks stays together, so that it is counted as one.
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
            self.mark = Mark { at: self.mark.at + end, number, row: Row::Continued };
        }
        Some(Slot { raw: rest.get(..end).unwrap_or_default(), number, row, blanks: 0, start })
    }
}

#[cfg(test)]
#[path = "text/tests.rs"]
mod tests;
