//! Messages of the gateway itself to a client.

use askfirst::{Because, Refusal};
use serde_json::{Value, json};

use super::Results;
use crate::message::Id;
use crate::out::LineSink;

/// Builds a JSON-RPC error.
pub(crate) fn error(id: Option<&Id>, code: i32, why: &str) -> Vec<u8> {
    let id = id.map_or(Value::Null, Id::json);
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}).to_string().into_bytes()
}

/// Sends a JSON-RPC error to the client.
pub(crate) fn refuse(to: &dyn LineSink, id: Option<&Id>, code: i32, why: &str) -> std::io::Result<()> {
    to.line(&error(id, code, why))
}

/// Builds a result that reports that a call did not run.
pub(super) fn failure(id: &Id, why: &str, results: Results) -> Vec<u8> {
    let content = json!([{"type": "text", "text": why}]);
    let result = match results {
        Results::Plain => json!({"content": content, "isError": true}),
        Results::Typed => json!({"content": content, "isError": true, "resultType": "complete"}),
    };
    json!({"jsonrpc": "2.0", "id": id.json(), "result": result}).to_string().into_bytes()
}

/// The text of a refusal for the agent, with its reasons, so that the agent can try something else.
pub(crate) fn refused(refusal: &Refusal) -> String {
    let mut text = refusal.to_string();
    // A reason without a file that repeats the refusal is left out.
    let news = |because: &&Because| because.file.is_some() || !because.text.ends_with(&*refusal.reason);
    for because in refusal.because.iter().filter(news) {
        text.push_str("\nbecause: ");
        text.push_str(&because.to_string());
    }
    text
}

/// Adds a text to the content of the server's answer.
pub(super) fn with_notice(line: &[u8], notice: &str) -> Vec<u8> {
    let Ok(mut message) = askfirst::json::parse_object(line) else { return line.to_vec() };
    let content = message.get_mut("result").and_then(|result| result.get_mut("content"));
    if let Some(content) = content.and_then(Value::as_array_mut) {
        content.push(json!({"type": "text", "text": notice}));
    }
    Value::Object(message).to_string().into_bytes()
}
