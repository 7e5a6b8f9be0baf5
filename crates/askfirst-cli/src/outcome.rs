//! What became of a call, for an agent (JSON) and for a person (one line).

use askfirst::{Outcome, ToolError};
use serde_json::{Value, json};

use crate::exit::Exit;

/// The outcome as an agent gets it: typed and truthful.
pub fn as_json(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Done(result) => json!({"outcome": "done", "result": result}),
        Outcome::Denied(refusal) => {
            json!({"outcome": "denied", "refusal": refusal, "message": refusal.to_string()})
        }
        Outcome::Failed(ToolError::Ended { message, result }) => {
            json!({"outcome": "failed", "error": message, "result": result})
        }
        Outcome::Failed(error) => json!({"outcome": "failed", "error": error.to_string()}),
    }
}

/// The outcome in a few words.
pub fn in_words(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Done(_) => ("ran", String::new()),
        Outcome::Denied(refusal) => {
            let note = refusal.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            ("refused", format!("{}{note}", refusal.reason))
        }
        Outcome::Failed(error) => ("failed", error.to_string()),
    }
}

/// Prints the outcome of a single call.
pub fn print(outcome: &Outcome, json: bool) -> Exit {
    let exit = Exit::of(outcome);
    if json {
        crate::print::json(&as_json(outcome));
        return exit;
    }
    match outcome {
        Outcome::Done(result) => print_result(result),
        Outcome::Failed(ToolError::Ended { message, result }) => {
            print_result(result);
            crate::print::err(&format!("error: {message}"));
        }
        Outcome::Failed(error) => crate::print::err(&format!("error: {error}")),
        Outcome::Denied(refusal) => {
            crate::print::err(&format!("refused: {refusal}"));
            for because in &refusal.because {
                crate::print::err(&format!("  because {because}"));
            }
        }
    }
    exit
}

fn print_result(result: &Value) {
    match (result.get("stdout").and_then(Value::as_str), result.get("stderr").and_then(Value::as_str)) {
        (Some(stdout), stderr) => {
            if !stdout.is_empty() {
                crate::print::result(stdout);
            }
            if let Some(stderr) = stderr.filter(|text| !text.is_empty()) {
                crate::print::err_lines(stderr.trim_end_matches('\n'));
            }
        }
        (None, _) => match result {
            Value::String(text) => crate::print::result(text),
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                crate::print::result(&serde_json::to_string_pretty(result).unwrap_or_default());
            }
        },
    }
}
