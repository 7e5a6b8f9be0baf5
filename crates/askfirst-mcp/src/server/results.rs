//! Turns the outcome of a call into a result for the agent.

use askfirst::{Outcome, ToolError};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// The outcome as an MCP result, with a text about what a person changed or wrote. Refusals and failures are results
/// too, so that the model reads them.
pub(super) fn result(outcome: Outcome, allowed: &str, notice: Option<String>) -> CallToolResult {
    let mut result = of_outcome(outcome, allowed);
    result.content.extend(notice.map(text));
    result
}

fn of_outcome(outcome: Outcome, allowed: &str) -> CallToolResult {
    match outcome {
        Outcome::Done(value) => done(value),
        Outcome::Denied(refusal) => {
            let told = format!("{}\n{allowed}", crate::gateway::refused(&refusal));
            let output = refusal.output.as_deref().map(|output| text(plain(output)));
            with_data(
                CallToolResult::error(std::iter::once(text(told)).chain(output).collect()),
                json!({"outcome": "denied", "refusal": refusal}),
            )
        }
        Outcome::Failed(ToolError::Ended { message, result }) => {
            let content = vec![text(message.clone()), text(plain(&result))];
            with_data(
                CallToolResult::error(content),
                json!({"outcome": "failed", "error": message, "result": result}),
            )
        }
        Outcome::Failed(error) => {
            let message = error.to_string();
            with_data(
                CallToolResult::error(vec![text(message.clone())]),
                json!({"outcome": "failed", "error": message}),
            )
        }
    }
}

fn done(value: Value) -> CallToolResult {
    let result = CallToolResult::success(vec![text(plain(&value))]);
    match value {
        // Older revisions accept only an object here.
        Value::Object(_) => with_data(result, value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => result,
    }
}

fn text(text: String) -> ContentBlock {
    ContentBlock::text(text)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn with_data(mut result: CallToolResult, data: Value) -> CallToolResult {
    result.structured_content = Some(data);
    result
}

#[cfg(test)]
#[path = "results/tests.rs"]
mod tests;
