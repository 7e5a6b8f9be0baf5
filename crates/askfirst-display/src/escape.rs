//! Makes text visible: escapes every character that a terminal would act on or not draw. It never removes anything.

use std::ops::Range;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_width::UnicodeWidthChar;

use super::tone::Tone;

/// The kind of a piece of visible text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PieceKind {
    /// Text as it was written.
    Plain,
    /// An escape for one character or byte, such as `\u{202e}`.
    Escaped,
    /// A tab, drawn as an arrow.
    Tab,
    /// A run of spaces and tabs or of blank lines, drawn as its length.
    Collapsed,
}

/// A piece of one line. It contains no control or format character, not even a newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The text to draw.
    pub text: String,
    /// The kind of piece.
    pub kind: PieceKind,
    /// Its emphasis.
    pub tone: Tone,
}

impl Piece {
    /// A piece of askfirst's own words. Use it only for constant text and numbers.
    #[must_use]
    pub fn ours(text: impl Into<String>) -> Self {
        Self::toned(text, Tone::None)
    }

    /// A piece of askfirst's own words with an emphasis. Use it only for constant text and numbers.
    #[must_use]
    pub fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), kind: PieceKind::Plain, tone }
    }
}

/// Text that is safe to draw.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VisibleText {
    /// The lines, each as its pieces.
    pub lines: Vec<Vec<Piece>>,
    /// The number of characters or bytes that are drawn as escapes.
    pub escaped: usize,
    /// The number of spaces, tabs and blank lines that are drawn as a count.
    pub collapsed: usize,
}

impl VisibleText {
    /// The whole text, with its lines joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        let lines: Vec<String> =
            self.lines.iter().map(|line| line.iter().map(|piece| piece.text.as_str()).collect()).collect();
        lines.join("\n")
    }

    /// The pieces of a text of one line.
    #[must_use]
    pub fn into_pieces(self) -> Vec<Piece> {
        self.lines.into_iter().flatten().collect()
    }

    /// Draws one line and adds its escapes and collapsed blanks to the counts.
    fn draw(&mut self, line: &str) -> Vec<Piece> {
        if is_plain(line) {
            return if line.is_empty() { Vec::new() } else { vec![Piece::ours(line)] };
        }
        self.draw_toned(line, &[])
    }

    fn draw_toned(&mut self, line: &str, tones: &[(Range<usize>, Tone)]) -> Vec<Piece> {
        let mut drawn = LineBuilder::default();
        let mut tones = tones.iter().peekable();
        for (at, c) in line.char_indices() {
            while tones.next_if(|(range, _)| range.end <= at).is_some() {}
            drawn.tone = tones.peek().filter(|(range, _)| range.start <= at).map_or(Tone::None, |(_, t)| *t);
            drawn.push(c);
        }
        self.escaped += drawn.escaped;
        self.collapsed += drawn.collapsed;
        drawn.finish(&mut self.collapsed)
    }
}

/// The longest run of spaces and tabs inside a line that is drawn as it is.
const MAX_BLANKS: usize = 8;
/// The longest run of spaces and tabs at the start of a line that is drawn as it is. Code is indented there.
const MAX_INDENT: usize = 24;
/// The longest run of blank lines that is drawn as it is.
pub(super) const MAX_BLANK_LINES: usize = 3;
/// The number of combining marks on one letter that are drawn. Further marks are escaped.
const MAX_MARKS: usize = 4;
/// The distance between tab stops, in columns.
const TAB_STOP: usize = 4;

/// Makes a text of any number of lines visible.
#[must_use]
pub fn visible(text: &str) -> VisibleText {
    let mut drawn = VisibleText::default();
    let mut lines = Vec::new();
    for line in text.split('\n') {
        lines.push((is_blank(line), drawn.draw(line)));
    }
    drawn.lines = collapse_blank_lines(lines, &mut drawn.collapsed);
    drawn
}

/// Makes a text visible that must stay on one line. Newlines are escaped too.
#[must_use]
pub fn visible_line(text: &str) -> VisibleText {
    let mut drawn = VisibleText::default();
    let line = drawn.draw(text);
    drawn.lines.push(line);
    drawn
}

/// Like [`visible_line`], with emphasis on some parts: byte ranges in order that do not overlap.
#[must_use]
pub fn visible_toned(text: &str, tones: &[(Range<usize>, Tone)]) -> VisibleText {
    if tones.is_empty() {
        return visible_line(text);
    }
    let mut drawn = VisibleText::default();
    let line = drawn.draw_toned(text, tones);
    drawn.lines.push(line);
    drawn
}

/// Escapes a text for one line of output. Runs of spaces stay as they are.
/// Newlines are escaped, so that quoted text cannot start a line of its own.
#[must_use]
pub fn escaped_line(text: &str) -> String {
    let draw = |c: char| if must_escape(c) { escape_of(c) } else { c.to_string() };
    text.chars().map(draw).collect()
}

/// Escapes a text for output and keeps its newlines. Use it for text that may start lines of its own.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.split('\n').map(escaped_line).collect::<Vec<_>>().join("\n")
}

/// Makes bytes visible. Bytes that are not UTF-8 are drawn as `\xNN`.
#[must_use]
pub fn visible_bytes(bytes: &[u8]) -> VisibleText {
    let mut all = VisibleText::default();
    let mut lines = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let mut drawn = LineBuilder::default();
        for chunk in line.utf8_chunks() {
            chunk.valid().chars().for_each(|c| drawn.push(c));
            chunk.invalid().iter().for_each(|byte| drawn.escape(&format!("\\x{byte:02x}")));
        }
        all.escaped += drawn.escaped;
        all.collapsed += drawn.collapsed;
        lines.push((line.iter().all(|b| matches!(b, b' ' | b'\t')), drawn.finish(&mut all.collapsed)));
    }
    all.lines = collapse_blank_lines(lines, &mut all.collapsed);
    all
}

/// Whether a line can be drawn unchanged. Most lines can, so this quick check comes first.
pub(super) fn is_plain(line: &str) -> bool {
    let mut blanks = 0;
    line.bytes().all(|byte| {
        blanks = if byte == b' ' { blanks + 1 } else { 0 };
        blanks <= MAX_BLANKS && matches!(byte, b' '..=b'~')
    })
}

pub(super) fn is_blank(line: &str) -> bool {
    line.chars().all(|c| c == ' ' || c == '\t')
}

fn collapse_blank_lines(lines: Vec<(bool, Vec<Piece>)>, collapsed: &mut usize) -> Vec<Vec<Piece>> {
    let mut kept = Vec::with_capacity(lines.len());
    let mut blanks: Vec<Vec<Piece>> = Vec::new();
    let mut settle = |blanks: &mut Vec<Vec<Piece>>, kept: &mut Vec<Vec<Piece>>| {
        if blanks.len() > MAX_BLANK_LINES {
            *collapsed += blanks.len();
            let text = blank_lines(blanks.len());
            kept.push(vec![Piece { text, kind: PieceKind::Collapsed, tone: Tone::None }]);
            blanks.clear();
        }
        kept.append(blanks);
    };
    for (blank, line) in lines {
        if blank {
            blanks.push(line);
        } else {
            settle(&mut blanks, &mut kept);
            kept.push(line);
        }
    }
    settle(&mut blanks, &mut kept);
    kept
}

/// The text that replaces a run of blank lines.
pub(super) fn blank_lines(count: usize) -> String {
    format!("·×{count} blank lines")
}

/// Draws one line, character by character.
#[derive(Default)]
struct LineBuilder {
    tone: Tone,
    pieces: Vec<Piece>,
    blanks: String,
    column: usize,
    /// The number of combining marks on the last letter, or `None` if there is no letter to carry a mark.
    marks: Option<usize>,
    escaped: usize,
    collapsed: usize,
}

impl LineBuilder {
    fn push(&mut self, c: char) {
        if c == ' ' || c == '\t' {
            self.blanks.push(c);
            self.marks = None;
            return;
        }
        self.collapsed += self.draw_blanks();
        if must_escape(c) {
            return self.escape(&escape_of(c));
        }
        if is_mark(c) {
            match self.marks {
                Some(marks) if marks < MAX_MARKS => self.marks = Some(marks + 1),
                Some(_) | None => return self.escape(&escape_of(c)),
            }
        } else {
            self.marks = Some(0);
        }
        self.add(c.encode_utf8(&mut [0; 4]), PieceKind::Plain);
    }

    fn escape(&mut self, text: &str) {
        self.collapsed += self.draw_blanks();
        self.escaped += 1;
        self.marks = None;
        self.add(text, PieceKind::Escaped);
        // Each escape is a piece of its own, so that wrapping never splits it.
        self.add("", PieceKind::Plain);
    }

    fn draw_blanks(&mut self) -> usize {
        let blanks = std::mem::take(&mut self.blanks);
        let count = blanks.chars().count();
        let at_start = self.pieces.is_empty();
        if count > if at_start { MAX_INDENT } else { MAX_BLANKS } {
            let glyph = match (blanks.contains(' '), blanks.contains('\t')) {
                (true, true) => "·→",
                (false, true) => "→",
                (_, false) => "·",
            };
            self.add(&format!("{glyph}×{count}"), PieceKind::Collapsed);
            return count;
        }
        for blank in blanks.chars() {
            if blank == '\t' {
                let pad = TAB_STOP - self.column % TAB_STOP;
                let drawn: String = std::iter::once('→').chain(std::iter::repeat_n(' ', pad - 1)).collect();
                self.add(&drawn, PieceKind::Tab);
            } else {
                self.add(" ", PieceKind::Plain);
            }
        }
        0
    }

    fn add(&mut self, text: &str, kind: PieceKind) {
        self.column += width(text);
        match self.pieces.last_mut() {
            Some(last) if last.kind == kind && last.tone == self.tone && kind == PieceKind::Plain => {
                last.text.push_str(text);
            }
            Some(_) | None => self.pieces.push(Piece { text: text.to_owned(), kind, tone: self.tone }),
        }
    }

    fn finish(mut self, collapsed: &mut usize) -> Vec<Piece> {
        *collapsed += self.draw_blanks();
        self.pieces.retain(|piece| !piece.text.is_empty());
        self.pieces
    }
}

/// The number of columns that a visible text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(|c| c.width().unwrap_or(0)).sum() }
}

fn escape_of(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\0'..='\x7f' => format!("\\x{:02x}", u32::from(c)),
        _ => format!("\\u{{{:x}}}", u32::from(c)),
    }
}

/// Whether a character is drawn on top of the one before.
fn is_mark(c: char) -> bool {
    !c.is_ascii()
        && (c.width().unwrap_or(0) == 0
            || matches!(
                c.general_category(),
                GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark
            ))
}

fn must_escape(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let category = matches!(
        c.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::SpaceSeparator
            | GeneralCategory::Unassigned
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
    );
    category || draws_nothing(c)
}

/// Whether a terminal draws nothing or a blank for this letter, mark or symbol.
fn draws_nothing(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{1d159}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The non-ASCII letters of a name, each once, as `U+0430`. Such letters can imitate others.
#[must_use]
pub fn non_ascii_letters(name: &str) -> Vec<String> {
    let mut letters = Vec::new();
    for c in name.chars().filter(|c| !c.is_ascii()) {
        if !letters.contains(&c) {
            letters.push(c);
        }
    }
    letters.iter().map(|c| format!("U+{:04X}", u32::from(*c))).collect()
}

#[cfg(test)]
#[path = "escape/tests.rs"]
mod tests;
