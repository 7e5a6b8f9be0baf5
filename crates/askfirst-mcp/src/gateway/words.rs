//! What the gateway itself says to a client.

use askfirst::{Because, Refusal};
use serde_json::{Value, json};

use super::Results;
use crate::message::Id;
use crate::out::Out;

/// A JSON-RPC error.
pub(crate) fn error(id: Option<&Id>, code: i32, why: &str) -> Vec<u8> {
    let id = id.map_or(Value::Null, Id::json);
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}).to_string().into_bytes()
}

/// A JSON-RPC error to the client.
pub(crate) fn refuse(to: &dyn Out, id: Option<&Id>, code: i32, why: &str) -> std::io::Result<()> {
    to.line(&error(id, code, why))
}

/// A result that says that a call did not run.
pub(super) fn failure(id: &Id, why: &str, results: Results) -> Vec<u8> {
    let content = json!([{"type": "text", "text": why}]);
    let result = match results {
        Results::Plain => json!({"content": content, "isError": true}),
        Results::Typed => json!({"content": content, "isError": true, "resultType": "complete"}),
    };
    json!({"jsonrpc": "2.0", "id": id.json(), "result": result}).to_string().into_bytes()
}

/// What the agent is told, with what decided, so that it can do something else.
pub(crate) fn refused(refusal: &Refusal) -> String {
    let mut text = refusal.to_string();
    // What stands in no file and was said already is not said twice.
    let news = |because: &&Because| because.file.is_some() || !because.text.ends_with(&*refusal.reason);
    for because in refusal.because.iter().filter(news) {
        text.push_str("\nbecause: ");
        text.push_str(&because.to_string());
    }
    text
}

/// The server's answer with one more line in its content.
pub(super) fn with_note(line: &[u8], note: &str) -> Vec<u8> {
    let Ok(mut message) = askfirst::json::parse_object(line) else { return line.to_vec() };
    let content = message.get_mut("result").and_then(|result| result.get_mut("content"));
    if let Some(content) = content.and_then(Value::as_array_mut) {
        content.push(json!({"type": "text", "text": format!("askfirst: {note}")}));
    }
    Value::Object(message).to_string().into_bytes()
}
