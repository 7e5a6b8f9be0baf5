//! Tests of patches that apply and patches that do not.

use proptest::prelude::*;
use similar::TextDiff;

use super::*;

fn patch(old: &str, text: &str) -> Result<String, EditError> {
    apply(old, &TextEdit::Patch(text.to_owned()))
}

#[test]
fn patch_is_applied_line_by_line() {
    let old = "a\nb\nc\nd\ne\n";
    let text = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -4,2 +4,3 @@\n d\n+x\n e\n";
    assert_eq!(patch(old, text).unwrap(), "A\nb\nc\nd\nx\ne\n");
    assert_eq!(patch(old, "@@ -0,0 +1 @@\n+top\n").unwrap(), "top\na\nb\nc\nd\ne\n");
    assert_eq!(patch(old, "@@ -5,0 +6 @@\n+end").unwrap(), "a\nb\nc\nd\ne\nend\n");
    assert_eq!(patch("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n").unwrap(), "b\n");
    assert_eq!(patch("a\r\nb\r\n", "@@ -2 +2 @@\n-b\r\n+c\r\n").unwrap(), "a\r\nc\r\n");
}

#[test]
fn patch_that_does_not_apply_is_rejected() {
    let old = "a\nb\nc\n";
    for (text, why) in [
        ("", EditError::NoHunks),
        ("hello", EditError::NotADiff(1)),
        ("@@ -1 +1 @@\n-x\n+y\n", EditError::Mismatch { at: 2, line: 1 }),
        ("@@ -2 +2 @@\n-a\n+y\n", EditError::Mismatch { at: 2, line: 2 }),
        ("@@ -9 +9 @@\n-a\n+y\n", EditError::Order(1)),
        ("@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n", EditError::Order(4)),
        ("@@ -1,2 +1 @@\n-a\n+y\n", EditError::WrongCount(1)),
        ("@@ -1 +1,9 @@\n-a\n+y\n", EditError::WrongCount(1)),
        ("@@ -1 +1 @@\n-a\n+y\nrest\n", EditError::NotADiff(4)),
        ("@@ -18446744073709551616 +1 @@\n", EditError::NotADiff(1)),
        ("--- a\n+++ a\n--- b\n+++ b\n@@ -1 +1 @@\n-a\n+A\n", EditError::SeveralFiles),
        ("--- a\n+++ a\n@@ -1 +1 @@\n-a\n+A\n--- b\n", EditError::SeveralFiles),
    ] {
        assert_eq!(patch(old, text), Err(why), "{text}");
    }
}

proptest! {
    #[test]
    fn shown_diff_applies_as_a_patch(
        old in prop::collection::vec("[ab\\-+@ ]{0,2}", 0..12), new in prop::collection::vec("[ab\\-+@ ]{0,2}", 0..12),
        old_end in prop::bool::ANY, new_end in prop::bool::ANY,
    ) {
        let text = |lines: &[String], end: bool| {
            let text = lines.join("\n");
            if end && !text.is_empty() { text + "\n" } else { text }
        };
        let (old, new) = (text(&old, old_end), text(&new, new_end));
        prop_assume!(old != new);
        let diff = TextDiff::from_lines(old.as_str(), new.as_str()).unified_diff().header("a", "b").to_string();
        prop_assert_eq!(patch(&old, &diff), Ok(new), "{}", diff);
    }

    #[test]
    fn arbitrary_patch_never_panics(old in "[ab\n]{0,20}", text in "[@ab +\\-,0-9\n\\\\]{0,60}") {
        let _ = patch(&old, &text);
    }
}
