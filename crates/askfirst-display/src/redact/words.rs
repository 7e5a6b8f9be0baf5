//! Redacts lists that may be the words of a command. A word can be a password because of the words before it.

use serde_json::Value;

use super::names::HiddenValues;
use super::shapes;
use super::span::{self, SecretKind};
use super::{Mark, Redactor};

/// Replaces characters inside a word that would end the word or a quote in a command line.
const INSIDE: char = '\u{1}';

/// A password at the end of a word.
pub(super) struct Tail {
    from: usize,
    pub(super) kind: SecretKind,
}

impl Tail {
    /// The password.
    pub(super) fn of<'a>(&self, word: &'a str) -> &'a str {
        word.get(self.from..).unwrap_or_default()
    }

    fn replaced(&self, word: &str, mark: Mark) -> String {
        let before = word.get(..self.from).unwrap_or_default();
        format!("{before}{}", self.kind.mark(self.of(word), mark))
    }
}

impl Redactor {
    pub(super) fn list(&self, items: &[Value], mark: Mark, depth: usize, hidden: &mut usize) -> Vec<Value> {
        let mut flag = None;
        let mut left = Vec::with_capacity(items.len());
        for (item, tail) in items.iter().zip(self.tails(items)) {
            left.push(match (flag.take(), tail, item.as_str()) {
                (Some(kind), _, Some(word)) if !word.starts_with('-') && !self.spares(word) => {
                    self.named(item, kind, HiddenValues::All, mark, depth + 1, hidden)
                }
                (_, Some(tail), Some(word)) if !self.spares(tail.of(word)) => {
                    *hidden += 1;
                    Value::String(tail.replaced(word, mark))
                }
                _ => self.any(item, mark, depth + 1, hidden),
            });
            flag = item.as_str().and_then(|word| self.0.names.flag(word));
        }
        left
    }

    /// For each item, the password at its end, if there is one.
    pub(super) fn tails(&self, items: &[Value]) -> Vec<Option<Tail>> {
        let words: Vec<&str> = items.iter().map(|item| item.as_str().unwrap_or_default()).collect();
        let mut tails: Vec<Option<Tail>> = words.iter().map(|word| self.of_option(word)).collect();
        let mut starts = Vec::with_capacity(words.len());
        let mut line = String::new();
        for word in &words {
            starts.push(line.len());
            line.extend(word.chars().map(|c| if ends_a_word(c) { INSIDE } else { c }));
            line.push(' ');
        }
        for span in shapes::in_words(&line) {
            let at = starts.partition_point(|start| *start <= span.start).saturating_sub(1);
            if let (Some(start), Some(tail)) = (starts.get(at), tails.get_mut(at)) {
                *tail = Some(Tail { from: span.start - start, kind: span.kind });
            }
        }
        tails
    }

    /// `--password=VALUE`, where the value contains a character that would end a word of a command line.
    fn of_option(&self, word: &str) -> Option<Tail> {
        let (name, value) = word.split_once('=')?;
        let kind = self.0.names.flag(name)?;
        let hides = value.contains(ends_a_word) && !shapes::is_reference(value.as_bytes());
        (hides && !span::is_mark(value)).then_some(Tail { from: name.len() + 1, kind })
    }
}

/// Whether a character ends a word in a command line. In a list, it does not.
fn ends_a_word(c: char) -> bool {
    c.is_ascii_whitespace() || matches!(c, '"' | '\'' | '\\' | ';' | '|' | '&' | '<' | '>' | '(' | ')')
}
