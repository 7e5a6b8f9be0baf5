//! Words are split as the shell splits them, and match as the design says.

use super::{BadWords, command, matches, pattern};

fn says(rule: &str, exact: bool, line: &str) -> bool {
    matches(&pattern(rule).unwrap(), exact, &command(line).unwrap())
}

#[test]
fn words_are_quoted_as_in_the_shell() {
    let words = |text: &str| pattern(text).unwrap();
    assert_eq!(words("git  status"), ["git", "status"]);
    assert_eq!(words(r#"a 'b c' "d e" f\ g"#), ["a", "b c", "d e", "f g"]);
    assert_eq!(words(r#"a'b'"c""#), ["abc"]);
    assert_eq!(words("a ''"), ["a", ""]);
    assert_eq!(words("echo '$(x)' \\; 'a|b'"), ["echo", "$(x)", ";", "a|b"]);
}

#[test]
fn a_quoted_wildcard_stands_for_itself() {
    assert_eq!(pattern("ls '*'").unwrap(), ["ls", "\\*"]);
    assert!(says("ls '*'", false, "ls '*'"));
    assert!(!says("ls '*'", false, "ls a"));
    assert!(says("ls {a,b}", false, "ls {a,b}"));
    assert!(!says("ls {a,b}", false, "ls a"));
}

#[test]
fn what_a_shell_would_act_on_is_no_pattern() {
    for (text, bad) in [
        ("a; b", ';'),
        ("a | b", '|'),
        ("a && b", '&'),
        ("a $(b)", '$'),
        ("a `b`", '`'),
        ("a > b", '>'),
        ("a < b", '<'),
        ("(a)", '('),
        ("a\nb", '\n'),
        ("a \"$b\"", '$'),
        ("# a", '#'),
    ] {
        assert_eq!(pattern(text), Err(BadWords::Active(bad)), "{text}");
    }
    assert_eq!(pattern(""), Err(BadWords::Empty));
    assert_eq!(pattern("  "), Err(BadWords::Empty));
    assert_eq!(pattern("''"), Err(BadWords::Empty));
    assert_eq!(pattern("a 'b"), Err(BadWords::OpenQuote('\'')));
    assert_eq!(pattern("a \"b"), Err(BadWords::OpenQuote('"')));
    assert_eq!(pattern("a \\"), Err(BadWords::LooseBackslash));
}

#[test]
fn a_pattern_matches_a_beginning_and_exactly_only_all() {
    assert!(says("git status", false, "git status -s"));
    assert!(!says("git status", false, "git stash"));
    assert!(!says("git status", false, "git"));
    assert!(says("rm -rf build", true, "rm -rf build"));
    assert!(!says("rm -rf build", true, "rm -rf build src"));
    assert!(!says("sudo", false, "sudoku"));
}

#[test]
fn a_wildcard_crosses_neither_a_slash_nor_a_dash() {
    assert!(says("cat src/*", false, "cat src/a"));
    assert!(!says("cat src/*", false, "cat src/a/b"));
    assert!(!says("cat *", false, "cat -n"));
    assert!(!says("cat ?n", false, "cat -n"));
    assert!(!says("cat [-a]n", false, "cat -n"));
    assert!(says("cat -*", false, "cat -n"));
}
