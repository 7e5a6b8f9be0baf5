//! Shell patterns as words.
//!
//! It knows quoting and wildcards, and nothing of what a pattern matches: the shell tool does.

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
    let words = split(text)?;
    let glob = |word: Word| {
        let mut out = String::new();
        // The commands `[` and `[[` are no wildcards.
        let test = word.len() <= 2 && word.iter().all(|(c, _)| *c == '[');
        for (c, quoted) in word {
            let wildcard = matches!(c, '*' | '?' | '[' | ']');
            if (wildcard && (quoted == Quoted::Yes || test)) || matches!(c, '{' | '}' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
        out
    };
    Ok(words.into_iter().map(glob).collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Yes,
    No,
}

type Word = Vec<(char, Quoted)>;

fn split(text: &str) -> Result<Vec<Word>, BadWords> {
    let mut words: Vec<Word> = Vec::new();
    let mut word: Option<Word> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => single(&mut chars, word.get_or_insert_default())?,
            '"' => double(&mut chars, word.get_or_insert_default())?,
            '\\' => {
                let next = chars.next().ok_or(BadWords::LooseBackslash)?;
                word.get_or_insert_default().push((next, Quoted::Yes));
            }
            ';' | '|' | '&' | '$' | '`' | '<' | '>' | '(' | ')' | '\n' | '\r' => {
                return Err(BadWords::Active(c));
            }
            '#' if word.is_none() => return Err(BadWords::Active(c)),
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

fn double(chars: &mut std::str::Chars<'_>, word: &mut Word) -> Result<(), BadWords> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match chars.next().ok_or(BadWords::OpenQuote('"'))? {
                '\n' => {}
                next @ ('"' | '\\' | '$' | '`') => word.push((next, Quoted::Yes)),
                next => word.extend([('\\', Quoted::Yes), (next, Quoted::Yes)]),
            },
            '$' | '`' => return Err(BadWords::Active(c)),
            _ => word.push((c, Quoted::Yes)),
        }
    }
    Err(BadWords::OpenQuote('"'))
}

#[cfg(test)]
#[path = "words/tests.rs"]
mod tests;
