//! What stands below a heading: a few lines that are laid out already, or a content that is read where it is looked at.

use std::ops::Range;
use std::time::Instant;

use super::super::diff::Diff;
use super::super::escape::{Piece, visible_toned, width};
use super::super::highlight::Highlight;
use super::super::line::{Entry, Line, Part, Row};
use super::super::text::{Slot, Text};
use super::super::tone::Tone;

/// What stands below a heading.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// Lines that are there.
    Entries(Vec<Entry>),
    /// A text.
    Text(Box<Lines>),
    /// A diff.
    Diff(Box<Diff>),
}

impl Body {
    pub(super) fn len(&self, columns: usize) -> usize {
        match self {
            Self::Entries(entries) => entries.len(),
            Self::Text(lines) => lines.text.len(),
            Self::Diff(diff) => diff.len(columns),
        }
    }

    pub(super) fn rows(&self, at: usize, columns: usize) -> Vec<Line> {
        match self {
            Self::Entries(entries) => entries.get(at).map(|entry| entry.wrap(columns)).unwrap_or_default(),
            Self::Text(lines) => lines.rows(at, columns),
            Self::Diff(diff) => diff.rows(at, columns),
        }
    }

    pub(super) fn depth(&self, at: usize) -> Option<usize> {
        match self {
            Self::Entries(entries) => {
                let foldable = |entry: &&Entry| match entry.part {
                    Part::Args | Part::Content(_) => true,
                    Part::Title
                    | Part::Heading
                    | Part::Field
                    | Part::Claim
                    | Part::Fact
                    | Part::Warning
                    | Part::Diff(_)
                    | Part::Scope
                    | Part::Count
                    | Part::Option => false,
                };
                entries.get(at).filter(foldable).map(|entry| entry.indent)
            }
            Self::Text(_) | Self::Diff(_) => None,
        }
    }

    pub(super) fn highlight_until(&self, until: Instant) {
        match self {
            Self::Text(lines) => lines.highlight.iter().for_each(|highlight| highlight.until(until)),
            Self::Entries(_) | Self::Diff(_) => {}
        }
    }
}

/// What stands before each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing.
    Nothing,
    /// Its number.
    Number,
    /// `$` before the first.
    Dollar,
}

/// A text as lines of a part.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    pub(super) text: Text,
    pub(super) part: Part,
    pub(super) before: Before,
    pub(super) highlight: Option<Highlight>,
    /// Parts of the whole text that stand out.
    pub(super) marks: Vec<(Range<usize>, Tone)>,
}

impl Lines {
    fn rows(&self, at: usize, columns: usize) -> Vec<Line> {
        let Some(slot) = self.text.slot(at) else { return Vec::new() };
        let before = match (self.before, slot.row) {
            (Before::Nothing, _) => String::new(),
            (Before::Number, Row::First) => format!("{:>w$}  ", slot.number, w = self.digits()),
            (Before::Number, Row::Continued) => " ".repeat(self.digits() + 2),
            (Before::Dollar, _) if at == 0 => "$ ".to_owned(),
            (Before::Dollar, _) => "  ".to_owned(),
        };
        let hang = width(&before);
        let mut pieces = Vec::new();
        if !before.is_empty() {
            pieces.push(Piece::toned(before, Tone::Dim));
        }
        if slot.blanks > 0 {
            pieces.extend(slot.drawn().into_pieces());
        } else {
            pieces.extend(visible_toned(slot.raw, &self.tones(at, &slot)).into_pieces());
        }
        Entry { row: slot.row, hang, ..Entry::new(self.part, pieces) }.wrap(columns)
    }

    fn digits(&self) -> usize {
        self.text.len().to_string().len()
    }

    fn tones(&self, at: usize, slot: &Slot<'_>) -> Vec<(Range<usize>, Tone)> {
        let here = slot.start..slot.start + slot.raw.len();
        let marked = self.marks.iter().filter(|(range, _)| range.start < here.end && range.end > here.start);
        let within = |place: usize| place.clamp(here.start, here.end) - here.start;
        let mut tones: Vec<_> =
            marked.map(|(range, tone)| (within(range.start)..within(range.end), *tone)).collect();
        let marks = tones.len();
        if let Some(highlight) = &self.highlight {
            for (range, tone) in highlight.tones(&self.text, at) {
                let free = tones
                    .iter()
                    .take(marks)
                    .all(|(mark, _)| mark.end <= range.start || mark.start >= range.end);
                if free {
                    tones.push((range, tone));
                }
            }
        }
        tones.sort_by_key(|(range, _)| range.start);
        tones
    }
}
