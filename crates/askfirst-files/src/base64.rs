//! Base64 with padding, as JSON carries bytes. Anything that is not exactly that is refused, so that no two texts mean
//! the same bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bytes as text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Text as bytes. Nothing if it is not base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
#[path = "base64/tests.rs"]
mod tests;
