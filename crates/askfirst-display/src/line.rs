//! One line on a screen: its role on the page and its pieces. Long text is wrapped and never cut off.

use askfirst::PresentationKind;

use super::escape::{Piece, PieceKind, width};

/// The role of a line in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// A line that is added.
    Added,
    /// A line that is removed.
    Removed,
    /// The position of the lines that follow: `@@ -1,3 +1,4 @@`.
    Hunk,
    /// The files that the diff is about, and other headers.
    Header,
    /// A line that stays the same.
    Same,
    /// The old line on the left and the new line on the right.
    Sides,
}

/// The role of a line on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The headline of a page: askfirst's words, with values from the call.
    Title,
    /// The heading of the lines below, in askfirst's words.
    Heading,
    /// The tool, a size or another detail: the label is askfirst's, the value is from the request.
    Field,
    /// The agent's own description of the call, which is not checked.
    Claim,
    /// A fact that askfirst knows about the call.
    Fact,
    /// A warning, in askfirst's words.
    Warning,
    /// An argument of the call, as it would run.
    Args,
    /// Content that the tool presents.
    Content(PresentationKind),
    /// A line of a diff that the tool presents.
    Diff(Change),
    /// The calls that an answer for the session would cover.
    Scope,
    /// The size of something or the number of hidden parts, in askfirst's words.
    Count,
    /// A key and its effect, in askfirst's words.
    Option,
}

impl Part {
    /// Whether the line contains text that askfirst did not write. Every such line has a gutter.
    #[must_use]
    pub fn has_gutter(self) -> bool {
        match self {
            Self::Title
            | Self::Field
            | Self::Claim
            | Self::Fact
            | Self::Args
            | Self::Content(_)
            | Self::Diff(_)
            | Self::Scope => true,
            Self::Heading | Self::Warning | Self::Count | Self::Option => false,
        }
    }
}

/// Whether a line starts a paragraph or continues the line before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Row {
    /// The first row of a paragraph.
    First,
    /// A further row of a paragraph that did not fit in one row.
    Continued,
}

/// One line, no wider than the requested number of columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its role on the page.
    pub part: Part,
    /// Whether it continues the line before.
    pub row: Row,
    /// The text to draw after the gutter.
    pub pieces: Vec<Piece>,
}

impl Line {
    /// The text without its gutter and its tones.
    #[must_use]
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// The glyph before the text, which every style draws. Content cannot draw anything in its place.
    #[must_use]
    pub fn gutter(&self) -> &'static str {
        match (self.part.has_gutter(), self.row) {
            (false, _) => "",
            (true, Row::First) if self.part == Part::Title => "━ ",
            (true, Row::First) => "│ ",
            (true, Row::Continued) => "┆ ",
        }
    }
}

/// The number of columns that a gutter takes.
pub const GUTTER: usize = 2;

/// The indent of later rows where the screen is too narrow for the wanted indent.
const NARROW_HANG: usize = 4;

/// The narrowest width that lines are laid out for. On a narrower screen, the terminal wraps them itself.
const MIN_WIDTH: usize = 8;

/// Text before layout: its pieces are escaped already. It takes one line, or several where it does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Paragraph {
    pub(super) part: Part,
    pub(super) indent: usize,
    /// Whether it continues the paragraph before.
    pub(super) row: Row,
    /// The extra indent of every row after the first.
    pub(super) hang: usize,
    pub(super) pieces: Vec<Piece>,
}

impl Paragraph {
    pub(super) fn new(part: Part, pieces: Vec<Piece>) -> Self {
        Self { part, indent: 0, row: Row::First, hang: 0, pieces }
    }

    pub(super) fn indented(part: Part, indent: usize, pieces: Vec<Piece>) -> Self {
        Self { indent, ..Self::new(part, pieces) }
    }

    pub(super) fn ours(part: Part, text: impl Into<String>) -> Self {
        Self::new(part, vec![Piece::ours(text)])
    }

    /// Sets the extra indent of every row after the first.
    pub(super) fn hanging(self, hang: usize) -> Self {
        Self { hang, ..self }
    }

    /// Lays out the paragraph in as many lines as it needs.
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

    /// The columns that are free for the text, and the indent before it.
    fn room(&self, columns: usize) -> (usize, usize) {
        let room = columns.max(MIN_WIDTH) - if self.part.has_gutter() { GUTTER } else { 0 };
        let indent = self.indent.min(room / 2);
        (room - indent, indent)
    }

    fn hang(&self, room: usize) -> usize {
        // On a narrow screen, a wide indent would leave most of each row blank.
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

/// The unit that wrapping does not split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// A whole piece, such as a key with its effect.
    Whole,
    /// A word.
    Words,
    /// A single character: a row is filled up to its last column.
    Letters,
}

impl Part {
    fn flow(self) -> Flow {
        match self {
            Self::Heading | Self::Warning | Self::Count | Self::Option => Flow::Whole,
            Self::Title | Self::Field | Self::Claim | Self::Fact | Self::Scope => Flow::Words,
            Self::Args | Self::Content(_) | Self::Diff(_) => Flow::Letters,
        }
    }
}

/// Fills rows with units that must not be split.
struct Rows {
    room: usize,
    /// The room of every row except the first.
    later: usize,
    done: Vec<Vec<Piece>>,
    row: Vec<Piece>,
    used: usize,
}

impl Rows {
    /// Adds an escape or a piece of askfirst's own words.
    /// A piece that does not fit in a row is split at spaces, or anywhere if one word is too long.
    fn whole(&mut self, piece: &Piece) {
        // Spaces between two pieces are not needed at the end of a row.
        let trimmed = if piece.kind == PieceKind::Plain { piece.text.trim_end() } else { &piece.text };
        for text in [&piece.text, trimmed] {
            if width(text) <= self.later {
                return self.add(text, piece);
            }
        }
        self.next_row();
        self.words(piece);
    }

    /// Adds a piece word by word. A word that is longer than a row is split.
    fn words(&mut self, piece: &Piece) {
        for word in piece.text.split_inclusive(' ') {
            if width(word) <= self.later {
                self.add(word, piece);
            } else {
                self.letters(&Piece { text: word.to_owned(), kind: piece.kind, tone: piece.tone });
            }
        }
    }

    /// Adds a piece character by character. A combining mark takes no room, so it stays with its letter.
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
