//! Arguments with long texts as JSON, byte for byte as serde_json writes them. It looks at every byte by itself, this at
//! many at once, which takes a fraction of the time where little is escaped, and no more where much is.

use askfirst::Args;
use serde_json::Value;

/// A text of so many bytes is long.
const LONG: usize = 2 << 10;

/// So many bytes are looked at together.
const TOGETHER: usize = 32;

/// And so many at once where one of them is escaped.
const WORD: usize = 8;

/// Whether one of the arguments is a long text.
pub(super) fn is_there(args: &Args) -> bool {
    args.values().any(|value| value.as_str().is_some_and(|text| text.len() >= LONG))
}

/// Pushes arguments.
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
    let mut rest = text.as_bytes();
    loop {
        let (plain, others) = rest.split_at_checked(plain(rest)).unwrap_or((rest, &[]));
        out.extend_from_slice(plain);
        let Some((byte, others)) = others.split_first() else { break };
        escape(out, *byte);
        rest = others;
    }
    out.push(b'"');
}

/// How many bytes stand before the first that is escaped. Where lines are short, that one is near.
fn plain(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks();
    let mut at = 0;
    for word in words.iter().take(TOGETHER / WORD) {
        let first = first_escaped(*word);
        at += first;
        if first < WORD {
            return at;
        }
    }
    let rest = |at: usize| bytes.get(at..).unwrap_or_default();
    let clean = |piece: &&[u8]| !piece.iter().fold(false, |any, byte| any | is_escaped(byte));
    at += rest(at).chunks_exact(TOGETHER).take_while(clean).count() * TOGETHER;
    at + rest(at).iter().position(is_escaped).unwrap_or(rest(at).len())
}

fn is_escaped(byte: &u8) -> bool {
    *byte < 0x20 || *byte == b'"' || *byte == b'\\'
}

/// Where in a word the first byte stands that is escaped; its length if there is none. What is subtracted from a byte is
/// borrowed from those behind it, so the first that is found is right.
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
        fn it_is_written_as_serde_json_writes_it(
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
