//! Phrases of askfirst that several sections use.

use askfirst::Risk;

use super::super::escape::{Piece, non_ascii_letters};
use super::super::line::{Paragraph, Part};
use super::super::tone::Tone;

/// Returns `thing` for one and `things` for any other number.
#[must_use]
pub fn plural(number: usize, thing: &str) -> String {
    if number == 1 { thing.to_owned() } else { format!("{thing}s") }
}

/// The risk in the headline. A low risk is not worth a word.
pub(super) fn risk(risk: Risk) -> Option<Piece> {
    match risk {
        Risk::Low => None,
        Risk::High => Some(Piece::toned("high risk", Tone::Warning)),
        Risk::Irreversible => Some(Piece::toned("cannot be undone", Tone::Warning)),
    }
}

pub(super) fn inclusion_mark(is_included: bool) -> Piece {
    if is_included { Piece::ours("included  ") } else { Piece::toned("refused   ", Tone::Warning) }
}

pub(super) fn risk_words(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low",
        Risk::High => "high",
        Risk::Irreversible => "irreversible (cannot be undone)",
    }
}

/// The warning for a name with non-ASCII letters, if it has any.
pub(super) fn warning(label: &str, name: &str) -> Option<Paragraph> {
    let odd = non_ascii_letters(name);
    let list = odd.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    let more = odd.len().saturating_sub(4);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let text = format!("warning: the {label} has non-ASCII letters, which can imitate others: {list}{more}");
    (!odd.is_empty()).then(|| Paragraph::ours(Part::Warning, text))
}
