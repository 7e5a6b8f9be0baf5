//! The body of a section: paragraphs, a text, or a diff. Texts and diffs are drawn only where they are on screen.

use std::ops::Range;
use std::time::Instant;

use super::super::diff::Diff;
use super::super::escape::{Piece, visible_toned, width};
use super::super::highlight::Highlight;
use super::super::line::{Line, Paragraph, Part, Row};
use super::super::text::{IndexedText, Slot};
use super::super::tone::Tone;

/// The body of a section.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// Paragraphs that are built already.
    Paragraphs(Vec<Paragraph>),
    /// A text.
    Text(Box<TextBody>),
    /// A diff.
    Diff(Box<Diff>),
}

impl Body {
    pub(super) fn len(&self, columns: usize) -> usize {
        match self {
            Self::Paragraphs(paragraphs) => paragraphs.len(),
            Self::Text(lines) => lines.text.len(),
            Self::Diff(diff) => diff.len(columns),
        }
    }

    pub(super) fn rows(&self, at: usize, columns: usize) -> Vec<Line> {
        match self {
            Self::Paragraphs(paragraphs) => {
                paragraphs.get(at).map(|paragraph| paragraph.wrap(columns)).unwrap_or_default()
            }
            Self::Text(lines) => lines.rows(at, columns),
            Self::Diff(diff) => diff.rows(at, columns),
        }
    }

    pub(super) fn depth(&self, at: usize) -> Option<usize> {
        match self {
            Self::Paragraphs(paragraphs) => {
                let foldable = |paragraph: &&Paragraph| match paragraph.part {
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
                paragraphs.get(at).filter(foldable).map(|paragraph| paragraph.indent)
            }
            Self::Text(_) | Self::Diff(_) => None,
        }
    }

    pub(super) fn highlight_until(&self, until: Instant) {
        match self {
            Self::Text(lines) => lines.highlight.iter().for_each(|highlight| highlight.until(until)),
            Self::Paragraphs(_) | Self::Diff(_) => {}
        }
    }
}

/// The text before each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePrefix {
    /// Nothing.
    None,
    /// The line number.
    Number,
    /// `$` before the first line.
    Dollar,
}

/// A text whose lines all belong to one part.
#[derive(Debug, Clone)]
pub(super) struct TextBody {
    pub(super) text: IndexedText,
    pub(super) part: Part,
    pub(super) before: LinePrefix,
    pub(super) highlight: Option<Highlight>,
    /// Emphasis on parts of the whole text.
    pub(super) marks: Vec<(Range<usize>, Tone)>,
}

impl TextBody {
    fn rows(&self, at: usize, columns: usize) -> Vec<Line> {
        let Some(slot) = self.text.slot(at) else { return Vec::new() };
        let before = match (self.before, slot.row) {
            (LinePrefix::None, _) => String::new(),
            (LinePrefix::Number, Row::First) => format!("{:>w$}  ", slot.number, w = self.digits()),
            (LinePrefix::Number, Row::Continued) => " ".repeat(self.digits() + 2),
            (LinePrefix::Dollar, _) if at == 0 => "$ ".to_owned(),
            (LinePrefix::Dollar, _) => "  ".to_owned(),
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
        Paragraph { row: slot.row, hang, ..Paragraph::new(self.part, pieces) }.wrap(columns)
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
