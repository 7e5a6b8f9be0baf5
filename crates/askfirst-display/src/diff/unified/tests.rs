//! Tests of comparing two texts line by line.

use proptest::prelude::*;

use super::*;

/// The old text (`-`) or the new text (`+`), rebuilt from a diff and the old text.
fn side(diff: &str, before: &str, sign: char) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let (mut text, mut done) = (String::new(), 0);
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("@@ -") {
            let (start, count) = rest.split_once(" +").unwrap().0.split_once(',').unwrap_or((rest, "1"));
            let start: usize = start.split(' ').next().unwrap().parse().unwrap();
            let first = if count == "0" { start } else { start - 1 };
            old[done..first].iter().for_each(|line| text.push_str(line));
            done = first;
            continue;
        }
        let (own, rest) = line.split_at(1);
        let has_no_newline = lines.next_if(|next| next.starts_with('\\')).is_some();
        let rest = if has_no_newline { rest.strip_suffix('\n').unwrap() } else { rest };
        if own == " " || own == sign.to_string() {
            text.push_str(rest);
        }
        if own != "+" {
            assert_eq!(old[done], rest);
            done += 1;
        }
    }
    old[done..].iter().for_each(|line| text.push_str(line));
    text
}

#[test]
fn changes_are_shown_with_three_lines_of_context() {
    let before: String = (1..=20).map(|n| format!("{n}\n")).collect();
    let after = before.replace("\n5\n", "\nfive\n").replace("\n8\n", "\n").replace("19\n20\n", "19\n20\n21");
    assert_eq!(
        unified("n", &before, &after),
        "--- n\n+++ n\n@@ -2,10 +2,9 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n-8\n 9\n 10\n 11\n\
         @@ -18,3 +17,4 @@\n 18\n 19\n 20\n+21\n\\ No newline at end of file\n"
    );
}

#[test]
fn carriage_return_does_not_end_a_line() {
    assert_eq!(unified("n", "a\rb\n", "a\rc\n"), "--- n\n+++ n\n@@ -1 +1 @@\n-a\rb\n+a\rc\n");
}

#[test]
fn empty_and_equal_texts_give_a_valid_diff() {
    assert_eq!(unified("n", "", "a\n"), "--- n\n+++ n\n@@ -0,0 +1 @@\n+a\n");
    assert_eq!(unified("n", "a\n", ""), "--- n\n+++ n\n@@ -1 +0,0 @@\n-a\n");
    assert_eq!(unified("n", "a\n", "a\n"), "--- n\n+++ n\n");
    assert_eq!(unified("n", "a", "a\n"), "--- n\n+++ n\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

#[test]
fn file_name_cannot_imitate_a_diff_line() {
    assert!(unified("a\n+b", "1\n", "2\n").starts_with("--- a\u{fffd}+b\n+++ a\u{fffd}+b\n@@ "));
}

#[test]
fn diff_of_large_texts_has_only_the_changes() {
    let line = |n: usize| if n.is_multiple_of(3) { format!("{n}\n") } else { "again\n".to_owned() };
    let before: String = (0..30_000).map(line).collect();
    let after = before.replacen("\n9000\n", "\nnine\n", 1).replacen("\n21000\n", "\n", 1);
    let after = format!("{after}{}", before.get(..200).unwrap());
    let diff = unified("n", &before, &after);
    assert_eq!(side(&diff, &before, '+'), after);
    assert!(diff.contains("\n-9000\n+nine\n") && diff.contains("\n-21000\n"), "{diff}");
    assert!(diff.len() < 1_500, "{} bytes", diff.len());
}

#[test]
fn diff_of_texts_without_unique_lines_is_correct() {
    let before: String = (0..9_000).map(|n| format!("{}\n", n * n % 7)).collect();
    let after: String = (0..9_000).map(|n| format!("{}\n", n * 5 % 7)).collect();
    let diff = unified("n", &before, &after);
    assert_eq!((side(&diff, &before, '-'), side(&diff, &before, '+')), (before.clone(), after));
}

proptest! {
    #[test]
    fn diff_of_large_texts_gives_the_new_text(seed in any::<u64>(), kinds in 2_u64..4_000) {
        let mut state = seed;
        let mut next = || { state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1); state >> 33 };
        let before: Vec<String> = (0..3_000).map(|_| format!("{}\n", next() % kinds)).collect();
        let mut after = before.clone();
        for _ in 0..next() % 60 {
            let at = usize::try_from(next()).unwrap() % after.len();
            match next() % 3 {
                0 => drop(after.remove(at)),
                1 => after.insert(at, "new\n".to_owned()),
                _ => after.rotate_left(at % 50),
            }
        }
        let (before, after) = (before.concat(), after.concat());
        prop_assume!(before != after);
        let diff = unified("n", &before, &after);
        prop_assert_eq!(side(&diff, &before, '+'), after);
    }

    // invariant: 3
    #[test]
    fn diff_applied_to_the_old_text_gives_the_new_text(
        before in "([ab]{0,2}\n){0,24}[ab]{0,1}",
        after in "([ab]{0,2}\n){0,24}[ab]{0,1}",
    ) {
        prop_assume!(before != after);
        let diff = unified("n", &before, &after);
        prop_assert_eq!(side(&diff, &before, '-'), before.clone());
        prop_assert_eq!(side(&diff, &before, '+'), after);
    }
}
