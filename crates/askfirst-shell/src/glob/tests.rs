//! A wildcard stands for what a person sees in it.

use super::{Glob, Reach};

fn says(pattern: &str, text: &str) -> bool {
    Glob::new(pattern).matches(text, Reach::Within)
}

#[test]
fn wildcard_crosses_neither_slash_nor_dash() {
    assert!(says("src/*", "src/a"));
    assert!(!says("src/*", "src/a/b"));
    assert!(!says("src/**", "src/a/b"));
    assert!(!says("*", "-n"));
    assert!(!says("?n", "-n"));
    assert!(!says("[-a]n", "-n"));
    assert!(!says("[!a]n", "-n"));
    assert!(says("-*", "-n"));
    assert!(!says("test*", "test-evil"));
    assert!(says("test*", "test"));
    assert!(says("test:*", "test:unit-a"));
    assert!(says("*.rs", "a-b.rs"));
}

#[test]
fn wildcard_of_a_deny_rule_matches_anything() {
    assert!(Glob::new("*").matches("-rf/x", Reach::Anything));
    assert!(Glob::new("a?b").matches("a/b", Reach::Anything));
}

#[test]
fn classes_and_backslashes_are_read_as_the_shell_reads_them() {
    assert!(says("[a-c]x", "bx") && !says("[a-c]x", "dx") && says("[!a-c]x", "dx"));
    assert!(says("[]x]", "]") && says("a[b", "a[b"));
    assert!(says("\\*", "*") && !says("\\*", "a"));
    assert_eq!(Glob::new("a\\*b").plain(), Some("a*b"));
    assert_eq!(Glob::new("src/*.rs").head(), "src/");
}

#[test]
fn many_wildcards_cost_little() {
    let text = "a".repeat(4_000);
    assert!(!says(&"*a".repeat(30).chars().chain("b".chars()).collect::<String>(), &text));
}
