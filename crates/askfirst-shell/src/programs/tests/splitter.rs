//! Splits a line into words for the tests: quotes, `$x` (splits), `"$x"` (does not), `*`, `~`. It is no shell.

use crate::line::tree::{Piece, Unknown, Word};
use crate::programs::words::push_text;

pub(super) fn split(line: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut word: Option<Word> = None;
    let mut chars = line.chars().peekable();
    let mut quote: Option<char> = None;
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (Some('\''), _) => push_text(&mut word.get_or_insert_default().edit(), &char.to_string()),
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, '\\') => {
                let next = chars.next().unwrap_or('\\');
                let text = if quote.is_some() && !"\"\\$`".contains(next) {
                    format!("\\{next}")
                } else {
                    next.to_string()
                };
                push_text(&mut word.get_or_insert_default().edit(), &text);
            }
            (_, '$') if chars.peek().is_some_and(|next| next.is_ascii_alphabetic() || *next == '(') => {
                let mut text = String::from("$");
                if chars.peek() == Some(&'(') {
                    while let Some(next) = chars.next_if(|next| *next != ')') {
                        text.push(next);
                    }
                    text.extend(chars.next());
                } else {
                    while let Some(next) = chars.next_if(|next| next.is_ascii_alphanumeric() || *next == '_')
                    {
                        text.push(next);
                    }
                }
                let unknown =
                    Unknown { text, splits: quote.is_none(), output_of: None, ..Unknown::default() };
                word.get_or_insert_default().edit().push(Piece::Unknown(unknown));
            }
            (None, '*' | '?') => {
                word.get_or_insert_default().edit().push(Piece::Glob(char.to_string()));
            }
            (None, '~') if word.is_none() => word.get_or_insert_default().edit().push(Piece::Home),
            _ => push_text(&mut word.get_or_insert_default().edit(), &char.to_string()),
        }
    }
    words.extend(word);
    words
}
