//! Sends bytes through the gateway. Lines, events and messages do not depend on how the bytes are split. The gateway
//! reads the same message as a less strict reader, and nothing panics.
#![no_main]

use arbitrary::Arbitrary;
use askfirst_mcp::framing::{MessageKind, events, lines, message};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    bytes: &'a [u8],
    cuts: [u16; 3],
}

fuzz_target!(|input: Input<'_>| {
    let Input { bytes, mut cuts } = input;
    cuts.sort_unstable();
    let mut pieces = Vec::new();
    let mut rest = bytes;
    let mut taken = 0;
    for cut in cuts {
        let cut = (usize::from(cut) % (bytes.len() + 1)).saturating_sub(taken).min(rest.len());
        let (piece, left) = rest.split_at(cut);
        pieces.push(piece);
        (rest, taken) = (left, taken + cut);
    }
    pieces.push(rest);

    let whole = lines(&[bytes]);
    assert_eq!(lines(&pieces), whole, "lines");
    for line in whole.iter().flatten() {
        assert!(!line.contains(&b'\n'));
        check(line);
    }

    let whole = events(&[bytes]);
    assert_eq!(events(&pieces), whole, "events");
    let mut raw = Vec::new();
    for event in whole.iter().flatten() {
        raw.extend_from_slice(&event.raw);
        let again = events(&[b"\n\n", &event.changed]).expect("short");
        assert_eq!(again.last().and_then(|event| event.data.as_deref()), Some(&b"{}"[..]), "changed");
        assert_eq!(again.iter().filter(|event| event.data.is_some()).count(), 1, "one event");
        check(event.data.as_deref().unwrap_or_default());
    }
    let plain = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    assert!(plain.starts_with(&raw), "events are the stream, cut");
    check(bytes);
});

/// Checks that a less strict reader reads the same message as the gateway.
fn check(bytes: &[u8]) {
    let Ok(asks) = message(bytes) else { return };
    let lenient: Value = serde_json::from_slice(bytes).expect("a message is JSON");
    let said = lenient.get("method").and_then(Value::as_str);
    match asks {
        MessageKind::Request(method) => {
            assert_eq!(said, Some(&*method));
            assert!(lenient.get("id").is_some_and(|id| id.is_i64() || id.is_string()));
        }
        MessageKind::Notification(method) => {
            assert_eq!(said, Some(&*method));
            assert!(lenient.get("id").is_none());
        }
        MessageKind::Answer => assert_eq!(said, None),
    }
    let object = lenient.as_object().expect("a message is an object");
    let known = ["jsonrpc", "id", "method", "params", "result", "error"];
    assert!(object.keys().all(|key| known.contains(&key.as_str())), "no key that looks like another");
}
