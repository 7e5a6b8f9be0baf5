//! Makes user input safe for a message: short, on one line, and without characters that control a terminal.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// A message shows at most this many characters of a text.
const LONGEST: usize = 120;

/// Escapes control characters and shortens a long text.
pub(crate) fn escape(text: &str) -> String {
    if text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        return text.to_owned();
    }
    let mut out = String::new();
    for (n, c) in text.chars().enumerate() {
        if n == LONGEST {
            out.push('…');
            break;
        }
        let hidden = matches!(
            c.general_category(),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::PrivateUse
                | GeneralCategory::Unassigned
        );
        match c {
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            _ if hidden => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}

/// Joins words as `` `a`, `b` or `c` ``.
pub(crate) fn join_or<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{}`", escape(word))).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Finds the known word that is closest to a misspelled one, if any is close.
#[must_use]
pub fn find_closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let near = |candidate: &'a str| {
        let lengths = (word.chars().count(), candidate.chars().count());
        let longest = lengths.0.max(lengths.1);
        if lengths.0.abs_diff(lengths.1) > 1 + longest / 4 {
            return None;
        }
        let distance = strsim::osa_distance(word, candidate);
        (distance <= 1 + longest / 4 && distance < longest).then_some((distance, candidate))
    };
    known.into_iter().filter_map(near).min().map(|(_, candidate)| candidate)
}
