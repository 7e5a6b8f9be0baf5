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
    /// What was on the left, what will be on the right.
    Sides,
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

/// Where there is no room to stand as far in as wanted, later rows stand so far in.
const NARROW_HANG: usize = 4;

/// The narrowest screen that is laid out for; on a narrower one the terminal itself wraps.
const MIN_WIDTH: usize = 8;

/// A line before it is laid out: indented by us, its pieces visible already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) part: Part,
    pub(super) indent: usize,
    /// Whether it goes on with the entry before.
    pub(super) row: Row,
    /// So many columns further in than the first row stand the others.
    pub(super) hang: usize,
    pub(super) pieces: Vec<Piece>,
}

impl Entry {
    pub(super) fn new(part: Part, pieces: Vec<Piece>) -> Self {
        Self { part, indent: 0, row: Row::First, hang: 0, pieces }
    }

    pub(super) fn indented(part: Part, indent: usize, pieces: Vec<Piece>) -> Self {
        Self { indent, ..Self::new(part, pieces) }
    }

    pub(super) fn ours(part: Part, text: impl Into<String>) -> Self {
        Self::new(part, vec![Piece::ours(text)])
    }

    /// The same, with its later rows further in.
    pub(super) fn hanging(self, hang: usize) -> Self {
        Self { hang, ..self }
    }

    /// Lays the entry out: as many lines as it needs.
    pub(super) fn wrap(&self, columns: usize) -> Vec<Line> {
        let (room, indent) = self.room(columns);
        let rows = if self.fits(room) { vec![self.pieces.clone()] } else { self.rows(room) };
        let line = |(at, mut pieces): (usize, Vec<Piece>)| {
            let (row, indent) =
                if at == 0 { (self.row, indent) } else { (Row::Continued, indent + self.hang(room)) };
            if indent > 0 {
                pieces.insert(0, Piece::ours(" ".repeat(indent)));
            }
            Line { part: self.part, row, pieces }
        };
        rows.into_iter().enumerate().map(line).collect()
    }

    /// The columns that are there for the text, and the indent before it.
    fn room(&self, columns: usize) -> (usize, usize) {
        let room = columns.max(MIN_WIDTH) - if self.part.has_gutter() { GUTTER } else { 0 };
        let indent = self.indent.min(room / 2);
        (room - indent, indent)
    }

    fn hang(&self, room: usize) -> usize {
        // On a narrow screen most of a row would be blank.
        if self.hang > room / 2 { NARROW_HANG.min(room / 2) } else { self.hang }
    }

    fn fits(&self, room: usize) -> bool {
        self.pieces.iter().map(|piece| width(&piece.text)).sum::<usize>() <= room
    }

    fn rows(&self, room: usize) -> Vec<Vec<Piece>> {
        let later = room - self.hang(room);
        let mut rows = Rows { room, later, done: Vec::new(), row: Vec::new(), used: 0 };
        for piece in &self.pieces {
            match (piece.kind, self.part.flow()) {
                (PieceKind::Plain, Flow::Letters) => rows.letters(piece),
                (PieceKind::Plain, Flow::Words) => rows.words(piece),
                (PieceKind::Plain, Flow::Whole)
                | (PieceKind::Escaped | PieceKind::Tab | PieceKind::Collapsed, _) => rows.whole(piece),
            }
        }
        rows.done.push(rows.row);
        rows.done
    }
}

/// What stays together when a line does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// Pieces of ours, such as a key with what it does.
    Whole,
    /// Words.
    Words,
    /// Nothing: what is written is drawn as far as it goes.
    Letters,
}

impl Part {
    fn flow(self) -> Flow {
        match self {
            Self::Title | Self::Heading | Self::Warning | Self::Count | Self::Option => Flow::Whole,
            Self::Field | Self::Claim | Self::Fact | Self::Scope => Flow::Words,
            Self::Args | Self::Content(_) | Self::Diff(_) => Flow::Letters,
        }
    }
}

/// Fills rows with parts that stay together.
struct Rows {
    room: usize,
    /// The room of all rows but the first.
    later: usize,
    done: Vec<Vec<Piece>>,
    row: Vec<Piece>,
    used: usize,
}

impl Rows {
    /// An escape, or our own words: whole if there is room for it, else taken apart at blanks, else anywhere.
    fn whole(&mut self, piece: &Piece) {
        // Blanks that keep two of ours apart are not needed at the end of a row.
        let trimmed = if piece.kind == PieceKind::Plain { piece.text.trim_end() } else { &piece.text };
        for text in [&piece.text, trimmed] {
            if width(text) <= self.later {
                return self.add(text, piece);
            }
        }
        self.next_row();
        self.words(piece);
    }

    /// Word by word; what has no room in a row of its own is taken apart.
    fn words(&mut self, piece: &Piece) {
        for word in piece.text.split_inclusive(' ') {
            if width(word) <= self.later {
                self.add(word, piece);
            } else {
                self.letters(&Piece { text: word.to_owned(), kind: piece.kind, tone: piece.tone });
            }
        }
    }

    /// Letter by letter; a mark stays with its letter, as it needs no room.
    fn letters(&mut self, piece: &Piece) {
        piece.text.chars().for_each(|c| self.add(c.encode_utf8(&mut [0; 4]), piece));
    }

    fn next_row(&mut self) {
        if !self.row.is_empty() {
            self.done.push(std::mem::take(&mut self.row));
            (self.used, self.room) = (0, self.later);
        }
    }

    fn add(&mut self, text: &str, like: &Piece) {
        let Piece { kind, tone, .. } = *like;
        let needs = width(text);
        if self.used + needs > self.room {
            self.next_row();
        }
        self.used += needs;
        match self.row.last_mut() {
            Some(last) if last.kind == kind && last.tone == tone && kind == PieceKind::Plain => {
                last.text.push_str(text);
            }
            Some(_) | None => self.row.push(Piece { text: text.to_owned(), kind, tone }),
        }
    }
}
