//! Words are split as the shell splits them.

use super::{BadWords, pattern};

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
    assert_eq!(pattern("ls \"a\"?").unwrap(), ["ls", "a?"]);
    assert_eq!(pattern("[[ -f x").unwrap(), ["\\[\\[", "-f", "x"]);
    assert_eq!(pattern("ls {a,b}").unwrap(), ["ls", "\\{a,b\\}"]);
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
