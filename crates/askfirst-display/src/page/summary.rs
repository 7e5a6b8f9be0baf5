//! A summary of arguments in one line, for lists and for the line that confirms a decision.

use askfirst::Args;
use serde_json::Value;

/// The arguments that say what a call is about. A summary starts with the first of them.
const SUBJECTS: [&str; 5] = ["command", "argv", "path", "file_path", "url"];

/// The number of characters of that argument in a summary.
const MAX_SUBJECT: usize = 200;

/// The number of characters of any other argument in a summary.
const MAX_OTHER: usize = 40;

/// Summarizes arguments in one line, the command or path first. Long values are shortened; the page shows them in full.
#[must_use]
pub fn summary(args: &Args) -> String {
    let subject = SUBJECTS.iter().find_map(|key| args.get_key_value(*key));
    let others = args.iter().filter(|(key, _)| subject.is_none_or(|(subject, _)| subject != *key));
    let subject = subject.map(|argument| in_short(argument, MAX_SUBJECT));
    let others = others.map(|argument| in_short(argument, MAX_OTHER));
    subject.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

fn in_short((key, value): (&String, &Value), max: usize) -> String {
    let value = match value {
        Value::String(text) => text.chars().take(max + 1).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    };
    let mut chars = value.chars();
    let head: String = chars.by_ref().take(max).collect();
    let end = if chars.next().is_some() { "…" } else { "" };
    format!("{key}: {head}{end}")
}
