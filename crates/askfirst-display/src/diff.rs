//! Draws a unified diff: numbered lines, emphasis on changed words, and a summary in words.
//!
//! On a wide screen, the old and the new side are next to each other.
//! Color carries no information that the text does not carry too.

mod sides;
mod summary;
mod unified;

use std::ops::Range;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::escape::{Piece, visible_toned, width};
use super::line::{Change, GUTTER, Line, Paragraph, Part, Row};
use super::text::{IndexedText, STRIDE, Slot, Source};
use super::tone::Tone;
use sides::Sides;
use summary::Tally;
pub use unified::unified;

/// The narrowest screen on which both sides are next to each other, in columns.
pub const SIDES_FROM: usize = 120;
/// On a narrower screen, each line has one number instead of two.
const NARROW: usize = 60;
/// The longest line in bytes that is compared word by word.
const MAX_WORDS: usize = 1_000;
/// The longest change in lines that is compared word by word.
const MAX_BLOCK: usize = 96;
/// The time limit for comparing the words of one line.
const WORDS_TIME: Duration = Duration::from_millis(2);

/// A diff whose lines are drawn only when they are on screen.
#[derive(Debug, Clone)]
pub(super) struct Diff {
    pub(super) text: IndexedText,
    states: Vec<DiffState>,
    sides: Sides,
    digits: usize,
    tally: Tally,
    /// The number of lines at the start that are not drawn.
    skipped: usize,
}

/// The state of the parser before a line.
#[derive(Debug, Clone, Copy)]
struct DiffState {
    place: Region,
    old: usize,
    new: usize,
    last: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Header,
    /// In a hunk, with the number of old and new lines that are left in it.
    Hunk {
        old: usize,
        new: usize,
    },
}

/// One line with its role and its numbers.
#[derive(Debug, Clone, Copy)]
struct DiffLine<'a> {
    slot: Slot<'a>,
    change: Change,
    old: Option<usize>,
    new: Option<usize>,
}

impl Diff {
    pub(super) fn new(text: impl Into<Source>) -> Self {
        let text = IndexedText::new(text);
        let mut state = DiffState { place: Region::Header, old: 0, new: 0, last: Change::Header };
        let (mut states, mut most) = (Vec::new(), 0);
        let (mut tally, mut sides) = (Tally::default(), Sides::of(text.size()));
        let (_, slots) = text.near(0);
        for (at, slot) in slots.enumerate() {
            if at % STRIDE == 0 {
                states.push(state);
            }
            let known = state.take(slot);
            most = most.max(state.old).max(state.new);
            tally.take(known.change, &known.slot);
            sides.take(at, known.change);
        }
        tally.settle();
        sides.end();
        let digits = most.to_string().len();
        Self { text, states, sides, digits, tally, skipped: 0 }
    }

    /// Leaves out the lines before the first change of a diff that askfirst made itself.
    /// They are the name of the file, which is in the headline, and the numbers that each line has anyway.
    pub(super) fn without_header(self) -> Self {
        let expected = [Change::Header, Change::Header, Change::Hunk];
        let is = |(at, change): (usize, &Change)| self.known(at).is_some_and(|known| known.change == *change);
        let skipped = if expected.iter().enumerate().all(is) { expected.len() } else { 0 };
        Self { skipped, ..self }
    }

    /// The number of changed lines in words: `2 lines added, 1 removed`.
    pub(super) fn count(&self) -> String {
        self.tally.count()
    }

    /// Changes that color could not show, in words.
    pub(super) fn words(&self) -> Vec<String> {
        self.tally.words()
    }

    pub(super) fn len(&self, columns: usize) -> usize {
        let all = if self.has_sides(columns) { self.sides.rows() } else { self.text.len() };
        all.saturating_sub(self.skipped)
    }

    pub(super) fn rows(&self, at: usize, columns: usize) -> Vec<Line> {
        let at = at + self.skipped;
        if !self.has_sides(columns) {
            let Some(known) = self.known(at) else { return Vec::new() };
            return self.paragraph(at, &known, columns).wrap(columns);
        }
        let Some((left, right)) = self.sides.row(at) else { return Vec::new() };
        self.side_by_side(left, right, columns)
    }

    fn has_sides(&self, columns: usize) -> bool {
        columns + 1 >= SIDES_FROM && self.sides.rows() > 0
    }

    fn known(&self, at: usize) -> Option<DiffLine<'_>> {
        self.from(at, 0).find(|(here, _)| *here == at).map(|(_, known)| known)
    }

    /// The lines from a place on, starting at least `back` lines before it.
    fn from(&self, at: usize, back: usize) -> impl Iterator<Item = (usize, DiffLine<'_>)> {
        let (first, slots) = self.text.near(at.saturating_sub(back));
        let start = DiffState { place: Region::Header, old: 0, new: 0, last: Change::Header };
        let mut state = self.states.get(first / STRIDE).copied().unwrap_or(start);
        slots.enumerate().map(move |(offset, slot)| (first + offset, state.take(slot)))
    }

    fn paragraph(&self, at: usize, known: &DiffLine<'_>, columns: usize) -> Paragraph {
        let w = self.digits;
        let number = |number: Option<usize>| number.map_or_else(String::new, |n| n.to_string());
        let (old, new) = (number(known.old), number(known.new));
        let prefix = match known.change {
            Change::Hunk | Change::Header => String::new(),
            Change::Added | Change::Removed | Change::Same | Change::Sides if columns < NARROW => {
                format!("{:>w$} ", if known.new.is_some() { new } else { old })
            }
            Change::Added | Change::Removed | Change::Same | Change::Sides => format!("{old:>w$} {new:>w$} "),
        };
        self.line(at, known, prefix)
    }

    /// Draws a line after its number.
    fn line(&self, at: usize, known: &DiffLine<'_>, prefix: String) -> Paragraph {
        let hang = width(&prefix) + if prefix.is_empty() { 0 } else { 2 };
        let mut pieces = vec![Piece::toned(prefix, Tone::Dim)];
        if known.slot.blanks > 0 {
            pieces.push(Piece::ours("  "));
            pieces.extend(known.slot.drawn().into_pieces());
        } else {
            match known.change {
                Change::Hunk | Change::Header => pieces.extend(known.slot.drawn().into_pieces()),
                Change::Added | Change::Removed | Change::Same | Change::Sides => {
                    pieces.push(Piece::ours(format!("{} ", sign(known.change))));
                    pieces.extend(visible_toned(known.body(), &self.tones(at, known)).into_pieces());
                }
            }
        }
        pieces.retain(|piece| !piece.text.is_empty());
        Paragraph { row: known.slot.row, hang, ..Paragraph::new(Part::Diff(known.change), pieces) }
    }

    /// Emphasis on the words of a changed line that differ from its counterpart.
    fn tones(&self, at: usize, known: &DiffLine<'_>) -> Vec<(Range<usize>, Tone)> {
        let (ours, tone) = match known.change {
            Change::Removed => (ChangeTag::Delete, Tone::RemovedWord),
            Change::Added => (ChangeTag::Insert, Tone::AddedWord),
            Change::Same | Change::Hunk | Change::Header | Change::Sides => return Vec::new(),
        };
        let Some(other) = self.counterpart(at, known.change) else { return Vec::new() };
        let (this, other) = (known.body(), other.body());
        if this.len() > MAX_WORDS || other.len() > MAX_WORDS || this == other {
            return Vec::new();
        }
        let (before, after) = if ours == ChangeTag::Delete { (this, other) } else { (other, this) };
        let words = TextDiff::configure().timeout(WORDS_TIME).diff_words(before, after);
        if words.ratio() < 0.4 {
            return Vec::new();
        }
        let (mut at, mut found) = (0, Vec::new());
        for change in words.iter_all_changes() {
            if change.tag() == ours || change.tag() == ChangeTag::Equal {
                let end = at + change.value().len();
                if change.tag() == ours {
                    found.push((at..end, tone));
                }
                at = end;
            }
        }
        found
    }

    /// The removed line that an added line replaces, or the other way round.
    fn counterpart(&self, at: usize, change: Change) -> Option<DiffLine<'_>> {
        let mut removed: Vec<(usize, DiffLine<'_>)> = Vec::new();
        let mut added: Vec<(usize, DiffLine<'_>)> = Vec::new();
        let begins = at.saturating_sub(MAX_BLOCK) / STRIDE * STRIDE;
        for (here, known) in self.from(at, MAX_BLOCK).take(MAX_BLOCK * 3) {
            match known.change {
                Change::Removed if added.is_empty() => removed.push((here, known)),
                Change::Added => added.push((here, known)),
                Change::Removed | Change::Same | Change::Hunk | Change::Header | Change::Sides => {
                    if here > at {
                        break;
                    }
                    removed.clear();
                    added.clear();
                    if known.change == Change::Removed {
                        removed.push((here, known));
                    }
                }
            }
        }
        let whole = removed.first().is_some_and(|(first, _)| *first > begins || begins == 0);
        let (mine, other) = match change {
            Change::Removed => (&removed, &added),
            Change::Added => (&added, &removed),
            Change::Same | Change::Hunk | Change::Header | Change::Sides => return None,
        };
        let place = mine.iter().position(|(here, _)| *here == at)?;
        other.get(place).filter(|_| whole).map(|(_, known)| *known)
    }

    fn side_by_side(&self, left: Option<usize>, right: Option<usize>, columns: usize) -> Vec<Line> {
        let known = |side: Option<usize>| side.and_then(|at| Some((at, self.known(at)?)));
        let (left, right) = (known(left), known(right));
        if let Some((at, known)) =
            left.filter(|(_, known)| matches!(known.change, Change::Hunk | Change::Header))
        {
            return self.paragraph(at, &known, columns).wrap(columns);
        }
        let half = columns.saturating_sub(GUTTER + DIVIDER.chars().count()) / 2;
        let w = self.digits;
        let side = |known: Option<(usize, DiffLine<'_>)>, tone: Tone, old: bool| -> Vec<Vec<Piece>> {
            let Some((at, known)) = known else { return Vec::new() };
            let number = if old { known.old } else { known.new };
            let prefix = number.map_or_else(|| format!("{:>w$} ", ""), |number| format!("{number:>w$} "));
            let lines = self.line(at, &known, prefix).wrap(half + GUTTER);
            lines
                .into_iter()
                .map(|line| line.pieces.into_iter().map(|piece| tinted(piece, &known, tone)).collect())
                .collect()
        };
        let row = left.or(right).map_or(Row::First, |(_, known)| known.slot.row);
        let (left, right) = (side(left, Tone::Removed, true), side(right, Tone::Added, false));
        let line = |at: usize| {
            let mut pieces = left.get(at).cloned().unwrap_or_default();
            let used: usize = pieces.iter().map(|piece| width(&piece.text)).sum();
            pieces.push(Piece::ours(" ".repeat(half.saturating_sub(used))));
            pieces.push(Piece::toned(DIVIDER, Tone::Dim));
            pieces.extend(right.get(at).cloned().unwrap_or_default());
            let row = if at == 0 { row } else { Row::Continued };
            Line { part: Part::Diff(Change::Sides), row, pieces }
        };
        (0..left.len().max(right.len()).max(1)).map(line).collect()
    }
}

/// The text between the two sides.
const DIVIDER: &str = " ┊ ";

fn tinted(piece: Piece, known: &DiffLine<'_>, tone: Tone) -> Piece {
    match (piece.tone, known.change) {
        (Tone::None, Change::Added | Change::Removed) => Piece { tone, ..piece },
        (_, _) => piece,
    }
}

fn sign(change: Change) -> char {
    match change {
        Change::Added => '+',
        Change::Removed => '-',
        Change::Same | Change::Hunk | Change::Header | Change::Sides => ' ',
    }
}

impl DiffLine<'_> {
    /// The line without its sign.
    fn body(&self) -> &str {
        let raw = self.slot.raw;
        match self.slot.row {
            Row::First => raw.strip_prefix(['+', '-', ' ']).unwrap_or(raw),
            Row::Continued => raw,
        }
    }
}

impl DiffState {
    /// Finds the role of a line and moves on to the next.
    fn take<'a>(&mut self, slot: Slot<'a>) -> DiffLine<'a> {
        let mut known = DiffLine { slot, change: self.last, old: None, new: None };
        if slot.row == Row::Continued {
            return known;
        }
        known.change = self.change(&slot);
        let lines = slot.blanks.max(1);
        match known.change {
            Change::Added => known.new = Some(self.step_new(lines)),
            Change::Removed => known.old = Some(self.step_old(lines)),
            Change::Same => (known.old, known.new) = (Some(self.step_old(lines)), Some(self.step_new(lines))),
            Change::Hunk | Change::Header | Change::Sides => {}
        }
        self.last = known.change;
        known
    }

    fn change(&mut self, slot: &Slot<'_>) -> Change {
        if let Some((old, new)) = hunk(slot.raw) {
            (self.old, self.new) = (old.start, new.start);
            self.place = Region::Hunk { old: old.len(), new: new.len() };
            return Change::Hunk;
        }
        let Region::Hunk { old, new } = self.place else { return Change::Header };
        let is_complete = old == 0 && new == 0;
        match slot.raw.chars().next() {
            // Inside a hunk, `---` is a removed line. It starts the next file only after a complete hunk.
            Some('-' | '+')
                if is_complete && (slot.raw.starts_with("--- ") || slot.raw.starts_with("+++ ")) =>
            {
                Change::Header
            }
            Some('+') => Change::Added,
            Some('-') => Change::Removed,
            Some(' ' | '\t') | None => Change::Same,
            Some('\\') => Change::Header,
            Some(_) => {
                self.place = Region::Header;
                Change::Header
            }
        }
    }

    fn step_old(&mut self, lines: usize) -> usize {
        if let Region::Hunk { old, .. } = &mut self.place {
            *old = old.saturating_sub(lines);
        }
        let here = self.old;
        self.old += lines;
        here
    }

    fn step_new(&mut self, lines: usize) -> usize {
        if let Region::Hunk { new, .. } = &mut self.place {
            *new = new.saturating_sub(lines);
        }
        let here = self.new;
        self.new += lines;
        here
    }
}

/// The old and new line numbers of a hunk header: `@@ -1,3 +1,4 @@`.
fn hunk(raw: &str) -> Option<(Range<usize>, Range<usize>)> {
    let rest = raw.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let (start, count): (usize, usize) = (start.parse().ok()?, count.parse().ok()?);
        // Line numbers that no file can have would only push the text aside.
        (start < 1 << 40 && count < 1 << 40).then(|| start..start + count)
    };
    Some((range(old)?, range(new)?))
}

#[cfg(test)]
#[path = "diff/tests.rs"]
mod tests;
