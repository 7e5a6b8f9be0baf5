//! Tests of decoding keys.

use proptest::prelude::*;

use super::*;

fn keys(bytes: &[u8]) -> Vec<Input> {
    let mut decoder = Decoder::default();
    let mut found = decoder.feed(bytes);
    found.extend(decoder.give_up());
    found
}

#[test]
fn single_bytes_decode_to_their_keys() {
    assert_eq!(keys(b"y"), [Input::Key(Key::Char('y'))]);
    assert_eq!(keys("ä".as_bytes()), [Input::Key(Key::Char('ä'))]);
    assert_eq!(keys(b"\r"), [Input::Key(Key::Enter)]);
    assert_eq!(keys(b"\n"), [Input::Key(Key::Enter)]);
    assert_eq!(keys(b"\x7f"), [Input::Key(Key::Backspace)]);
    assert_eq!(keys(b"\x03"), [Input::Key(Key::Interrupt)]);
    assert_eq!(keys(b"\x04"), [Input::Key(Key::EndOfInput)]);
    assert_eq!(keys(b"\x1b"), [Input::Key(Key::Escape)]);
    assert_eq!(keys(b"\t"), [Input::Key(Key::Tab)]);
}

#[test]
fn unknown_sequence_is_one_other_key() {
    for sequence in [
        &b"\x1b[1;5C"[..],
        b"\x1b[15~",
        b"\x1bOP",
        b"\x1by",
        b"\x1b]11;rgb:y\x07",
        b"\x1bP1$r0y\x1b\\",
        b"\x1b[?62;y",
        b"\x1b[yyy",
    ] {
        let found = keys(sequence);
        assert_eq!(found.first(), Some(&Input::Key(Key::Other)), "{sequence:?}");
    }
    assert_eq!(keys(b"\x1b[A").len(), 1);
    assert_eq!(keys(b"\x1b]11;y\x07").len(), 1);
}

#[test]
fn sequence_in_parts_is_one_key() {
    let mut decoder = Decoder::default();
    assert!(decoder.feed(b"\x1b").is_empty());
    assert!(decoder.patience().is_some());
    assert!(decoder.feed(b"[").is_empty());
    assert_eq!(decoder.feed(b"A"), [Input::Key(Key::Up)]);
    assert_eq!(decoder.patience(), None);
    assert!(decoder.feed(b"\xc3").is_empty());
    assert_eq!(decoder.feed(b"\xa4"), [Input::Key(Key::Char('ä'))]);
}

#[test]
fn pasted_text_is_not_a_key() {
    assert_eq!(keys(b"\x1b[200~y\x1b[201~"), [Input::Paste("y".into())]);
    assert_eq!(keys(b"\x1b[200~y"), [Input::Paste("y".into())]);
    let mut decoder = Decoder::default();
    assert!(decoder.feed(b"\x1b[200~y").is_empty());
    assert!(decoder.feed(b"\x1b[20").is_empty());
    assert_eq!(decoder.feed(b"1~n"), [Input::Paste("y".into()), Input::Key(Key::Char('n'))]);
}

proptest! {
    #[test]
    fn any_bytes_in_any_parts_are_decoded(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..12)) {
        let mut decoder = Decoder::default();
        let fed: usize = parts.iter().map(|part| decoder.feed(part).len()).sum();
        let left = decoder.give_up().len();
        prop_assert!(fed + left <= parts.iter().map(Vec::len).sum());
        prop_assert_eq!(decoder.patience(), None);
    }
}
