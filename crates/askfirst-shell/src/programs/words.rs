//! What can be said of a word before it is known: whether it may become an option, vanish, or turn into several.

use crate::line::tree::{Piece, Unknown, Word};

/// What a word begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lead {
    /// It is empty.
    Empty,
    /// A dash.
    Dash,
    /// Something that is surely no dash.
    Plain,
    /// A wildcard: a file's name, which may begin with a dash.
    Glob,
    /// Something unknown.
    Unknown,
}

/// What the word surely begins with.
pub(crate) fn lead(word: &Word) -> Lead {
    match word.pieces.first() {
        None => Lead::Empty,
        Some(Piece::Text(text)) if text.starts_with('-') => Lead::Dash,
        Some(Piece::Text(text)) if text.is_empty() => lead_of_rest(word),
        Some(Piece::Text(_) | Piece::Home) => Lead::Plain,
        Some(Piece::Glob(_)) => Lead::Glob,
        Some(Piece::Unknown(_)) => Lead::Unknown,
    }
}

/// Quotes around nothing may leave an empty text in front (`""$x`).
fn lead_of_rest(word: &Word) -> Lead {
    let rest = Word::new(word.span.clone(), word.pieces.iter().skip(1).cloned().collect());
    lead(&rest)
}

/// Whether it may become no word, or several that begin with anything.
pub(crate) fn splits(word: &Word) -> bool {
    word.pieces.iter().any(|piece| matches!(piece, Piece::Unknown(Unknown { splits: true, .. })))
}

/// Whether it may become other than one word.
pub(crate) fn many(word: &Word) -> bool {
    // `[v]ite` finds one file or stays as it is.
    let finds_one = |glob: &str| {
        let inner = glob.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        inner.is_some_and(|inner| inner.len() == 1 && inner.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    };
    let one = word.pieces.contains(&Piece::one_word());
    let spreads = |piece: &Piece| matches!(piece, Piece::Glob(glob) if !finds_one(glob));
    splits(word) || (!one && word.pieces.iter().any(spreads))
}

/// The word without the first `bytes` of its leading text.
pub(crate) fn without(word: &Word, bytes: usize) -> Word {
    if let Some(text) = word.literal() {
        return Word::text(text.get(bytes..).unwrap_or_default(), word.span.clone());
    }
    let mut pieces = word.pieces.to_vec();
    let empty = match pieces.first_mut() {
        Some(Piece::Text(text)) => {
            *text = text.get(bytes..).unwrap_or_default().to_owned();
            text.is_empty()
        }
        Some(Piece::Glob(_) | Piece::Home | Piece::Unknown(_)) | None => false,
    };
    if empty {
        pieces.remove(0);
    }
    Word::new(word.span.clone(), pieces)
}

/// Words joined by blanks, as `eval` does.
pub(crate) fn joined<'w>(words: impl IntoIterator<Item = &'w Word>) -> Word {
    let mut all = Word::default();
    let mut first = true;
    for word in words {
        if first {
            all.span = word.span.clone();
        } else {
            push_text(&mut all.edit(), " ");
        }
        first = false;
        all.span.end = all.span.end.max(word.span.end);
        for piece in word.pieces.iter() {
            match piece {
                Piece::Text(text) => push_text(&mut all.edit(), text),
                Piece::Glob(_) | Piece::Home | Piece::Unknown(_) => all.edit().push(piece.clone()),
            }
        }
    }
    all
}

/// Adds text to pieces, joined to a text that stands last.
pub(crate) fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if text.is_empty() {
        return;
    }
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.push_str(text),
        Some(Piece::Glob(_) | Piece::Home | Piece::Unknown(_)) | None => {
            pieces.push(Piece::Text(text.to_owned()))
        }
    }
}

/// The word with `with` in every place where `mark` stands in its text.
pub(crate) fn replaced(word: &Word, mark: &str, with: &[Piece]) -> Word {
    let mut pieces: Vec<Piece> = Vec::new();
    for piece in word.pieces.iter() {
        match piece {
            Piece::Text(text) if !mark.is_empty() && text.contains(mark) => {
                let mut parts = text.split(mark);
                push_text(&mut pieces, parts.next().unwrap_or_default());
                for part in parts {
                    for new in with {
                        match new {
                            Piece::Text(text) => push_text(&mut pieces, text),
                            Piece::Glob(_) | Piece::Home | Piece::Unknown(_) => pieces.push(new.clone()),
                        }
                    }
                    push_text(&mut pieces, part);
                }
            }
            Piece::Text(text) => push_text(&mut pieces, text),
            Piece::Glob(_) | Piece::Home | Piece::Unknown(_) => pieces.push(piece.clone()),
        }
    }
    Word::new(word.span.clone(), pieces)
}

/// Whether it may lead out of the folder: absolute, from the home, climbing, or not known.
pub(crate) fn may_leave(word: &Word) -> bool {
    const GLOB: char = '\0';
    let mut path = String::new();
    for piece in word.pieces.iter() {
        match piece {
            Piece::Text(text) => path.push_str(text),
            Piece::Glob(_) => path.push(GLOB),
            Piece::Home | Piece::Unknown(_) => return true,
        }
    }
    // Older shells let `.*` stand for `..`.
    let climbs = |part: &str| {
        part == ".." || (part.starts_with('.') && part.trim_start_matches('.').starts_with(GLOB))
    };
    path.starts_with('/') || path.split('/').any(climbs)
}

/// The word as a person would read it.
pub(crate) fn shown(word: &Word) -> String {
    let mut text = String::new();
    for piece in word.pieces.iter() {
        match piece {
            Piece::Text(part) | Piece::Glob(part) => text.push_str(part),
            Piece::Home => text.push('~'),
            Piece::Unknown(unknown) => text.push_str(&unknown.text),
        }
    }
    text
}

/// Whether it is a name that a shell takes for a variable's.
pub(crate) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|other| other.is_ascii_alphanumeric() || other == '_')
}
