//! Headers that mirror the body. A request whose headers and body disagree is ambiguous, so it is refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::message::Message;

/// The first revision without sessions, in which headers mirror the body.
const STATELESS: &str = "2026-07-28";
/// The depth in a schema down to which properties with a header are searched.
const MAX_DEPTH: usize = 16;

pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(crate) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const PARAM: &str = "mcp-param-";

/// The error code for headers that disagree with the body.
pub(crate) const MISMATCH: i32 = -32020;

/// The reason why headers and body disagree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Mismatch {
    /// A header that may occur only once.
    #[error("duplicate header `{0}`")]
    Twice(HeaderName),
    /// A header that is not valid text.
    #[error("invalid header `{0}`")]
    Garbled(HeaderName),
    /// A header that is required.
    #[error("missing header `{0}`")]
    Missing(HeaderName),
    /// A header whose value differs from the body.
    #[error("the header `{0}` differs from the body")]
    Differs(HeaderName),
}

/// The only value of a header.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Mismatch> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Mismatch::Twice(name.clone()));
    }
    value.to_str().map(Some).map_err(|_| Mismatch::Garbled(name.clone()))
}

/// Whether a revision has no sessions.
pub(crate) fn is_stateless(version: Option<&str>) -> bool {
    version.is_some_and(|version| version >= STATELESS)
}

/// Checks the headers of a message. The headers of arguments are checked later, when the tool is known.
pub(crate) fn check(headers: &HeaderMap, message: &Message<'_>) -> Result<(), Mismatch> {
    let version = only(headers, &VERSION)?;
    only(headers, &SESSION)?;
    only(headers, &LAST_EVENT)?;
    let (method, name) = (only(headers, &METHOD)?, only(headers, &NAME)?);
    let (body_method, params) = match message {
        Message::Request { method, params, .. } | Message::Notification { method, params } => {
            (Some(&**method), *params)
        }
        Message::Response { .. } => (None, None),
    };
    let params: Option<Value> = params.and_then(|params| serde_json::from_str(params.get()).ok());
    if let Some(said) = version_in(params.as_ref()) {
        match version {
            None => return Err(Mismatch::Missing(VERSION)),
            Some(version) if version != said => return Err(Mismatch::Differs(VERSION)),
            Some(_) => {}
        }
    }
    let stateless = is_stateless(version) && body_method.is_some();
    match method {
        None if stateless => return Err(Mismatch::Missing(METHOD)),
        Some(said) if Some(said) != body_method => return Err(Mismatch::Differs(METHOD)),
        Some(_) | None => {}
    }
    let expected = body_method.and_then(|method| name_in(method, params.as_ref()));
    match (name, expected) {
        (None, Some(_)) if stateless => Err(Mismatch::Missing(NAME)),
        (Some(said), Some(expected)) => {
            let said = decoded(said).ok_or(Mismatch::Garbled(NAME))?;
            if said == expected { Ok(()) } else { Err(Mismatch::Differs(NAME)) }
        }
        (None | Some(_), None) | (None, Some(_)) => Ok(()),
    }
}

/// The revision in the parameters of a request.
pub(crate) fn version_in(params: Option<&Value>) -> Option<&str> {
    version_of(params?.get("_meta")?)
}

/// The revision in the `_meta` of a request.
pub(crate) fn version_of(meta: &Value) -> Option<&str> {
    meta.get("io.modelcontextprotocol/protocolVersion")?.as_str()
}

/// The value of `Mcp-Name` for a method.
fn name_in<'a>(method: &str, params: Option<&'a Value>) -> Option<&'a str> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    params?.get(key)?.as_str()
}

/// Builds the headers for a message that came without any.
pub(crate) fn of(method: &str, params: Option<&Value>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    add(METHOD, method);
    if let Some(name) = name_in(method, params) {
        add(NAME, &encoded(name));
    }
    headers
}

/// Builds the headers for the arguments of a call, as the tool's schema defines them.
pub(crate) fn of_args(schema: &Value, args: &Map<String, Value>) -> HeaderMap {
    let mut found = HeaderMap::new();
    walk(schema, Some(args), 0, &mut found);
    found
}

/// Checks the headers that a client sent for the arguments of a call.
pub(crate) fn check_args(headers: &HeaderMap, expected: &HeaderMap) -> Result<(), Mismatch> {
    for name in headers.keys().filter(|name| name.as_str().starts_with(PARAM)) {
        let said = only(headers, name)?.and_then(decoded);
        let body = expected.get(name).and_then(|value| value.to_str().ok()).and_then(decoded);
        if said.is_none() || said != body {
            return Err(Mismatch::Differs(name.clone()));
        }
    }
    Ok(())
}

/// Replaces all headers of arguments by these.
pub(crate) fn replace_args(headers: &mut HeaderMap, expected: HeaderMap) {
    let old: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(PARAM)).cloned().collect();
    old.iter().for_each(|name| drop(headers.remove(name)));
    headers.extend(expected);
}

fn walk(schema: &Value, args: Option<&Map<String, Value>>, depth: usize, found: &mut HeaderMap) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let (Some(properties), Some(args)) = (properties, args) else { return };
    for (key, property) in properties {
        let Some(value) = args.get(key) else { continue };
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => continue,
            };
            let name = HeaderName::from_bytes(format!("{PARAM}{header}").to_lowercase().as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&encoded(&text))) {
                found.insert(name, value);
            }
        }
        if depth < MAX_DEPTH {
            walk(property, value.as_object(), depth + 1, found);
        }
    }
}

const WRAP: (&str, &str) = ("=?base64?", "?=");

fn encoded(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && text.trim() == text;
    if plain && !(text.starts_with(WRAP.0) && text.ends_with(WRAP.1)) {
        return text.to_owned();
    }
    format!("{}{}{}", WRAP.0, STANDARD.encode(text), WRAP.1)
}

fn decoded(text: &str) -> Option<String> {
    match text.strip_prefix(WRAP.0).and_then(|rest| rest.strip_suffix(WRAP.1)) {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

#[cfg(test)]
#[path = "mirror/tests.rs"]
mod tests;
