//! The characters of one word with what quotes them, and what becomes of them: braces, fields, wildcards, tilde.

use super::syntax::Span;
use super::tree::{Piece, Unknown, Word};

/// How many words braces may make.
const WORDS: usize = 64;

/// How far a `[` is looked after.
const BRACKET: usize = 128;

/// One character of a word, or an expansion.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Atom {
    /// Outside quotes.
    Live(char),
    /// Quoted.
    Quoted(char),
    /// Quotes with nothing in them.
    Empty,
    /// An expansion. Apart, since most are letters.
    Piece(Box<Piece>),
    /// A blank of a known value: where it falls apart into words, if it does.
    Break(char),
}

impl Atom {
    /// An expansion.
    pub(super) fn of(piece: Piece) -> Self {
        Self::Piece(Box::new(piece))
    }
}

/// Whether braces may make words of one.
pub(super) fn has_braces(atoms: &[Atom]) -> bool {
    let dots = |two: &[Atom]| matches!(two, [Atom::Live('.'), Atom::Live('.')]);
    atoms.contains(&Atom::Live('{')) && (atoms.contains(&Atom::Live(',')) || atoms.windows(2).any(dots))
}

/// The words that braces make of one; none if that is not certain.
pub(super) fn braces(atoms: &[Atom]) -> Option<Vec<Vec<Atom>>> {
    if !has_braces(atoms) {
        return Some(vec![atoms.to_vec()]);
    }
    let mut depth = 0usize;
    for atom in atoms {
        match atom {
            Atom::Live('{') => depth += 1,
            Atom::Live('}') => depth = depth.checked_sub(1)?,
            Atom::Live(_) | Atom::Quoted(_) | Atom::Empty | Atom::Piece(_) | Atom::Break(_) => {}
        }
    }
    if depth != 0 {
        return None;
    }
    expand(atoms, 0)
}

fn expand(atoms: &[Atom], depth: usize) -> Option<Vec<Vec<Atom>>> {
    if depth > 16 {
        return None;
    }
    let Some(open) = atoms.iter().position(|atom| *atom == Atom::Live('{')) else {
        return Some(vec![atoms.to_vec()]);
    };
    let close = matching(atoms, open)?;
    let before = atoms.get(..open)?;
    let inside = atoms.get(open + 1..close)?;
    let after = expand(atoms.get(close + 1..)?, depth + 1)?;
    let parts = split(inside);
    let mut middles: Vec<Vec<Atom>> = Vec::new();
    if parts.len() > 1 {
        for part in parts {
            middles.extend(expand(part, depth + 1)?);
        }
    } else if inside.windows(2).any(|two| matches!(two, [Atom::Live('.'), Atom::Live('.')])) {
        middles = sequence(inside)?;
    } else {
        for inner in expand(inside, depth + 1)? {
            let mut kept = vec![Atom::Live('{')];
            kept.extend(inner);
            kept.push(Atom::Live('}'));
            middles.push(kept);
        }
    }
    if middles.len().checked_mul(after.len())? > WORDS {
        return None;
    }
    let mut words = Vec::with_capacity(middles.len() * after.len());
    for middle in &middles {
        for rest in &after {
            words.push(before.iter().chain(middle).chain(rest).cloned().collect());
        }
    }
    Some(words)
}

fn matching(atoms: &[Atom], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, atom) in atoms.iter().enumerate().skip(open) {
        match atom {
            Atom::Live('{') => depth += 1,
            Atom::Live('}') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            Atom::Live(_) | Atom::Quoted(_) | Atom::Empty | Atom::Piece(_) | Atom::Break(_) => {}
        }
    }
    None
}

fn split(atoms: &[Atom]) -> Vec<&[Atom]> {
    let (mut depth, mut from, mut parts) = (0usize, 0, Vec::new());
    for (at, atom) in atoms.iter().enumerate() {
        match atom {
            Atom::Live('{') => depth += 1,
            Atom::Live('}') => depth = depth.saturating_sub(1),
            Atom::Live(',') if depth == 0 => {
                parts.extend(atoms.get(from..at));
                from = at + 1;
            }
            Atom::Live(_) | Atom::Quoted(_) | Atom::Empty | Atom::Piece(_) | Atom::Break(_) => {}
        }
    }
    parts.extend(atoms.get(from..));
    parts
}

/// `1..5`, `01..10..2`, `a..e`.
fn sequence(atoms: &[Atom]) -> Option<Vec<Vec<Atom>>> {
    let text: String = atoms
        .iter()
        .map(|atom| match atom {
            Atom::Live(c) => Some(*c),
            Atom::Quoted(_) | Atom::Empty | Atom::Piece(_) | Atom::Break(_) => None,
        })
        .collect::<Option<_>>()?;
    let parts: Vec<&str> = text.split("..").collect();
    let (from, to, step) = match parts.as_slice() {
        [from, to] => (*from, *to, 1),
        [from, to, step] => (*from, *to, step.parse::<i32>().ok()?.unsigned_abs().max(1)),
        _ => return None,
    };
    let letter = |text: &str| match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    };
    let (first, last, letters) = match (letter(from), letter(to)) {
        (Some(a), Some(b)) if (a < 97) == (b < 97) => (a, b, true),
        (None, None) => (i64::from(from.parse::<i32>().ok()?), i64::from(to.parse::<i32>().ok()?), false),
        (_, _) => return None,
    };
    let padded =
        |text: &str| text.trim_start_matches('-').starts_with('0') && text.trim_start_matches('-').len() > 1;
    let width = if padded(from) || padded(to) { from.len().max(to.len()) } else { 0 };
    let count = first.abs_diff(last) / u64::from(step) + 1;
    if count > WORDS as u64 || from.starts_with('+') || to.starts_with('+') {
        return None;
    }
    let sign = if last < first { -i64::from(step) } else { i64::from(step) };
    let mut words = Vec::new();
    for turn in 0..i64::try_from(count).ok()? {
        let value = first + turn * sign;
        let text = if letters {
            char::from(u8::try_from(value).ok()?).to_string()
        } else {
            format!("{value:0width$}")
        };
        words.push(text.chars().map(Atom::Quoted).collect());
    }
    Some(words)
}

/// Cuts at breaks and makes words of it.
pub(super) fn words(atoms: &[Atom], span: &Span, home: bool, wild: Wild) -> Vec<Word> {
    let breaks = |atom: &Atom| matches!(atom, Atom::Break(_));
    if !atoms.iter().any(breaks) {
        return vec![Word::new(span.clone(), pieces(atoms, home, wild))];
    }
    atoms
        .split(breaks)
        .filter(|field| !field.is_empty())
        .map(|field| Word::new(span.clone(), pieces(field, home, wild)))
        .collect()
}

/// Whether wildcards act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wild {
    /// They do.
    Acts,
    /// They are text (in assignments and here-documents).
    Text,
}

fn pieces(atoms: &[Atom], home: bool, wild: Wild) -> Vec<Piece> {
    let mut made: Vec<Piece> = Vec::new();
    let mut at = 0;
    // `~` may also stand behind the first `=` of `NAME=`, and then behind `:`.
    let mut assigned = false;
    let mut name = true;
    while let Some(atom) = atoms.get(at) {
        let tilde = *atom == Atom::Live('~')
            && (at == 0
                || (assigned && matches!(atoms.get(at.wrapping_sub(1)), Some(Atom::Live('=' | ':')))));
        match atom {
            Atom::Live('~') if tilde => {
                let rest: String = atoms
                    .iter()
                    .skip(at + 1)
                    .map_while(|atom| match atom {
                        Atom::Live(c) if *c != '/' && !(assigned && *c == ':') => Some(*c),
                        Atom::Live(_) | Atom::Quoted(_) | Atom::Empty | Atom::Piece(_) | Atom::Break(_) => {
                            None
                        }
                    })
                    .collect();
                let clean = matches!(atoms.get(at + 1 + rest.chars().count()), None | Some(Atom::Live(_)));
                if rest.is_empty() && clean && home {
                    made.push(Piece::Home);
                } else if rest.is_empty() && !clean {
                    text(&mut made, '~');
                } else {
                    made.push(Piece::Unknown(Unknown {
                        text: format!("~{rest}"),
                        splits: false,
                        output_of: None,
                        ..Unknown::default()
                    }));
                    at += rest.chars().count();
                }
            }
            Atom::Live(c @ ('*' | '?')) if wild == Wild::Acts => {
                let mut run = String::from(*c);
                while let (true, Some(Atom::Live('*'))) = (*c == '*', atoms.get(at + 1)) {
                    run.push('*');
                    at += 1;
                }
                made.push(Piece::Glob(run));
            }
            Atom::Live('[') if wild == Wild::Acts => match bracket(atoms, at) {
                Some((run, end)) => {
                    made.push(Piece::Glob(run));
                    at = end;
                }
                None => text(&mut made, '['),
            },
            Atom::Live(c) | Atom::Quoted(c) => text(&mut made, *c),
            Atom::Empty | Atom::Break(_) => {}
            Atom::Piece(piece) => match &**piece {
                Piece::Text(more) => more.chars().for_each(|c| text(&mut made, c)),
                Piece::Glob(_) | Piece::Home | Piece::Unknown(_) => made.push(Piece::clone(piece)),
            },
        }
        match atom {
            Atom::Live('=') if name && at > 0 => (assigned, name) = (true, false),
            Atom::Live(c) if c.is_ascii_alphanumeric() || *c == '_' || *c == '+' => {}
            Atom::Live(_) | Atom::Quoted(_) | Atom::Empty | Atom::Piece(_) | Atom::Break(_) => name = false,
        }
        at += 1;
    }
    made
}

fn text(made: &mut Vec<Piece>, c: char) {
    match made.last_mut() {
        Some(Piece::Text(text)) => text.push(c),
        Some(Piece::Glob(_) | Piece::Home | Piece::Unknown(_)) | None => {
            made.push(Piece::Text(c.to_string()))
        }
    }
}

/// `[…]`, if it closes in the same part of the path. Where quotes or classes in it make that hard to tell, the rest of that
/// part is taken for anything, which is the stricter reading.
fn bracket(atoms: &[Atom], open: usize) -> Option<(String, usize)> {
    let part = atoms.get(open + 1..)?;
    let part = part.get(..part.iter().position(|atom| *atom == Atom::Live('/')).unwrap_or(part.len()))?;
    let class = |two: &[Atom]| matches!(two, [Atom::Live('['), Atom::Live(':' | '.' | '=')]);
    let plain = |atom: &Atom| matches!(atom, Atom::Live(_));
    if part.is_empty() {
        return None;
    }
    if part.len() > BRACKET || !part.iter().all(plain) || part.windows(2).any(class) {
        return Some(("*".to_owned(), open + part.len()));
    }
    let mut run = String::from("[");
    for (at, atom) in part.iter().enumerate() {
        let Atom::Live(c) = atom else { return None };
        let closes = at > 0 && !(at == 1 && matches!(run.as_str(), "[!" | "[^"));
        run.push(*c);
        if *c == ']' && closes {
            return Some((run, open + 1 + at));
        }
    }
    None
}
