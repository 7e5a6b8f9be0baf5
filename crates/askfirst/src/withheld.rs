//! Removes the values of excluded arguments from every text that goes into the audit log.
//!
//! Such a text may be a description, a payload, a reason or an error.

use serde_json::Value;

use crate::json::Args;

/// The number of leading characters that reveal a value. A shorter value is removed only as a whole word.
const REVEALING_LENGTH: usize = 4;

/// The text that replaces a withheld value.
const MARK: &str = "[left out]";

/// Values that must not go into the audit log, and their argument names.
#[derive(Debug, Default)]
pub struct WithheldValues<'a> {
    keys: Vec<&'a str>,
    values: Vec<String>,
}

#[doc(hidden)]
pub use self::WithheldValues as Withheld;

impl<'a> WithheldValues<'a> {
    /// Collects the values that a call's arguments have under `keys`.
    #[must_use]
    pub fn of(args: &Args, keys: impl IntoIterator<Item = &'a String>) -> Self {
        let mut withheld = Self::default();
        for key in keys {
            if let Some(value) = args.get(key) {
                withheld.keys.push(key);
                texts_in(value, &mut withheld.values);
            }
        }
        withheld
    }

    /// Returns `text` with every withheld value replaced by a mark.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut left = text.to_owned();
        for value in &self.values {
            let (escaped, debugged) = (Value::from(value.as_str()).to_string(), format!("{value:?}"));
            let forms = [value, escaped.trim_matches('"'), debugged.trim_matches('"')];
            left = without(&left, &forms, MARK).0;
        }
        left
    }

    /// Whether a withheld value or its argument name occurs anywhere in `value`.
    #[must_use]
    pub fn is_in(&self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(number) => self.values.contains(&number.to_string()),
            Value::String(text) => self.text(text) != *text,
            Value::Array(items) => items.iter().any(|item| self.is_in(item)),
            Value::Object(map) => {
                map.iter().any(|(key, item)| self.keys.contains(&key.as_str()) || self.is_in(item))
            }
        }
    }
}

fn texts_in(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => texts.push(number.to_string()),
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts_in(item, texts)),
        Value::Object(map) => map.values().for_each(|item| texts_in(item, texts)),
    }
}

/// Replaces a value, in any of its written forms, by `mark`, and returns the text and the number of replacements.
///
/// It also replaces every prefix of the value that is long enough to reveal it.
#[must_use]
pub fn without(text: &str, forms: &[&str], mark: &str) -> (String, usize) {
    let starts: Vec<String> =
        forms.iter().map(|form| form.chars().take(REVEALING_LENGTH).collect()).collect();
    if starts.iter().any(String::is_empty) {
        return (text.to_owned(), 0);
    }
    let short = forms.iter().all(|form| form.chars().count() < REVEALING_LENGTH);
    let (mut left, mut rest, mut count) = (String::with_capacity(text.len()), text, 0);
    while let Some(at) = starts.iter().filter_map(|start| rest.find(start)).min() {
        let (before, found) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let same = |form: &&str| {
            let same = found.chars().zip(form.chars()).take_while(|(a, b)| a == b);
            same.map(|(a, _)| a.len_utf8()).sum::<usize>()
        };
        let same = forms.iter().map(same).max().unwrap_or_default();
        let (same, after) = found.split_at_checked(same).unwrap_or((found, ""));
        let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        left.push_str(before);
        if short && (inside(before.chars().next_back()) || inside(after.chars().next())) {
            left.push_str(same);
        } else {
            left.push_str(mark);
            count += 1;
        }
        rest = after;
    }
    left.push_str(rest);
    (left, count)
}

#[cfg(test)]
#[path = "withheld/tests.rs"]
mod tests;
