//! Writes arguments with long texts as JSON, byte for byte like serde_json.
//!
//! serde_json checks each byte on its own. This module checks many at once. It is much faster for texts with few
//! escapes, and not slower for others.

use askfirst::Args;
use serde_json::Value;

/// The minimum length of a long text, in bytes.
const LONG: usize = 2 << 10;

/// How many bytes are checked together.
const TOGETHER: usize = 32;

/// How many bytes are checked together near an escaped byte.
const WORD: usize = 8;

/// Returns whether one of the arguments is a long text.
pub(super) fn is_there(args: &Args) -> bool {
    args.values().any(|value| value.as_str().is_some_and(|text| text.len() >= LONG))
}

/// Appends arguments as JSON.
pub(super) fn push(out: &mut Vec<u8>, args: &Args) -> serde_json::Result<()> {
    out.push(b'{');
    for (at, (key, value)) in args.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, key)?;
        out.push(b':');
        match value {
            Value::String(text) => push_text(out, text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                serde_json::to_writer(&mut *out, value)?;
            }
        }
    }
    out.push(b'}');
    Ok(())
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = push_words(out, text.as_bytes());
    while rest.len() >= WORD {
        // No escaped byte is near, so there may be none for a while.
        let clean = |piece: &&[u8]| !piece.iter().fold(false, |any, byte| any | is_escaped(byte));
        let plain = rest.chunks_exact(TOGETHER).take_while(clean).count() * TOGETHER;
        let (plain, others) = rest.split_at_checked(plain).unwrap_or((rest, &[]));
        out.extend_from_slice(plain);
        rest = push_words(out, others);
    }
    for byte in rest {
        if is_escaped(byte) { escape(out, *byte) } else { out.push(*byte) }
    }
    out.push(b'"');
}

/// Appends word by word until several words in a row needed no escape. Returns the rest.
fn push_words<'a>(out: &mut Vec<u8>, text: &'a [u8]) -> &'a [u8] {
    let (mut rest, mut clean) = (text, 0);
    while clean < TOGETHER
        && let Some((word, others)) = rest.split_first_chunk()
    {
        let (first, at) = (first_escaped(*word), out.len());
        // Copying the whole word and truncating it is faster than copying the right length.
        out.extend_from_slice(word);
        match word.get(first) {
            None => (rest, clean) = (others, clean + WORD),
            Some(byte) => {
                out.truncate(at + first);
                escape(out, *byte);
                (rest, clean) = (rest.get(first + 1..).unwrap_or_default(), 0);
            }
        }
    }
    rest
}

fn is_escaped(byte: &u8) -> bool {
    *byte < 0x20 || *byte == b'"' || *byte == b'\\'
}

/// Returns the index of the first byte in a word that must be escaped, or the length of the word.
/// A subtraction borrows only from later bytes, so the first match is correct.
fn first_escaped(word: [u8; WORD]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    let word = u64::from_le_bytes(word);
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & (ONES << 7);
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let found = below(word, 0x20) | is(b'"') | is(b'\\');
    (found.trailing_zeros() / 8) as usize
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            let digit = |half: u8| half + if half < 10 { b'0' } else { b'a' - 10 };
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn long_value_is_written_as_serde_json_writes_it(
            text in r#"(?s:[\x00-\x7f]{0,80}|.{0,80}|[a-z]{30,70}["\\\n][a-z]{0,40})"#,
            key in "(?s:.{0,6})",
            n in proptest::num::i64::ANY,
        ) {
            let args = Args::from_iter([
                (key, Value::from(text.repeat(3))),
                ("other".to_owned(), serde_json::json!([n, text, null, {"a": true}])),
                ("empty".to_owned(), Value::from("")),
            ]);
            let mut out = Vec::new();
            push(&mut out, &args).unwrap();
            proptest::prop_assert_eq!(out, serde_json::to_vec(&args).unwrap());
        }
    }
}
