//! Finds the word that a person types to confirm a call that cannot be undone.
//!
//! The word comes from the target of the call. It is never a constant, so that typing it does not become a habit.

use askfirst::{ApprovalRequest, Args, Digest};
use serde_json::Value;

use crate::redact::{Mark, Redactor};

/// Arguments that name the target of a call, the most specific first.
const TARGETS: [&str; 24] = [
    "path",
    "file",
    "file_path",
    "filename",
    "target",
    "destination",
    "dest",
    "to",
    "recipient",
    "recipients",
    "email",
    "host",
    "hostname",
    "url",
    "uri",
    "repo",
    "repository",
    "branch",
    "bucket",
    "database",
    "table",
    "worker",
    "name",
    "id",
];

/// The length of the shortest word. A shorter one could be typed by accident.
const MIN: usize = 3;
/// The length of the longest word. A longer one would be too much to type.
const MAX: usize = 40;

/// The number of hexadecimal digits that replace a word.
const DIGITS: usize = 6;

/// The word for a call: a file name, host or recipient, or else digits of the digest of its arguments.
/// No word starts with one of `keys`, so that every key keeps its meaning.
#[must_use]
pub fn word(request: &ApprovalRequest, redactor: &Redactor, keys: &[char]) -> String {
    let shown = redactor.args(&request.args, Mark::Screen).left;
    let unhidden: Args =
        request.args.iter().filter(|(key, value)| shown.get(*key) == Some(value)).map(clone).collect();
    let named = TARGETS.iter().filter_map(|name| unhidden.get(*name));
    let rest = unhidden.iter().filter(|(key, _)| !TARGETS.contains(&key.as_str())).map(|(_, value)| value);
    let fits = |word: &String| can_be_typed(word) && !word.starts_with(keys);
    named.chain(rest).flat_map(words_of).find(fits).unwrap_or_else(|| digits(request, keys))
}

/// Digits from the digest of all arguments.
fn digits(request: &ApprovalRequest, keys: &[char]) -> String {
    let digest = Digest::of(serde_json::to_vec(&request.args).unwrap_or_default()).to_string();
    let digits = digest.rsplit(':').next().unwrap_or_default();
    digits.trim_start_matches(keys).chars().take(DIGITS).collect()
}

fn clone((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// The words that identify a value.
fn words_of(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => {
            let last = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            match text.split_once("://") {
                Some((_, rest)) => {
                    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
                    vec![authority.rsplit('@').next().unwrap_or_default().to_owned()]
                }
                None => vec![last.to_owned()],
            }
        }
        Value::Array(items) => items.iter().take(8).flat_map(words_of).collect(),
        Value::Number(number) => vec![number.to_string()],
        Value::Null | Value::Bool(_) | Value::Object(_) => Vec::new(),
    }
}

fn can_be_typed(word: &str) -> bool {
    let typed = |c: char| c.is_ascii_alphanumeric() || "._-@:+~".contains(c);
    (MIN..=MAX).contains(&word.len()) && word.chars().all(typed)
}

#[cfg(test)]
#[path = "target/tests.rs"]
mod tests;
