//! SHA-256 digests, written as `sha256:` and hex digits.

mod content;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::json::in_order;
use crate::presentation::ApprovalPresentation;
use crate::request::{ApprovalRequest, RequestSubject};

pub use content::ContentDigest;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest of several parts. It includes their lengths, so moving a boundary changes the digest.
    #[must_use]
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Returns the digest of the concatenation of several parts.
    #[must_use]
    pub fn of_joined<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        parts.into_iter().for_each(|part| hasher.update(part));
        Self(hasher.finalize().into())
    }

    /// Returns the 32 bytes of the digest.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the 64 hex digits as ASCII bytes.
    #[must_use]
    pub fn hex(&self) -> [u8; 64] {
        hex(&self.0)
    }

    /// Writes the digest as text into a buffer on the stack.
    fn to_text(self) -> DigestText {
        let mut text = [0; TEXT_LENGTH];
        text.iter_mut().zip(PREFIX.bytes().chain(self.hex())).for_each(|(to, from)| *to = from);
        DigestText(text)
    }

    /// Returns the first eight hex digits, for display.
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
const TEXT_LENGTH: usize = PREFIX.len() + 64;

/// A digest as text, without a heap allocation.
struct DigestText([u8; TEXT_LENGTH]);

impl DigestText {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Hashes a sequence of values without copying them into one buffer.
///
/// It hashes the kind and the length of each value too, so two different sequences never have the same input.
#[derive(Default)]
struct ValueHasher(Sha256);

impl ValueHasher {
    /// Adds a short value as JSON.
    fn short(&mut self, value: &impl Serialize) {
        match serde_json::to_vec(value) {
            Ok(json) => self.part(b'j', &json),
            Err(_) => self.part(b'!', &[]),
        }
    }

    /// Adds a text of any length.
    fn text(&mut self, text: &str) {
        self.part(b's', text.as_bytes());
    }

    /// Adds a JSON value with everything inside it.
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

    /// Adds a JSON object with everything inside it.
    fn map(&mut self, map: &Map<String, Value>) {
        self.head(b'o', map.len());
        for (key, value) in in_order(map) {
            self.text(key);
            self.value(value);
        }
    }

    /// Returns the digest of everything that was added.
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

/// Returns the digest of every field of a request as it is shown.
pub(crate) fn digest_of(request: &ApprovalRequest) -> Digest {
    // The pattern names every field, so a new field does not compile until it is added here.
    let ApprovalRequest {
        call_id,
        id: _,
        tool_name,
        description,
        action,
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
        subject,
        approval,
    } = request;
    let mut digest = ValueHasher::default();
    digest.short(&(call_id, tool_name, action, same, facts, group_id, caller, risk));
    digest.short(&(definition, patterns, deadline, exclude_keys, approval));
    if *subject != RequestSubject::Call {
        digest.short(&(subject,));
    }
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
        f.write_str(self.to_text().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error for a text that is not a digest.
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
        serializer.serialize_str(self.to_text().as_str())
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
