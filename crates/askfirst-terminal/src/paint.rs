//! Draws lines as text with escape codes, for the plain prompt.

use askfirst_display::{Change, Line, Part, PieceKind};

use crate::Style;

/// Whether each line has a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// No numbers.
    Without,
    /// A number before each line.
    With,
}

/// The number of columns that a line number takes.
pub(crate) const NUMBER: usize = 7;

/// Draws lines, each with a newline at its end.
pub(crate) fn draw(lines: &[Line], style: Style, numbers: Numbers) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        if numbers == Numbers::With {
            text.push_str(&paint(&format!("{:>6} ", at + 1), "2", style));
        }
        text.push_str(&paint(line.gutter(), "2", style));
        for piece in &line.pieces {
            let code = match piece.kind {
                PieceKind::Plain => code_of(line.part),
                PieceKind::Escaped => "35",
                PieceKind::Tab | PieceKind::Collapsed => "2",
            };
            text.push_str(&paint(&piece.text, code, style));
        }
        text.push('\n');
    }
    text
}

/// Adds a color to a text if the style has colors.
pub(crate) fn paint(text: &str, code: &str, style: Style) -> String {
    match style {
        Style::Colored if !code.is_empty() && !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
        Style::Colored | Style::Uncolored | Style::Plain => text.to_owned(),
    }
}

fn code_of(part: Part) -> &'static str {
    match part {
        Part::Title | Part::Heading => "1",
        Part::Warning => "33",
        Part::Count => "2",
        Part::Option => "36",
        Part::Diff(Change::Added) => "32",
        Part::Diff(Change::Removed) => "31",
        Part::Diff(Change::Hunk | Change::Header) => "36",
        Part::Diff(Change::Same | Change::Sides)
        | Part::Field
        | Part::Claim
        | Part::Fact
        | Part::Args
        | Part::Content(_)
        | Part::Scope => "",
    }
}
