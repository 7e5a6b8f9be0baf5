//! Draws the choices of a question: the keys, and the word to type.

use super::super::escape::Piece;
use super::super::line::{Paragraph, Part};
use super::super::offer::{Choice, Offer, Offers};
use super::super::tone::Tone;

pub(super) fn paragraphs(offers: &Offers) -> Vec<Paragraph> {
    let option = |text: String| Paragraph::ours(Part::Option, text);
    let mut paragraphs = Vec::new();
    let words: Vec<&str> = offers.words.iter().flatten().map(String::as_str).collect();
    if let [first, rest @ ..] = words.as_slice() {
        let then: String = rest.iter().map(|word| format!(" then `{word}`")).collect();
        paragraphs.push(option(format!("to approve, type `{first}`{then} without Enter")));
    }
    let words = |offer: &Offer| match offer.choice {
        Choice::No => format!("[n] [Esc] {}", offer.words),
        Choice::Once
        | Choice::Session
        | Choice::NoSession
        | Choice::View
        | Choice::Reason
        | Choice::Edit
        | Choice::Facts
        | Choice::Stop => format!("[{}] {}", offer.choice.key(), offer.words),
    };
    let mut keys: Vec<String> = offers.list.iter().map(words).collect();
    if offers.words.len() > 1 {
        keys.push(format!("[1-{}] leave one out or include it again", offers.words.len()));
    }
    let pieces = keys.into_iter().map(|key| Piece::toned(format!("{key}  "), Tone::None)).collect();
    paragraphs.push(Paragraph::new(Part::Option, pieces));
    paragraphs
}
