//! A rule's pattern, read once: variables, program, words.

use super::glob::{Glob, Reach};

/// A pattern.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// Variables that it names, with what they may be set to.
    pub(super) env: Vec<(String, Glob)>,
    /// The program and the words after it.
    pub(super) words: Vec<PatternWord>,
    pub(super) exact: Exact,
}

/// Whether more words may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exact {
    Yes,
    No,
}

/// One word of a pattern.
#[derive(Debug, Clone)]
pub(super) struct PatternWord {
    pub(super) glob: Glob,
    /// Up to the first wildcard; all of it where there is none.
    pub(super) head: String,
}

impl PatternWord {
    fn new(text: &str) -> Self {
        let glob = Glob::new(text);
        let head = glob.head();
        Self { glob, head }
    }

    pub(super) fn is_wild(&self) -> bool {
        self.glob.plain().is_none()
    }

    pub(super) fn is_option(&self) -> bool {
        self.head.starts_with('-') && self.head.len() > 1
    }

    /// An address that ends in a slash names everything below it.
    pub(super) fn is_address(&self) -> bool {
        self.head.contains("://")
    }

    /// Whether it names this option, by one of its names: `--force`, `--force=x`, `-f`, or `-f` in `-rf`.
    pub(super) fn names_option(&self, name: &str) -> bool {
        let own = self.head.split_once('=').map_or(self.head.as_str(), |(name, _)| name);
        if own == name {
            return self.is_option();
        }
        let short = name.strip_prefix('-').filter(|letter| letter.chars().count() == 1 && *letter != "-");
        let cluster = own.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.len() > 1);
        match (short, cluster) {
            (Some(letter), Some(cluster)) => {
                self.glob.plain().is_some()
                    && cluster.contains(letter)
                    && cluster.chars().all(|c| c.is_ascii_alphabetic())
            }
            (Some(_), None) | (None, Some(_)) | (None, None) => false,
        }
    }
}

impl Pattern {
    /// From the words of a config's rule, quoted wildcards with a backslash.
    pub(super) fn new(words: &[String], exact: Exact) -> Self {
        let env: Vec<(String, Glob)> = words.iter().map_while(|word| assignment(word)).collect();
        let words = words.iter().skip(env.len()).map(|word| PatternWord::new(word)).collect();
        Self { env, words, exact }
    }

    /// The program's plain name, where the pattern has one.
    pub(super) fn program(&self) -> Option<&str> {
        let word = self.words.first()?.glob.plain()?;
        word.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// Whether a variable may be set to this.
    pub(super) fn grants(&self, name: &str, value: &str) -> bool {
        self.env.iter().any(|(known, glob)| known == name && glob.matches(value, Reach::Within))
    }
}

fn assignment(word: &str) -> Option<(String, Glob)> {
    let (name, value) = word.split_once('=')?;
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let named = first && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    named.then(|| (name.to_owned(), Glob::new(value)))
}
