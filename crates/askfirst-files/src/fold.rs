//! Names as the most forgiving file system would compare them: without case, in one form of Unicode, without what is
//! not seen. Only for rules that forbid; nothing is opened by such a name.

use std::borrow::Cow;
use std::path::Path;

use unicode_normalization::UnicodeNormalization;

/// A path, ready to be compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Folded<'p> {
    /// There is one way to read it. Most paths are written so already.
    One(Cow<'p, str>),
    /// As it is written but for its case, and as it might be taken. Either may be covered by a rule.
    Two(String, String),
}

/// Folds a path.
pub(crate) fn path(path: &Path) -> Folded<'_> {
    let text = path.to_str().map_or_else(|| path.to_string_lossy(), Cow::Borrowed);
    if text.is_ascii() && !has_loose_end(&text) {
        let upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
        return Folded::One(if upper { text.to_ascii_lowercase().into() } else { text });
    }
    let narrow = text.to_lowercase();
    let wide = wide(&text);
    let names: Vec<&str> = wide.split('/').map(|name| name.trim_end_matches(['.', ' '])).collect();
    Folded::Two(narrow, names.join("/"))
}

/// Whether a name ends in what some file systems drop.
fn has_loose_end(text: &str) -> bool {
    text.split('/').any(|name| name.ends_with(['.', ' ']))
}

/// A text without case, in compatibility form, without what is not seen.
pub(crate) fn wide(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Upper case first: that takes `ß` to `SS` and the long `s` to `S`, as full case folding does.
    let folded = |c: char| c.to_uppercase().flat_map(char::to_lowercase);
    let once: String = text.nfkd().filter(|c| !is_ignored(*c)).flat_map(folded).collect();
    once.nfkd().filter(|c| !is_ignored(*c)).flat_map(folded).nfc().collect()
}

/// Code points that some file systems leave out when they compare names: Unicode's `Default_Ignorable_Code_Point`.
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
