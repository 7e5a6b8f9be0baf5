//! Texts as a reader takes them that does not tell upper case from lower.

/// A text with its case folded. Upper case comes first, so that letters with a second lower-case form are folded too:
/// some readers take `ſ` for `s` and the sign of the kelvin for `k`.
pub(crate) fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
#[path = "fold/tests.rs"]
mod tests;
