//! Folds file names for a comparison: without case, in one Unicode form, without invisible characters.
//!
//! Some file systems treat such names as equal. Only rules that forbid something use folded names; no file is
//! opened by a folded name.

use std::borrow::Cow;
use std::path::Path;

use unicode_normalization::UnicodeNormalization;

/// A path that is ready for a comparison.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FoldedPath<'p> {
    /// The path in lower case. Most paths need no more folding.
    Single(Cow<'p, str>),
    /// The path in lower case, and the completely folded path. A rule may cover either.
    Both(String, String),
}

/// Folds a path.
pub(crate) fn fold_path(path: &Path) -> FoldedPath<'_> {
    let text = path.to_str().map_or_else(|| path.to_string_lossy(), Cow::Borrowed);
    if text.is_ascii() && !has_trailing_dot_or_space(&text) {
        let has_upper_case = text.bytes().any(|byte| byte.is_ascii_uppercase());
        return FoldedPath::Single(if has_upper_case { text.to_ascii_lowercase().into() } else { text });
    }
    let lower = text.to_lowercase();
    let folded = fold_text(&text);
    let names: Vec<&str> = folded.split('/').map(|name| name.trim_end_matches(['.', ' '])).collect();
    FoldedPath::Both(lower, names.join("/"))
}

/// Returns true if a name ends with a dot or a space, which some file systems drop.
fn has_trailing_dot_or_space(text: &str) -> bool {
    text.split('/').any(|name| name.ends_with(['.', ' ']))
}

/// Folds a text: lower case, Unicode compatibility form, without invisible characters.
#[must_use]
pub fn fold_text(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Upper case first: it maps `ß` to `SS` and the long `s` to `S`, as full case folding does.
    let folded = |c: char| c.to_uppercase().flat_map(char::to_lowercase);
    let once: String = text.nfkd().filter(|c| !is_ignored(*c)).flat_map(folded).collect();
    once.nfkd().filter(|c| !is_ignored(*c)).flat_map(folded).nfc().collect()
}

/// Returns true for a code point that some file systems ignore in names: Unicode's `Default_Ignorable_Code_Point`.
fn is_ignored(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
#[path = "fold/tests.rs"]
mod tests;
