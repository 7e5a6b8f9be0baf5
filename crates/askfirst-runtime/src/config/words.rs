//! Shell patterns as words, and whether a command's words match them.
//!
//! It knows quoting and wildcards, nothing of options, paths or nested commands: the shell tool does.

use askfirst::when::Glob;

/// Why a text is not a list of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadWords {
    /// There is no word.
    #[error("it is empty")]
    Empty,
    /// A quote is not closed.
    #[error("the quote `{0}` is not closed")]
    OpenQuote(char),
    /// A backslash has nothing to stand before.
    #[error("it ends in a backslash")]
    LooseBackslash,
    /// The shell would act on this character.
    #[error("the shell would act on `{0}`")]
    Active(char),
}

/// Reads a pattern: words quoted as in the shell. Each word is a glob; a wildcard that is quoted comes out with a
/// backslash before it, and so do braces, which are not wildcards here.
///
/// # Errors
/// Fails on an empty pattern, an open quote, and anything that a shell would act on: a pattern is one command.
pub fn pattern(text: &str) -> Result<Vec<String>, BadWords> {
    let words = split(text, Active::Refused)?;
    let glob = |word: Word| {
        let mut out = String::new();
        for (c, quoted) in word {
            let wildcard = matches!(c, '*' | '?' | '[' | ']');
            if (wildcard && quoted == Quoted::Yes) || matches!(c, '{' | '}' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
        out
    };
    Ok(words.into_iter().map(glob).collect())
}

/// Splits a command as the shell would, leaving alone what the shell would act on.
///
/// # Errors
/// Fails on an empty command and an open quote.
pub fn command(text: &str) -> Result<Vec<String>, BadWords> {
    let words = split(text, Active::Kept)?;
    Ok(words.into_iter().map(|word| word.into_iter().map(|(c, _)| c).collect()).collect())
}

/// Whether a command begins with words that match the pattern's; with `exact`, whether it has no others.
#[must_use]
pub fn matches(pattern_words: &[String], exact: bool, command_words: &[String]) -> bool {
    let enough = match exact {
        true => command_words.len() == pattern_words.len(),
        false => command_words.len() >= pattern_words.len(),
    };
    enough
        && !pattern_words.is_empty()
        && pattern_words.iter().zip(command_words).all(|(p, c)| word_matches(p, c))
}

/// A wildcard stops at `/`, and never stands for the dash of an option.
fn word_matches(pattern: &str, word: &str) -> bool {
    let wild_start = Glob::literal_prefix(pattern).is_empty() && pattern.starts_with(['*', '?', '[']);
    if wild_start && word.starts_with('-') {
        return false;
    }
    Glob::new(pattern).is_ok_and(|glob| glob.is_match(word))
}

/// What happens to characters that a shell would act on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Active {
    Refused,
    Kept,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Yes,
    No,
}

type Word = Vec<(char, Quoted)>;

fn split(text: &str, active: Active) -> Result<Vec<Word>, BadWords> {
    let mut words: Vec<Word> = Vec::new();
    let mut word: Option<Word> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => single(&mut chars, word.get_or_insert_default())?,
            '"' => double(&mut chars, word.get_or_insert_default(), active)?,
            '\\' => {
                let next = chars.next().ok_or(BadWords::LooseBackslash)?;
                word.get_or_insert_default().push((next, Quoted::Yes));
            }
            ';' | '|' | '&' | '$' | '`' | '<' | '>' | '(' | ')' | '\n' | '\r'
                if active == Active::Refused =>
            {
                return Err(BadWords::Active(c));
            }
            '#' if active == Active::Refused && word.is_none() => return Err(BadWords::Active(c)),
            '\n' | '\r' => words.extend(word.take()),
            _ => word.get_or_insert_default().push((c, Quoted::No)),
        }
    }
    words.extend(word);
    if words.first().is_none_or(Vec::is_empty) { Err(BadWords::Empty) } else { Ok(words) }
}

fn single(chars: &mut std::str::Chars<'_>, word: &mut Word) -> Result<(), BadWords> {
    for c in chars {
        if c == '\'' {
            return Ok(());
        }
        word.push((c, Quoted::Yes));
    }
    Err(BadWords::OpenQuote('\''))
}

fn double(chars: &mut std::str::Chars<'_>, word: &mut Word, active: Active) -> Result<(), BadWords> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match chars.next().ok_or(BadWords::OpenQuote('"'))? {
                '\n' => {}
                next @ ('"' | '\\' | '$' | '`') => word.push((next, Quoted::Yes)),
                next => word.extend([('\\', Quoted::Yes), (next, Quoted::Yes)]),
            },
            '$' | '`' if active == Active::Refused => return Err(BadWords::Active(c)),
            _ => word.push((c, Quoted::Yes)),
        }
    }
    Err(BadWords::OpenQuote('"'))
}

#[cfg(test)]
#[path = "words/tests.rs"]
mod tests;
