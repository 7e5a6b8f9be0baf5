//! Base64 with padding, as JSON carries bytes. Anything that is not exactly that is refused.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let letter = |bits: u32| ALPHABET.get((bits & 63) as usize).map_or('A', |byte| char::from(*byte));
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| chunk.get(at).map_or(0, |byte| u32::from(*byte));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        text.push(letter(bits >> 18));
        text.push(letter(bits >> 12));
        text.push(if chunk.len() > 1 { letter(bits >> 6) } else { '=' });
        text.push(if chunk.len() > 2 { letter(bits) } else { '=' });
    }
    text
}

/// Text as bytes. Nothing if it is not base64.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let body = text.len() - padding;
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in text.bytes().take(body) {
        bits = bits << 6 | value(byte)?;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 255) as u8);
        }
    }
    // Bits that are left over must be nothing, or two texts would mean the same bytes.
    (bits & ((1 << held) - 1) == 0).then_some(bytes)
}

fn value(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
#[path = "base64/tests.rs"]
mod tests;
