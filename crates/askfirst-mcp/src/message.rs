//! One JSON-RPC message, parsed strictly: a closed set of keys, no duplicate keys, one document, plain ids.

use std::borrow::Cow;

use askfirst::json::{JsonFault, StrictJson};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use simdutf8::compat::from_utf8;

use crate::keys::check_controls;

/// A message. It borrows from its line.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// A request, which expects an answer.
    Request {
        /// The id of the request.
        id: Id,
        /// The method.
        method: Cow<'a, str>,
        /// The parameters, exactly as written.
        params: Option<&'a RawValue>,
    },
    /// A notification, which expects no answer.
    Notification {
        /// The method.
        method: Cow<'a, str>,
        /// The parameters, exactly as written.
        params: Option<&'a RawValue>,
    },
    /// The answer to a request.
    Response {
        /// The id of the request, or `None` if the other side could not read it.
        id: Option<Id>,
        /// The result, exactly as written, or `None` for an error.
        result: Option<&'a RawValue>,
    },
}

/// An id: an integer or a string. `1.0` is invalid, because only some readers treat it as `1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Id {
    Number(i64),
    Text(String),
}

impl Id {
    /// The id as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        match self {
            Self::Number(number) => (*number).into(),
            Self::Text(text) => text.as_str().into(),
        }
    }
}

/// The reason why a line is not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// The line is not one JSON document.
    #[error("not one JSON document: {0}")]
    Syntax(String),
    /// The line is JSON, but not a JSON-RPC message.
    #[error("not a JSON-RPC message: {0}")]
    Shape(String),
    /// The message has too many values.
    #[error("the message is too large: {why}")]
    Large {
        /// The id of the request that needs an answer.
        id: Option<Id>,
        /// The limit that the message exceeds.
        why: JsonFault,
    },
    /// Two readers could read a key of the message in two ways.
    #[error("{why}")]
    Keys {
        /// The id of the request that needs an answer.
        id: Option<Id>,
        /// The place of the key.
        why: String,
    },
}

impl Fault {
    /// A fault in the values of a message. `id` returns the id of the request that needs an answer, if it is readable.
    pub(crate) fn of(why: JsonFault, id: impl FnOnce() -> Option<Id>) -> Self {
        match why {
            JsonFault::Garbled(why) => Self::Syntax(why),
            JsonFault::TooMany => Self::Large { id: id(), why },
        }
    }

    /// The JSON-RPC error code.
    pub(crate) fn code(&self) -> i32 {
        match self {
            Self::Syntax(_) => -32700,
            Self::Shape(_) | Self::Large { .. } => -32600,
            Self::Keys { .. } => -32602,
        }
    }

    /// The id of the request that gets the error.
    pub(crate) fn id(&self) -> Option<&Id> {
        match self {
            Self::Large { id, .. } | Self::Keys { id, .. } => id.as_ref(),
            Self::Syntax(_) | Self::Shape(_) => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "given")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "given")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "given")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "given")]
    error: Option<&'a RawValue>,
}

/// Reads a key that is present, even if its value is `null`.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The sender of a message, which decides how much of it is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The client, which an agent may control: `read` checks every value.
    Client,
    /// The client, but the caller of `read` checks every value of the parameters on its own.
    Caller,
    /// The server: results may be large, so `read` checks the envelope only.
    Server,
}

/// Reads a message from a line.
pub(crate) fn read(line: &[u8], from: Sender) -> Result<Message<'_>, Fault> {
    let text = from_utf8(line).map_err(|e| Fault::Syntax(e.to_string()))?;
    if text.trim_start().starts_with('[') {
        return Err(Fault::Shape("batches are not supported".to_owned()));
    }
    let strictly =
        || match askfirst::json::parse(line).map_err(|e| Fault::of(e, || asker(text)))?.get("params") {
            Some(Value::Object(params)) => {
                check_controls(params).map_err(|why| Fault::Keys { id: asker(text), why })
            }
            _ => Ok(()),
        };
    if from == Sender::Client {
        strictly()?;
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|e| match e.classify() {
        serde_json::error::Category::Data => Fault::Shape(e.to_string()),
        serde_json::error::Category::Io
        | serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof => Fault::Syntax(e.to_string()),
    })?;
    let is_call = envelope.method.as_deref() == Some("tools/call");
    let looked_at = is_call && [envelope.id, envelope.params].iter().all(Option::is_some);
    if from == Sender::Caller && !looked_at {
        strictly()?;
    }
    let shape = |why: &str| Err(Fault::Shape(why.to_owned()));
    if envelope.jsonrpc != "2.0" {
        return shape("`jsonrpc` is not `2.0`");
    }
    let answers = envelope.result.is_some() || envelope.error.is_some();
    match (envelope.method, envelope.id) {
        (Some(_), _) if answers => shape("the message is both a request and an answer"),
        (Some(method), Some(id)) => Ok(Message::Request { id: id_of(id)?, method, params: envelope.params }),
        (Some(method), None) => Ok(Message::Notification { method, params: envelope.params }),
        (None, None) => shape("the message has neither `method` nor `id`"),
        (None, Some(_)) if envelope.params.is_some() => shape("an answer must not have `params`"),
        (None, Some(_)) if envelope.result.is_some() == envelope.error.is_some() => {
            shape("an answer must have either `result` or `error`")
        }
        (None, Some(id)) if id.get() == "null" => Ok(Message::Response { id: None, result: envelope.result }),
        (None, Some(id)) => Ok(Message::Response { id: Some(id_of(id)?), result: envelope.result }),
    }
}

/// Finds the id of a request that is refused without a full parse.
fn asker(text: &str) -> Option<Id> {
    let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
    // The id of an answer belongs to a request of the other side.
    envelope.method?;
    id_of(envelope.id?).ok()
}

/// Reads a tool call in one pass that checks every value, and returns its id and its parameters. Returns `None` for
/// any other line and for every fault: [`read`] then reports the reason.
pub(crate) fn call(line: &[u8]) -> Option<(Id, Value)> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct CallEnvelope<'a> {
        #[serde(borrow)]
        jsonrpc: Cow<'a, str>,
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(borrow)]
        method: Cow<'a, str>,
        params: StrictJson,
    }
    memchr::memmem::find(line, b"tools/call")?;
    let text = from_utf8(line).ok()?;
    // serde would read an array as the fields in their order.
    let object = text.trim_start().starts_with('{');
    let calling: CallEnvelope<'_> = serde_json::from_str(text).ok().filter(|_| object)?;
    let call = calling.jsonrpc == "2.0" && calling.method == "tools/call";
    Some((id_of(calling.id).ok().filter(|_| call)?, calling.params.0))
}

fn id_of(raw: &RawValue) -> Result<Id, Fault> {
    let raw = raw.get();
    let id = if raw.starts_with('"') {
        serde_json::from_str(raw).map(Id::Text)
    } else {
        serde_json::from_str(raw).map(Id::Number)
    };
    id.map_err(|_| Fault::Shape("`id` must be an integer or a string".to_owned()))
}

#[cfg(test)]
#[path = "message/tests.rs"]
mod tests;
