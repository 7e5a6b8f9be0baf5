//! A summary of arguments in one line, for lists and for the line that confirms a decision.

use askfirst::Args;
use serde_json::Value;

/// Summarizes arguments in one line. Long values are shortened; the page shows them in full.
#[must_use]
pub fn summary(args: &Args) -> String {
    let short = |text: String| {
        let mut chars = text.chars();
        let head: String = chars.by_ref().take(MAX_SUMMARY).collect();
        if chars.next().is_some() { format!("{head}…") } else { head }
    };
    let one = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => text.chars().take(MAX_SUMMARY + 1).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                value.to_string()
            }
        };
        format!("{key}: {}", short(value))
    };
    args.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The number of characters of one argument in a summary.
const MAX_SUMMARY: usize = 40;
