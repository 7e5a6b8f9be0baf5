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

/// A word from the target of a call: a file name, a host, a recipient; else the tool's name. Words that begin with
/// one of `keys` are taken only if there is no other.
#[must_use]
pub fn word(request: &ApprovalRequest, redactor: &Redactor, keys: &[char]) -> String {
    let shown = redactor.args(&request.args, Mark::Screen).left;
    let unhidden: Args =
        request.args.iter().filter(|(key, value)| shown.get(*key) == Some(value)).map(clone).collect();
    let is_shown = |name: &str| redactor.text(name, Mark::Screen).hidden == 0;
    let told = TELLING.iter().filter_map(|name| unhidden.get(*name));
    let rest = unhidden.iter().filter(|(key, _)| !TELLING.contains(&key.as_str())).map(|(_, value)| value);
    let from_target: Vec<String> = told.flat_map(words_of).filter(|word| can_be_typed(word)).collect();
    let from_rest = || rest.flat_map(words_of).filter(|word| can_be_typed(word)).collect::<Vec<String>>();
    pick(from_target, keys)
        .or_else(|| pick(from_rest(), keys))
        .or_else(|| Some(request.tool_name.clone()).filter(|name| can_be_typed(name) && is_shown(name)))
        .unwrap_or_else(|| Digest::of(request.tool_name.as_bytes()).to_string().chars().take(8).collect())
}

fn clone((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

fn pick(words: Vec<String>, keys: &[char]) -> Option<String> {
    let free = |word: &&String| !word.starts_with(keys);
    words.iter().find(free).or(words.first()).cloned()
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
