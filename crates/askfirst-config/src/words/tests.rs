//! Tests that a pattern is split into words as in the shell.

use super::{PatternError, pattern};

#[test]
fn pattern_is_split_with_shell_quoting() {
    let words = |text: &str| pattern(text).unwrap();
    assert_eq!(words("git  status"), ["git", "status"]);
    assert_eq!(words(r#"a 'b c' "d e" f\ g"#), ["a", "b c", "d e", "f g"]);
    assert_eq!(words(r#"a'b'"c""#), ["abc"]);
    assert_eq!(words("a ''"), ["a", ""]);
    assert_eq!(words("echo '$(x)' \\; 'a|b'"), ["echo", "$(x)", ";", "a|b"]);
}

#[test]
fn quoted_wildcard_is_escaped() {
    assert_eq!(pattern("ls '*'").unwrap(), ["ls", "\\*"]);
    assert_eq!(pattern("ls \"a\"?").unwrap(), ["ls", "a?"]);
    assert_eq!(pattern("[[ -f x").unwrap(), ["\\[\\[", "-f", "x"]);
    assert_eq!(pattern("ls {a,b}").unwrap(), ["ls", "\\{a,b\\}"]);
}

#[test]
fn pattern_with_shell_syntax_is_rejected() {
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
        assert_eq!(pattern(text), Err(PatternError::ShellSyntax(bad)), "{text}");
    }
    assert_eq!(pattern(""), Err(PatternError::Empty));
    assert_eq!(pattern("  "), Err(PatternError::Empty));
    assert_eq!(pattern("''"), Err(PatternError::Empty));
    assert_eq!(pattern("a 'b"), Err(PatternError::OpenQuote('\'')));
    assert_eq!(pattern("a \"b"), Err(PatternError::OpenQuote('"')));
    assert_eq!(pattern("a \\"), Err(PatternError::TrailingBackslash));
}
