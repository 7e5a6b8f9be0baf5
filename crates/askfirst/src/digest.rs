//! SHA-256 digests, written as `sha256:` and hex.

mod content;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::json::in_order;
use crate::presentation::ApprovalPresentation;
use crate::request::ApprovalRequest;

pub use content::ContentDigest;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of several parts. Lengths are mixed in, so that moving a boundary changes it.
    #[must_use]
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// The digest of what several parts are when they are put together.
    #[must_use]
    pub fn of_joined<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        parts.into_iter().for_each(|part| hasher.update(part));
        Self(hasher.finalize().into())
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hex digits.
    #[must_use]
    pub fn hex(&self) -> [u8; 64] {
        hex(&self.0)
    }

    /// As it is written, without asking for memory.
    fn written(&self) -> Written {
        let mut written = [0; WRITTEN];
        written.iter_mut().zip(PREFIX.bytes().chain(self.hex())).for_each(|(to, from)| *to = from);
        Written(written)
    }

    /// The first eight hex digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().skip(PREFIX.len()).take(8).collect()
    }
}

fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    let mut hex = [b'0'; 64];
    for (pair, byte) in hex.chunks_exact_mut(2).zip(bytes) {
        let digit = |half: u8| half + if half < 10 { b'0' } else { b'a' - 10 };
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    hex
}

const PREFIX: &str = "sha256:";
const WRITTEN: usize = PREFIX.len() + 64;

struct Written([u8; WRITTEN]);

impl Written {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Takes the digest of many things one after another, without putting them together first. Each goes in with what it
/// is and how long it is, so that no two rows of things have one digest.
#[derive(Default)]
struct Digesting(Sha256);

impl Digesting {
    /// Something that is short, as JSON.
    fn short(&mut self, thing: &impl Serialize) {
        match serde_json::to_vec(thing) {
            Ok(json) => self.part(b'j', &json),
            Err(_) => self.part(b'!', &[]),
        }
    }

    /// A text of any length, as it is.
    fn text(&mut self, text: &str) {
        self.part(b's', text.as_bytes());
    }

    /// A value with all that is in it.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.short(value),
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.head(b'a', items.len());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(map) => self.map(map),
        }
    }

    /// A map with all that is in it.
    fn map(&mut self, map: &Map<String, Value>) {
        self.head(b'o', map.len());
        for (key, value) in in_order(map) {
            self.text(key);
            self.value(value);
        }
    }

    /// The digest of all that went in.
    fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }

    fn part(&mut self, kind: u8, bytes: &[u8]) {
        self.head(kind, bytes.len());
        self.0.update(bytes);
    }

    fn head(&mut self, kind: u8, len: usize) {
        self.0.update([kind]);
        self.0.update((len as u64).to_le_bytes());
    }
}

/// The digest of a request as it is shown: all of it.
pub(crate) fn digest_of(request: &ApprovalRequest) -> Digest {
    // Taken apart, so that no field can be forgotten.
    let ApprovalRequest {
        call_id,
        id: _,
        tool_name,
        description,
        args,
        payload,
        same,
        facts,
        presentation,
        group_id,
        caller,
        risk,
        definition,
        patterns,
        deadline,
        exclude_keys,
        approval,
    } = request;
    let mut digest = Digesting::default();
    digest.short(&(call_id, tool_name, same, facts, group_id, caller, risk));
    digest.short(&(definition, patterns, deadline, exclude_keys, approval));
    digest.text(description);
    digest.map(args);
    digest.value(payload);
    if let Some(ApprovalPresentation { kind, content, language, metadata }) = presentation {
        digest.short(&(kind, language));
        digest.text(content);
        digest.map(metadata);
    }
    digest.finish()
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.written().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected `sha256:` and 64 hex digits")]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let hex = text.strip_prefix(PREFIX).ok_or(NotADigest)?;
        if hex.len() != 64 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(NotADigest);
        }
        let mut bytes = [0; 32];
        for (i, byte) in bytes.iter_mut().enumerate() {
            let pair = hex.get(i * 2..i * 2 + 2).ok_or(NotADigest)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NotADigest)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.written().as_str())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "digest/tests.rs"]
mod tests;
