//! Splits a shell pattern into words.
//!
//! This module knows quoting and wildcards only. The shell analysis decides which commands a pattern matches.

/// The reason why a text is not a valid pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The pattern has no words.
    #[error("the pattern is empty")]
    Empty,
    /// A quote is not closed.
    #[error("unclosed quote `{0}`")]
    OpenQuote(char),
    /// The pattern ends with a backslash that escapes nothing.
    #[error("the pattern ends with a backslash")]
    TrailingBackslash,
    /// The pattern contains an unquoted character that is shell syntax.
    #[error("`{0}` is shell syntax")]
    ShellSyntax(char),
}

/// Splits a pattern into words, with quoting as in the shell.
///
/// Each word is a glob. The result has a backslash before each quoted wildcard.
/// It also has one before each brace, because braces are not wildcards here.
///
/// # Errors
/// Fails if the pattern is empty, has an unclosed quote, or contains shell syntax. A pattern is a single command.
pub fn pattern(text: &str) -> Result<Vec<String>, PatternError> {
    let words = split(text)?;
    let glob = |word: Word| {
        let mut out = String::new();
        // `[` and `[[` are commands here, not wildcards.
        let is_test_command = word.len() <= 2 && word.iter().all(|(c, _)| *c == '[');
        for (c, quoting) in word {
            let is_wildcard = matches!(c, '*' | '?' | '[' | ']');
            let is_literal = quoting == Quoting::Quoted || is_test_command;
            if (is_wildcard && is_literal) || matches!(c, '{' | '}' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
        out
    };
    Ok(words.into_iter().map(glob).collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Quoted,
    Bare,
}

type Word = Vec<(char, Quoting)>;

fn split(text: &str) -> Result<Vec<Word>, PatternError> {
    let mut words: Vec<Word> = Vec::new();
    let mut word: Option<Word> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => single(&mut chars, word.get_or_insert_default())?,
            '"' => double(&mut chars, word.get_or_insert_default())?,
            '\\' => {
                let next = chars.next().ok_or(PatternError::TrailingBackslash)?;
                word.get_or_insert_default().push((next, Quoting::Quoted));
            }
            ';' | '|' | '&' | '$' | '`' | '<' | '>' | '(' | ')' | '\n' | '\r' => {
                return Err(PatternError::ShellSyntax(c));
            }
            '#' if word.is_none() => return Err(PatternError::ShellSyntax(c)),
            _ => word.get_or_insert_default().push((c, Quoting::Bare)),
        }
    }
    words.extend(word);
    if words.first().is_none_or(Vec::is_empty) { Err(PatternError::Empty) } else { Ok(words) }
}

fn single(chars: &mut std::str::Chars<'_>, word: &mut Word) -> Result<(), PatternError> {
    for c in chars {
        if c == '\'' {
            return Ok(());
        }
        word.push((c, Quoting::Quoted));
    }
    Err(PatternError::OpenQuote('\''))
}

fn double(chars: &mut std::str::Chars<'_>, word: &mut Word) -> Result<(), PatternError> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match chars.next().ok_or(PatternError::OpenQuote('"'))? {
                '\n' => {}
                next @ ('"' | '\\' | '$' | '`') => word.push((next, Quoting::Quoted)),
                next => word.extend([('\\', Quoting::Quoted), (next, Quoting::Quoted)]),
            },
            '$' | '`' => return Err(PatternError::ShellSyntax(c)),
            _ => word.push((c, Quoting::Quoted)),
        }
    }
    Err(PatternError::OpenQuote('"'))
}

#[cfg(test)]
#[path = "words/tests.rs"]
mod tests;
