//! Base64 with padding, for binary content in JSON.
//!
//! Decoding accepts only the canonical form, so no two texts decode to the same bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Encodes bytes as text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes a text. Returns `None` if it is not canonical base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
#[path = "base64/tests.rs"]
mod tests;
