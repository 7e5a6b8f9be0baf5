//! Tests which texts are equal to a reader that ignores case.

use super::folded;

#[test]
fn letters_that_some_readers_confuse_are_folded() {
    for (one, other) in
        [("table", "TaBLE"), ("arguments", "argument\u{17f}"), ("key", "\u{212a}EY"), ("é", "É")]
    {
        assert_eq!(folded(one), folded(other), "{one} {other}");
    }
    for (one, other) in [("table", "tables"), ("a", "\u{430}"), ("a", "á")] {
        assert_ne!(folded(one), folded(other), "{one} {other}");
    }
}
