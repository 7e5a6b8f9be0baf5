//! One line on a screen: what it is, and its pieces. Wraps, and never cuts.

use askfirst::PresentationKind;

use super::escape::{Piece, PieceKind, width};

/// What changed in a line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// A line that is added.
    Added,
    /// A line that is taken away.
    Removed,
    /// Where the lines stand.
    Hunk,
    /// Which files it is about.
    Header,
    /// A line that stays.
    Same,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The first line of a page, in our words.
    Title,
    /// What the lines below are, in our words.
    Heading,
    /// Tool, caller, risk: our label, somebody else's value.
    Field,
    /// What the tool or the agent says about the call. Nobody checked it.
    Claim,
    /// What we know.
    Fact,
    /// What a person should not overlook, in our words.
    Warning,
    /// The arguments as they would run.
    Args,
    /// What the tool wants shown.
    Content(PresentationKind),
    /// A line of a diff that the tool wants shown.
    Diff(Change),
    /// What an approval would cover.
    Scope,
    /// How much there is and what was hidden, in our words.
    Count,
    /// A key and what it does, in our words.
    Option,
}

impl Part {
    /// Whether the line has text that somebody else wrote. Every such line has a gutter.
    #[must_use]
    pub fn has_gutter(self) -> bool {
        match self {
            Self::Field
            | Self::Claim
            | Self::Fact
            | Self::Args
            | Self::Content(_)
            | Self::Diff(_)
            | Self::Scope => true,
            Self::Title | Self::Heading | Self::Warning | Self::Count | Self::Option => false,
        }
    }
}

/// Whether a line begins something or goes on with the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Row {
    /// It begins here.
    First,
    /// It did not fit and goes on here.
    Continued,
}

/// One line, no wider than was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub part: Part,
    /// Whether it goes on with the one before.
    pub row: Row,
    /// What to draw after the gutter.
    pub pieces: Vec<Piece>,
}

impl Line {
    /// The text without gutter and style.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// What stands before the text in every style: a glyph that content cannot draw in its place.
    #[must_use]
    pub fn gutter(&self) -> &'static str {
        match (self.part.has_gutter(), self.row) {
            (false, _) => "",
            (true, Row::First) => "│ ",
            (true, Row::Continued) => "┆ ",
        }
    }
}

/// How many columns a gutter takes.
pub const GUTTER: usize = 2;

/// The narrowest screen that is laid out for; on a narrower one the terminal itself wraps.
const MIN_WIDTH: usize = 16;

/// A line before it is laid out: indented by us, its pieces visible already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) part: Part,
    pub(super) indent: usize,
    pub(super) pieces: Vec<Piece>,
}

impl Entry {
    pub(super) fn new(part: Part, pieces: Vec<Piece>) -> Self {
        Self { part, indent: 0, pieces }
    }

    pub(super) fn ours(part: Part, text: impl Into<String>) -> Self {
        Self::new(part, vec![Piece::ours(text)])
    }

    /// Lays the entry out: as many lines as it needs.
    pub(super) fn wrap(&self, columns: usize) -> Vec<Line> {
        let room = columns.max(MIN_WIDTH) - if self.part.has_gutter() { GUTTER } else { 0 };
        let indent = self.indent.min(room / 2);
        let rows = if self.part.has_gutter() {
            fill(self.pieces.iter().flat_map(clusters), room - indent)
        } else {
            fill(self.pieces.iter().flat_map(words), room - indent)
        };
        let mut row = Row::First;
        let line = |mut pieces: Vec<Piece>| {
            if indent > 0 {
                pieces.insert(0, Piece::ours(" ".repeat(indent)));
            }
            let line = Line { part: self.part, row, pieces };
            row = Row::Continued;
            line
        };
        rows.into_iter().map(line).collect()
    }
}

/// Puts parts that stay whole into rows.
fn fill(parts: impl Iterator<Item = Piece>, room: usize) -> Vec<Vec<Piece>> {
    let mut rows: Vec<Vec<Piece>> = Vec::new();
    let mut row: Vec<Piece> = Vec::new();
    let mut used = 0;
    for part in parts {
        let needs = width(&part.text);
        if used + needs > room && !row.is_empty() {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        used += needs;
        match row.last_mut() {
            Some(last) if last.kind == part.kind && part.kind == PieceKind::Plain => {
                last.text.push_str(&part.text);
            }
            Some(_) | None => row.push(part),
        }
    }
    rows.push(row);
    rows
}

/// A piece as what must stay together: a letter with its marks, an escape as a whole.
fn clusters(piece: &Piece) -> Vec<Piece> {
    match piece.kind {
        PieceKind::Plain => {
            let mut found: Vec<Piece> = Vec::new();
            for c in piece.text.chars() {
                let mut drawn = [0; 4];
                let drawn = c.encode_utf8(&mut drawn);
                match found.last_mut() {
                    Some(last) if width(drawn) == 0 => last.text.push_str(drawn),
                    Some(_) | None => found.push(Piece { text: drawn.to_owned(), kind: piece.kind }),
                }
            }
            found
        }
        PieceKind::Escaped | PieceKind::Tab | PieceKind::Collapsed => vec![piece.clone()],
    }
}

/// Our own words, taken apart at blanks.
fn words(piece: &Piece) -> Vec<Piece> {
    let word = |text: &str| Piece { text: text.to_owned(), kind: piece.kind };
    piece.text.split_inclusive(' ').map(word).collect()
}
