//! Arguments with long texts as JSON, byte for byte as serde_json writes them. It looks at every byte by itself, this at
//! many at once, which takes a fraction of the time where little is escaped, and no more where much is.

use askfirst::Args;
use serde_json::Value;

/// A text of so many bytes is long.
const LONG: usize = 2 << 10;

/// So many bytes are looked at together.
const TOGETHER: usize = 32;

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

/// How many bytes stand before the first that is escaped.
fn plain(bytes: &[u8]) -> usize {
    let escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let pieces = bytes.chunks_exact(TOGETHER);
    let clean = pieces.take_while(|piece| !piece.iter().fold(false, |any, byte| any | escaped(byte))).count();
    let from = clean * TOGETHER;
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(escaped).unwrap_or(rest.len())
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
