//! Draws the choices of a question: the keys, and the word to type.

use super::super::escape::Piece;
use super::super::line::{Paragraph, Part};
use super::super::offer::Offers;

/// The gap between two choices. Within a choice, the first word is the key.
pub const OPTION_GAP: &str = "   ";

pub(super) fn paragraphs(offers: &Offers) -> Vec<Paragraph> {
    let option = |text: String| Paragraph::ours(Part::Option, text);
    let mut paragraphs = Vec::new();
    let words: Vec<&str> = offers.words.iter().flatten().map(String::as_str).collect();
    if let [first, rest @ ..] = words.as_slice() {
        let then: String = rest.iter().map(|word| format!(" then `{word}`")).collect();
        paragraphs.push(option(format!("to approve, type `{first}`{then} without Enter")));
    }
    let common = offers.list.iter().filter_map(|offer| Some((offer.choice.key(), offer.short?)));
    let mut keys: Vec<String> = common.map(|(key, words)| format!("{key} {words}{OPTION_GAP}")).collect();
    if offers.words.len() > 1 {
        let after_no = keys.iter().position(|key| key.starts_with('n')).map_or(0, |at| at + 1);
        keys.insert(after_no, format!("1-{} leave out{OPTION_GAP}", offers.words.len()));
    }
    // Each key stays on one line with its words.
    paragraphs.push(Paragraph::new(Part::Option, keys.into_iter().map(Piece::ours).collect()));
    paragraphs
}
