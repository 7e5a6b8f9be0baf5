//! Tests of drawing diffs.

use proptest::prelude::*;

use super::*;

fn drawn(diff: &Diff, columns: usize) -> Vec<String> {
    (0..diff.len(columns))
        .flat_map(|at| diff.rows(at, columns))
        .map(|line| line.text().trim_end().to_owned())
        .collect()
}

const DIFF: &str = "--- a\n+++ b\n@@ -9,4 +9,5 @@\n same\n-old words here\n+new words here\n+more\n--- not a header\n last\n";

#[test]
fn diff_lines_have_numbers_and_signs() {
    let diff = Diff::new(DIFF.to_owned());
    assert_eq!(
        drawn(&diff, 80),
        [
            "--- a",
            "+++ b",
            "@@ -9,4 +9,5 @@",
            " 9  9   same",
            "10    - old words here",
            "   10 + new words here",
            "   11 + more",
            "11    - -- not a header",
            "12 12   last",
        ]
    );
    assert_eq!(drawn(&diff, 50)[3..5], [" 9   same", "10 - old words here"]);
}

#[test]
fn changed_words_in_a_diff_get_a_tone() {
    let diff = Diff::new(DIFF.to_owned());
    let toned = |at: usize, tone: Tone| -> String {
        let rows = diff.rows(at, 80);
        rows.iter()
            .flat_map(|line| &line.pieces)
            .filter(|piece| piece.tone == tone)
            .map(|piece| piece.text.as_str())
            .collect()
    };
    assert_eq!(toned(4, Tone::RemovedWord), "old");
    assert_eq!(toned(5, Tone::AddedWord), "new");
    assert_eq!(toned(6, Tone::AddedWord), "");
}

#[test]
fn wide_screen_shows_both_sides_of_a_diff() {
    let diff = Diff::new(DIFF.to_owned());
    let wide = drawn(&diff, 119);
    let changed = wide.iter().find(|line| line.contains("old words")).unwrap();
    assert!(changed.contains("┊ 10 + new words here"), "{changed}");
    assert!(wide.iter().any(|line| line.contains("┊ 11 + more")));
    assert!(!drawn(&diff, 118).iter().any(|line| line.contains('┊')));
}

#[test]
fn diff_summary_names_changes_that_color_cannot_show() {
    let words = |diff: &str| {
        let diff = Diff::new(diff.to_owned());
        std::iter::once(diff.count()).chain(diff.words()).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(words(DIFF), "2 lines changed");
    assert_eq!(words("@@ -1 +1,3 @@\n a\n+b\n+c\n"), "2 lines added");
    assert_eq!(words("@@ -1,3 +1 @@\n-a\n-b\n c\n"), "2 lines removed");
    assert_eq!(words("@@ -1 +1,2 @@\n-a\n+b\n+c\n"), "2 lines added, 1 removed");
    assert_eq!(words("@@ -1 +1 @@\n-a\n+a\r\n"), "1 line changed; only line endings change (LF, CRLF)");
    assert_eq!(words("@@ -1 +1 @@\n-a b\n+a  b\n"), "1 line changed; only whitespace changes");
    assert_eq!(
        words("@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n"),
        "1 line changed; the newline at end of file is removed"
    );
    assert_eq!(
        words("@@ -0,0 +1 @@\n+b\n\\ No newline at end of file\n"),
        "1 line added; no newline at end of file"
    );
    assert_eq!(
        words("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"),
        "0 lines changed; file mode changes from 100644 (regular file) to 100755 (executable)"
    );
    assert_eq!(
        words("diff --git a/x b/x\nnew file mode 120000\n@@ -0,0 +1 @@\n+/etc/passwd\n"),
        "1 line added; new file: 120000 (symlink)"
    );
}

#[test]
fn second_file_starts_after_a_complete_hunk() {
    let diff = Diff::new("@@ -1 +1 @@\n-a\n+b\n--- c\n+++ d\n@@ -7 +7 @@\n-x\n+y\n".to_owned());
    let lines = drawn(&diff, 80);
    assert_eq!(lines[3..5], ["--- c", "+++ d"]);
    assert_eq!(lines[6], "7   - x");
}

#[test]
fn newline_in_a_file_name_is_replaced_in_a_diff() {
    let made = unified("a\nb", "one\ntwo\n", "one\n2\n");
    assert!(made.starts_with("--- a\u{fffd}b\n+++ a\u{fffd}b\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"), "{made}");
}

proptest! {
    #[test]
    fn any_diff_is_drawn_whole_within_the_columns(
        text in "(@@ -1,3 [+]2,3 @@\n|[-+ ]a{0,3}b{0,9}\n|[-+ ]\n|\\\\ x\n|\n|\u{1b}|漢){0,60}", columns in 20_usize..200,
    ) {
        let diff = Diff::new(text.clone());
        for at in 0..diff.len(columns) {
            for line in diff.rows(at, columns) {
                prop_assert!(width(&line.text()) + GUTTER <= columns.max(24), "{}", line.text());
            }
        }
        let letters = |text: &str| text.chars().filter(|c| "ab漢".contains(*c)).count();
        let blanks = drawn(&diff, columns).iter().filter(|line| line.contains("blank lines")).count();
        let shown: usize = drawn(&diff, columns).iter().map(|line| letters(line)).sum();
        // `blank lines` contains two of these letters, and unchanged lines are on both sides.
        prop_assert!(shown - blanks * 2 >= letters(&text) || diff.has_sides(columns));
        if diff.has_sides(columns) {
            prop_assert!(shown >= letters(&text));
        }
    }
}
