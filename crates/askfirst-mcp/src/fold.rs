//! Case folding, for readers that do not distinguish upper case from lower case.

/// Folds the case of a text. It converts to upper case first, so that letters with a second lower-case form are folded
/// too: some readers treat `ſ` as `s` and the kelvin sign as `k`.
pub(crate) fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
#[path = "fold/tests.rs"]
mod tests;
