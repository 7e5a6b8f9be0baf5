//! What a call acts upon, as a word that a person can type to confirm it.
//!
//! The word is never a constant, so that nobody learns to type it without looking.

use askfirst::{ApprovalRequest, Args, Digest};
use serde_json::Value;

use crate::redact::{Mark, Redactor};

/// Arguments that name what a call acts upon, the most telling first.
const TELLING: [&str; 24] = [
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

/// Shorter words are typed by accident.
const MIN: usize = 3;
/// Longer words are not typed by anybody.
const MAX: usize = 40;

/// So many digits of a digest are typed.
const DIGITS: usize = 6;

/// A word from the target of a call: a file name, a host, a recipient; else digits of the digest of its arguments. No word
/// begins with one of `keys`, so that each keeps its meaning.
#[must_use]
pub fn word(request: &ApprovalRequest, redactor: &Redactor, keys: &[char]) -> String {
    let shown = redactor.args(&request.args, Mark::Screen).left;
    let unhidden: Args =
        request.args.iter().filter(|(key, value)| shown.get(*key) == Some(value)).map(clone).collect();
    let told = TELLING.iter().filter_map(|name| unhidden.get(*name));
    let rest = unhidden.iter().filter(|(key, _)| !TELLING.contains(&key.as_str())).map(|(_, value)| value);
    let fits = |word: &String| can_be_typed(word) && !word.starts_with(keys);
    told.chain(rest).flat_map(words_of).find(fits).unwrap_or_else(|| digits(request, keys))
}

/// Digits that stand for all arguments.
fn digits(request: &ApprovalRequest, keys: &[char]) -> String {
    let digest = Digest::of(serde_json::to_vec(&request.args).unwrap_or_default()).to_string();
    let digits = digest.rsplit(':').next().unwrap_or_default();
    digits.trim_start_matches(keys).chars().take(DIGITS).collect()
}

fn clone((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// The words that a value is known by.
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
