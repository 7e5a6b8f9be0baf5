//! The colors of the prompt. Every color repeats information that the text carries too.
//!
//! Only the sixteen colors of the terminal's palette are used, so that light and dark themes stay readable.

use askfirst_display::{Change, Line, Part, Piece, PieceKind, Token, Tone};
use ratatui::style::{Color, Modifier, Style};

/// The style of a piece of a line.
pub(crate) fn of(line: &Line, piece: &Piece) -> Style {
    match piece.kind {
        PieceKind::Escaped => Style::new().fg(Color::Magenta),
        PieceKind::Tab | PieceKind::Collapsed => dim(),
        PieceKind::Plain => match piece.tone {
            Tone::None => of_part(line.part),
            tone => of_tone(tone),
        },
    }
}

/// The gutter and other text in the background. Gray is not used, because it is the background of some palettes.
pub(crate) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// The frame of a prompt.
pub(crate) fn frame() -> Style {
    Style::new().fg(Color::Cyan)
}

/// The title of a prompt.
pub(crate) fn title() -> Style {
    Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD)
}

/// The ready mark.
pub(crate) fn ready() -> Style {
    Style::new().fg(Color::Green).add_modifier(Modifier::BOLD)
}

/// A notice or warning.
pub(crate) fn notice() -> Style {
    Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD)
}

/// A key in brackets.
pub(crate) fn key() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// A search result.
pub(crate) fn found() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

fn of_tone(tone: Tone) -> Style {
    match tone {
        Tone::None => Style::new(),
        Tone::Dim => dim(),
        Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
        Tone::Warning => notice(),
        Tone::Allowed | Tone::Added => Style::new().fg(Color::Green),
        Tone::Removed => Style::new().fg(Color::Red),
        Tone::AddedWord => Style::new().fg(Color::Green).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        Tone::RemovedWord => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        Tone::Code(token) => match token {
            Token::Keyword => Style::new().fg(Color::Magenta),
            Token::Quoted => Style::new().fg(Color::Green),
            Token::Constant => Style::new().fg(Color::Cyan),
            Token::Comment => dim(),
            Token::Function => Style::new().fg(Color::Blue),
            Token::Name => Style::new().fg(Color::Cyan),
        },
    }
}

fn of_part(part: Part) -> Style {
    match part {
        Part::Title => title(),
        Part::Heading => Style::new().add_modifier(Modifier::BOLD),
        Part::Warning => notice(),
        Part::Count => dim(),
        Part::Diff(Change::Added) => Style::new().fg(Color::Green),
        Part::Diff(Change::Removed) => Style::new().fg(Color::Red),
        Part::Diff(Change::Hunk | Change::Header) => Style::new().fg(Color::Cyan),
        Part::Diff(Change::Same | Change::Sides)
        | Part::Option
        | Part::Field
        | Part::Claim
        | Part::Fact
        | Part::Args
        | Part::Content(_)
        | Part::Scope => Style::new(),
    }
}
