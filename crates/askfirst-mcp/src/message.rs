//! One JSON-RPC message, read strictly: a closed set of keys, no key twice, one document, plain ids.

use std::borrow::Cow;

use askfirst::json::{JsonFault, Strictly};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use simdutf8::compat::from_utf8;

/// What a message is. It borrows from the line that it stands in.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Wants an answer.
    Request {
        /// Its id.
        id: Id,
        /// What is wanted.
        method: Cow<'a, str>,
        /// With what, as it is written.
        params: Option<&'a RawValue>,
    },
    /// Wants none.
    Notification {
        /// What is told.
        method: Cow<'a, str>,
        /// With what, as it is written.
        params: Option<&'a RawValue>,
    },
    /// Answers a request.
    Response {
        /// The id of the request; none where the other side could not read it.
        id: Option<Id>,
        /// The result, as it is written; none for an error.
        result: Option<&'a RawValue>,
    },
}

/// An id: a whole number or a text. `1` and `1.0` would be the same to some and not to others, so the latter is none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Id {
    Number(i64),
    Text(String),
}

impl Id {
    /// As JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        match self {
            Self::Number(number) => (*number).into(),
            Self::Text(text) => text.as_str().into(),
        }
    }
}

/// Why a line is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// It is not one JSON document.
    #[error("not one JSON document: {0}")]
    Syntax(String),
    /// It is JSON, but no message.
    #[error("not a JSON-RPC message: {0}")]
    Shape(String),
    /// There is more in it than is looked at.
    #[error("the message is too large: {why}")]
    Large {
        /// Who waits for an answer.
        id: Option<Id>,
        /// How much is too much.
        why: JsonFault,
    },
}

impl Fault {
    /// What is wrong with the values of a message; `id` says who waits for an answer, where that can be told.
    pub(crate) fn of(why: JsonFault, id: impl FnOnce() -> Option<Id>) -> Self {
        match why {
            JsonFault::Garbled(why) => Self::Syntax(why),
            JsonFault::TooMany => Self::Large { id: id(), why },
        }
    }

    /// The JSON-RPC code.
    pub(crate) fn code(&self) -> i32 {
        match self {
            Self::Syntax(_) => -32700,
            Self::Shape(_) | Self::Large { .. } => -32600,
        }
    }

    /// Who is told.
    pub(crate) fn id(&self) -> Option<&Id> {
        match self {
            Self::Large { id, .. } => id.as_ref(),
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

/// A key that is there counts as given, also with `null`.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Whose messages are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// The client's, which may be driven by an agent: every value is looked at.
    Client,
    /// The client's, by whoever looks at every value in the parameters of a call by itself.
    Caller,
    /// The server's: results may be large, so only the envelope is.
    Server,
}

/// Reads a line.
pub(crate) fn read(line: &[u8], from: From) -> Result<Message<'_>, Fault> {
    let text = from_utf8(line).map_err(|e| Fault::Syntax(e.to_string()))?;
    if text.trim_start().starts_with('[') {
        return Err(Fault::Shape("batches are not taken".to_owned()));
    }
    let strictly = || askfirst::json::parse(line).map(drop).map_err(|e| Fault::of(e, || asker(text)));
    if from == From::Client {
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
    if from == From::Caller && !looked_at {
        strictly()?;
    }
    let shape = |why: &str| Err(Fault::Shape(why.to_owned()));
    if envelope.jsonrpc != "2.0" {
        return shape("`jsonrpc` is not `2.0`");
    }
    let answers = envelope.result.is_some() || envelope.error.is_some();
    match (envelope.method, envelope.id) {
        (Some(_), _) if answers => shape("it asks and answers at once"),
        (Some(method), Some(id)) => Ok(Message::Request { id: id_of(id)?, method, params: envelope.params }),
        (Some(method), None) => Ok(Message::Notification { method, params: envelope.params }),
        (None, None) => shape("it has neither `method` nor `id`"),
        (None, Some(_)) if envelope.params.is_some() => shape("an answer has no `params`"),
        (None, Some(_)) if envelope.result.is_some() == envelope.error.is_some() => {
            shape("an answer has either `result` or `error`")
        }
        (None, Some(id)) if id.get() == "null" => Ok(Message::Response { id: None, result: envelope.result }),
        (None, Some(id)) => Ok(Message::Response { id: Some(id_of(id)?), result: envelope.result }),
    }
}

/// The id of a request that is not looked at any further.
fn asker(text: &str) -> Option<Id> {
    let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
    // An answer has the id of somebody else's request.
    envelope.method?;
    id_of(envelope.id?).ok()
}

/// Reads a line that calls a tool, in one pass in which every value is looked at: its id and its parameters. Nothing, if
/// it is anything else or has a fault: [`read`] says what.
pub(crate) fn call(line: &[u8]) -> Option<(Id, Value)> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Calling<'a> {
        #[serde(borrow)]
        jsonrpc: Cow<'a, str>,
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(borrow)]
        method: Cow<'a, str>,
        params: Strictly,
    }
    memchr::memmem::find(line, b"tools/call")?;
    let text = from_utf8(line).ok()?;
    // A list of values would be taken for the fields in their order.
    let object = text.trim_start().starts_with('{');
    let calling: Calling<'_> = serde_json::from_str(text).ok().filter(|_| object)?;
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
    id.map_err(|_| Fault::Shape("an `id` is a whole number or a text".to_owned()))
}

#[cfg(test)]
#[path = "message/tests.rs"]
mod tests;
