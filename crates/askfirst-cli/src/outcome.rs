//! Prints the outcome of a call, for an agent (JSON) and for a person (one line).

use askfirst::{ApprovalContext, Args, Outcome, ToolError};
use askfirst_display::page::summary;
use askfirst_display::redact::{Mark, Redactor};
use serde_json::{Map, Value, json};

use crate::commands::run::live::CallSummary;
use crate::exit::Exit;

/// Returns the outcome as an agent gets it, with the edited arguments and the note of a person who approved the call.
pub fn as_json(outcome: &Outcome, summary: &CallSummary) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
    match outcome {
        Outcome::Done(result) => {
            put("outcome", json!("done"));
            put("result", json!(result));
        }
        Outcome::Denied(refusal) => {
            put("outcome", json!("denied"));
            put("refusal", json!(refusal));
            put("message", json!(refusal.to_string()));
        }
        Outcome::Failed(error) => {
            put("outcome", json!("failed"));
            put("error", json!(error.to_string()));
            if let ToolError::Ended { result, .. } = error {
                put("result", json!(result));
            }
        }
    }
    if let Some(call) = &summary.edited {
        put("edited_args", json!(call.args));
    }
    if let (Some(note), Outcome::Done(_) | Outcome::Failed(_)) = (&summary.note, outcome) {
        put("note", json!(note));
    }
    fields
}

/// Summarizes a call, without its secrets.
pub fn summary_of(call: &ApprovalContext, redactor: &Redactor) -> String {
    let tool = redactor.text(&call.tool_name, Mark::Screen).left;
    summary_without_secrets(&tool, &redactor.args(&call.args, Mark::Screen).left)
}

/// Summarizes a call whose secrets are already hidden: its command or path first.
pub fn summary_without_secrets(tool: &str, args: &Args) -> String {
    if args.is_empty() { tool.to_owned() } else { format!("{tool} ({})", summary(args)) }
}

/// Summarizes an outcome in a few words.
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

/// Prints the outcome of a single call, and the edited call if a person edited it.
pub fn print(outcome: &Outcome, summary: &CallSummary, redactor: &Redactor, json: bool) -> Exit {
    let exit = Exit::of(outcome);
    if json {
        crate::print::json(&as_json(outcome, summary));
        return exit;
    }
    if let Some(call) = &summary.edited {
        crate::print::err(&format!("edited: {}", summary_of(call, redactor)));
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
                crate::print::err_of_tool(stderr.trim_end_matches('\n'));
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
