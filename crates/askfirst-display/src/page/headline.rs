//! The headline of a request: what the call does, with counts.
//!
//! A value from the call cannot imitate the rest of the headline.
//! It has letters, digits, ASCII punctuation and escapes only, and one with a space stands in backticks.

use askfirst::{ActionPart, ApprovalPresentation, ApprovalRequest, PresentationKind};

use super::super::escape::{Piece, PieceKind, width};
use super::super::line::{Paragraph, Part};
use super::super::tone::Tone;
use super::PageBuilder;
use crate::command::CommandRows;

/// The widest value in columns. The middle of a wider one is left out, and the page shows it in full.
const MAX_VALUE: usize = 48;
/// The columns of a shortened value before the ellipsis.
const KEPT_HEAD: usize = 14;
/// The widest words of a config in columns.
const MAX_WORDS: usize = 160;

/// A headline, and the values that it shows only in part.
#[derive(Debug, Clone, Default)]
pub(super) struct Headline {
    pub(super) pieces: Vec<Piece>,
    pub(super) shortened: Vec<String>,
}

impl Headline {
    pub(super) fn paragraph(self) -> Paragraph {
        Paragraph::new(Part::Title, self.pieces)
    }

    pub(super) fn words(mut self, text: impl Into<String>) -> Self {
        self.pieces.push(Piece::ours(text));
        self
    }

    /// Adds a count of what the call changes or starts.
    pub(super) fn count(self, count: Option<String>) -> Self {
        match count {
            Some(count) => self.words(format!(" · {count}")),
            None => self,
        }
    }
}

impl PageBuilder<'_> {
    /// The headline of one request, without counts.
    pub(super) fn headline(&mut self, request: &ApprovalRequest, rows: Option<&CommandRows>) -> Headline {
        let parts = request.action.as_ref().map(askfirst::Action::parts).unwrap_or_default();
        if let Some((words, command)) = command_of(request) {
            // A command that is not in the headline is the content below it.
            let headline = Headline { pieces: self.counter.line(words), ..Headline::default() };
            return match (self.is_in_headline(request, rows), rows.and_then(CommandRows::folder)) {
                (true, _) => headline.words(format!(": {command}")),
                (false, Some(folder)) => {
                    let folder = self.clean_ours(folder);
                    self.value(headline.words(" in "), &folder)
                }
                (false, None) => headline,
            };
        }
        let is_short = |part: &ActionPart| match part {
            ActionPart::Words(words) => width(words) <= MAX_WORDS,
            ActionPart::Value(_) => true,
        };
        if parts.is_empty() || !parts.iter().all(is_short) {
            let tool = self.clean(&request.tool_name);
            return self.value(Headline::default().words("call "), &tool);
        }
        // The values in a description of the config are arguments. Those in a tool's own words are what it acts on.
        let is_description =
            request.action.as_ref().is_some_and(|action| action.to_string() == request.description);
        let mut headline = Headline::default();
        for part in parts {
            headline = match part {
                ActionPart::Words(words) => {
                    let words = self.clean_ours(words);
                    headline.pieces.extend(self.counter.line(&words));
                    headline
                }
                ActionPart::Value(value) => {
                    let value = match is_description {
                        true => self.clean_about(&request.args, value),
                        false => self.clean_ours(value),
                    };
                    self.value(headline, &value)
                }
            };
        }
        headline
    }

    /// Whether the headline shows a whole command, so that the page need not show it again.
    pub(super) fn is_in_headline(&mut self, request: &ApprovalRequest, rows: Option<&CommandRows>) -> bool {
        let Some((_, command)) = command_of(request) else { return false };
        let is_plain = command.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !command.contains("  ");
        is_plain
            && width(command) <= MAX_VALUE
            && command.trim() == command
            && rows.is_none_or(|rows| rows.is_single(command))
            && self.clean_command(&request.args, command).left == command
    }

    /// Adds a value from the call.
    fn value(&mut self, mut headline: Headline, text: &str) -> Headline {
        let units: Vec<Piece> = self.counter.line(text).into_iter().flat_map(units).collect();
        let total: usize = units.iter().map(|unit| width(&unit.text)).sum();
        let is_quoted = units.is_empty() || units.iter().any(|unit| unit.text == " " || is_escape(unit));
        let quote = Piece::toned("`", Tone::Dim);
        headline.pieces.extend(is_quoted.then(|| quote.clone()));
        if total <= MAX_VALUE {
            headline.pieces.extend(joined(&units));
        } else {
            let (head, tail) = ends(&units, KEPT_HEAD, MAX_VALUE - KEPT_HEAD - 1);
            headline.pieces.extend(joined(head));
            headline.pieces.push(Piece::toned("…", Tone::Dim));
            headline.pieces.extend(joined(tail));
            headline.shortened.push(text.to_owned());
        }
        headline.pieces.extend(is_quoted.then_some(quote));
        headline
    }
}

/// The words before a command and the command, if the action is a command that the presentation shows.
fn command_of(request: &ApprovalRequest) -> Option<(&str, &str)> {
    let shown = request.presentation.as_ref().filter(|shown| shown.kind == PresentationKind::Command)?;
    match request.action.as_ref()?.parts() {
        [ActionPart::Words(words), ActionPart::Value(command)] if command == shown.full_content() => {
            Some((words.strip_suffix(": ")?, command))
        }
        _ => None,
    }
}

/// The number of lines of a new file.
pub(super) fn lines_of(shown: &ApprovalPresentation) -> Option<String> {
    if shown.kind != PresentationKind::FileContent {
        return None;
    }
    let lines = shown.full_content().lines().count();
    Some(if lines == 0 { "empty".to_owned() } else { format!("{lines} {}", super::plural(lines, "line")) })
}

/// Splits a piece into characters. Those that could imitate the rest of the headline are escaped.
fn units(piece: Piece) -> Vec<Piece> {
    let Piece { text, kind, tone } = piece;
    let PieceKind::Plain = kind else { return vec![Piece { text, kind, tone }] };
    let unit = |c: char| match c {
        '`' => Piece { text: "\\x60".to_owned(), kind: PieceKind::Escaped, tone },
        _ if c.is_alphanumeric() || c == ' ' || c.is_ascii_punctuation() || "‹›".contains(c) => {
            Piece { text: c.to_string(), kind, tone }
        }
        _ => {
            let text = format!("\\u{{{:x}}}", u32::from(c));
            Piece { text, kind: PieceKind::Escaped, tone }
        }
    };
    text.chars().map(unit).collect()
}

/// Joins characters to pieces again. Each escape stays a piece of its own.
fn joined(units: &[Piece]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for unit in units {
        match pieces.last_mut() {
            Some(last) if !is_escape(last) && !is_escape(unit) => last.text.push_str(&unit.text),
            Some(_) | None => pieces.push(unit.clone()),
        }
    }
    pieces
}

fn is_escape(unit: &Piece) -> bool {
    match unit.kind {
        PieceKind::Plain => false,
        PieceKind::Escaped | PieceKind::Tab | PieceKind::Collapsed => true,
    }
}

/// The units at the start and at the end that fit in a number of columns each.
fn ends(units: &[Piece], head: usize, tail: usize) -> (&[Piece], &[Piece]) {
    let count = |units: &mut dyn Iterator<Item = &Piece>, room: usize| {
        let mut used = 0;
        units
            .take_while(|unit| {
                used += width(&unit.text);
                used <= room
            })
            .count()
    };
    let first = count(&mut units.iter(), head);
    let last = units.len() - count(&mut units.iter().rev(), tail);
    (units.get(..first).unwrap_or_default(), units.get(last..).unwrap_or_default())
}

#[cfg(test)]
#[path = "headline/tests.rs"]
mod tests;
