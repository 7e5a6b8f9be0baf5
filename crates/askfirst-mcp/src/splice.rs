//! Replaces names and ids in a message, and leaves every other byte unchanged.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct WithId<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
}

#[derive(Deserialize)]
struct WithParams<'a> {
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow, rename = "ref")]
    of: Option<Reference<'a>>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Reference<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
}

/// Replaces the id of a message.
pub(crate) fn with_id(line: &[u8], id: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    let found: WithId<'_> = serde_json::from_str(text).ok()?;
    replaced(text, found.id, id)
}

/// Replaces `params.name` of a message.
pub(crate) fn with_name(line: &[u8], name: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    let found: WithParams<'_> = serde_json::from_str(text).ok()?;
    replaced(text, found.params.name?, &Value::from(name).to_string())
}

/// Replaces `params.ref.name` of a message.
pub(crate) fn with_ref_name(line: &[u8], name: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    let found: WithParams<'_> = serde_json::from_str(text).ok()?;
    replaced(text, found.params.of?.name?, &Value::from(name).to_string())
}

/// Replaces `params._meta` of a message, if the message has one.
pub(crate) fn with_meta(line: &[u8], meta: &Value) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    let found: WithParams<'_> = serde_json::from_str(text).ok()?;
    match found.params.meta {
        Some(old) => replaced(text, old, &meta.to_string()),
        None => Some(line.to_vec()),
    }
}

/// Replaces a raw value. It is a slice of the text that it was read from, so its address gives its position.
fn replaced(text: &str, old: &RawValue, new: &str) -> Option<Vec<u8>> {
    let start = (old.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let (before, rest) = text.split_at_checked(start)?;
    let after = rest.strip_prefix(old.get())?;
    Some([before.as_bytes(), new.as_bytes(), after.as_bytes()].concat())
}

#[cfg(test)]
#[path = "splice/tests.rs"]
mod tests;
