//! Words of ours that several sections say.

use askfirst::Risk;
use askfirst::machine::Question;

use super::super::escape::{Piece, odd_letters};
use super::super::line::{Entry, Part};
use super::super::tone::Tone;

/// `thing` or `things`.
#[must_use]
pub fn plural(number: usize, thing: &str) -> String {
    if number == 1 { thing.to_owned() } else { format!("{thing}s") }
}

pub(super) fn title(question: &Question) -> String {
    let count = match question.members.len() {
        1 => "approval needed".to_owned(),
        many => format!("approval needed for {many} requests together"),
    };
    if question.of > 1 {
        format!("{count}: question {} of {}", question.position, question.of)
    } else {
        count
    }
}

pub(super) fn kept_mark(kept: bool) -> Piece {
    if kept { Piece::ours("as answered ") } else { Piece::toned("refused     ", Tone::Warning) }
}

pub(super) fn risk_words(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low",
        Risk::High => "high",
        Risk::Irreversible => "irreversible (it cannot be undone)",
    }
}

/// A name with letters that may look like others.
pub(super) fn warning(label: &str, name: &str) -> Option<Entry> {
    let odd = odd_letters(name);
    let list = odd.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    let more = odd.len().saturating_sub(4);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let text = format!("warning: the {label} has letters that are not ASCII: {list}{more}");
    (!odd.is_empty()).then(|| Entry::ours(Part::Warning, text))
}
