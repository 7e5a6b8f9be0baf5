//! The checks of the fuzzer, on random streams of typical pieces.

use serde_json::Value;

use super::*;

const PIECES: [&str; 24] = [
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "data:",
    "data: ",
    "id: 1",
    "event: message",
    "event: x",
    "retry: 5",
    ":",
    " ",
    "\u{feff}",
    "{",
    "}",
    "\"jsonrpc\":\"2.0\"",
    ",",
    "\"id\":1",
    "\"method\":\"tools/call\"",
    "\"METHOD\":\"x\"",
    "\"params\":{}",
    "[",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    "\"result\":{}",
];

/// A generator with the same numbers in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

#[test]
fn stream_is_read_the_same_however_it_is_cut() {
    let mut dice = Dice(7);
    let mut messages = 0;
    for _ in 0..20_000 {
        let count = dice.throw(14);
        let text: String = (0..count).map(|_| PIECES[dice.throw(PIECES.len())]).collect();
        let bytes = text.as_bytes();
        let at = dice.throw(bytes.len() + 1);
        let (one, other) = bytes.split_at(at);
        assert_eq!(lines(&[one, other]), lines(&[bytes]), "{text:?}");
        let whole = events(&[bytes]).unwrap();
        assert_eq!(events(&[one, other]).unwrap(), whole, "{text:?}");
        for event in &whole {
            let again = events(&[b"\n\n", &event.changed]).unwrap();
            assert_eq!(again.last().and_then(|event| event.data.as_deref()), Some(&b"{}"[..]), "{text:?}");
            messages += usize::from(check(event.data.as_deref().unwrap_or_default()));
        }
        let raw: Vec<u8> = whole.into_iter().flat_map(|event| event.raw).collect();
        assert!(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).starts_with(&raw), "{text:?}");
        messages += lines(&[bytes]).unwrap().iter().filter(|line| check(line)).count();
    }
    assert!(messages > 100, "{messages}: some of it must be messages");
}

/// Whether the bytes are a message. A less strict reader must then read it in the same way.
fn check(bytes: &[u8]) -> bool {
    let Ok(asks) = message(bytes) else { return false };
    let lenient: Value = serde_json::from_slice(bytes).unwrap();
    let said = lenient["method"].as_str();
    match asks {
        MessageKind::Request(method) | MessageKind::Notification(method) => {
            assert_eq!(said, Some(method.as_str()))
        }
        MessageKind::Answer => assert_eq!(said, None),
    }
    true
}
