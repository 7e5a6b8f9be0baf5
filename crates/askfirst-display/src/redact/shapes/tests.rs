//! Tests that the quick search and the slow search agree.

use super::*;

fn slow(text: &[u8]) -> bool {
    GATE.as_ref().unwrap().search.is_match(text)
}

#[test]
fn quick_search_finds_every_word_at_any_position() {
    assert!(cfg!(not(target_arch = "x86_64")) || QUICK.is_some(), "the quick search is not available");
    for word in words() {
        for before in (0..40).chain(PIECE - 40..PIECE + 40).chain([2 * PIECE - 5, 3 * PIECE]) {
            for after in [0, 1, 100, PIECE] {
                let text = [&vec![b'.'; before], word.to_uppercase().as_bytes(), &vec![b'.'; after]].concat();
                assert!(any(&text), "{word} after {before} bytes and before {after}");
            }
        }
    }
    let clean = "a line of text\n".repeat(1000);
    assert!(!slow(clean.as_bytes()) && !any(clean.as_bytes()));
}

proptest::proptest! {
    #[test]
    fn quick_search_agrees_with_the_slow_search(text in r"[a-z_:/. -]{0,300}|(?s:.){0,100}") {
        proptest::prop_assert_eq!(any(text.as_bytes()), slow(text.as_bytes()));
    }
}
