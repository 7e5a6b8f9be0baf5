//! What is not surely understood: every line here must have a gap, and the gap says why.

use super::read;

fn gaps(lines: &[(&str, &str)]) {
    for (text, why) in lines {
        let line = read(text);
        assert!(line.gaps.iter().any(|gap| gap.why.contains(why)), "{text:?}: {:?}", line.gaps);
        for gap in &line.gaps {
            assert!(text.get(gap.span.clone()).is_some(), "{text:?}");
        }
    }
}

#[test]
fn characters_that_are_not_what_they_look_like_are_named() {
    gaps(&[
        ("l\u{200b}s", "U+200B"),
        ("echo ok \u{2066}; touch x \u{2069}", "U+2066"),
        ("git commit -m 'a \u{202e}b'", "U+202E"),
        ("ls\u{a0}-la", "U+00A0"),
        ("python3 scripts/t\u{435}st.py", "U+0435"),
        ("cat 'scripts/t\u{435}st.py'", "U+0435"),
        ("cat 't\u{435}st'", "U+0435"),
        ("'l\u{455}' x", "U+0455"),
        ("ls --\u{430}ll", "U+0430"),
        ("ls '--\u{430}ll'", "U+0430"),
        ("ls\u{b}-la", "U+000B"),
        ("ls \u{c} x", "U+000C"),
        ("ls x\r", "U+000D"),
        ("ls \u{1b}[2K", "U+001B"),
        ("ls \u{0}x", "U+0000"),
        ("\u{ff4c}\u{ff53} x", "U+FF4C"),
        ("a $'\\u0435'", "not ASCII"),
        ("# \u{202e} x\nls", "U+202E"),
    ]);
}

/// Curly brackets that a round one does not close: the parser took half a second over 561 bytes of them.
#[test]
fn one_kind_of_bracket_does_not_close_the_other() {
    let text = format!("`{}`", "${^f:{^f:*))${/))/\"/=${/2\"[[[[[{>".repeat(5));
    gaps(&[(&text, "brackets nested more than 16 deep")]);
    assert!(read("awk '{print $1}' a | sed 's/(/{/; s/)/}/'").gaps.is_empty());
}

#[test]
fn limits_hold_before_any_parser() {
    gaps(&[
        (&format!("echo {};", "x".repeat(9000)), "bytes"),
        (&format!("echo {}a{};", "$(".repeat(20), ")".repeat(20)), "nested"),
        (&format!("{}a{}", "(".repeat(20), ")".repeat(20)), "nested"),
        (&format!("{} a", "if ".repeat(20)), "nested"),
        (
            &"for x in 1 2 3 4 5 6 7 8 9; do "
                .repeat(5)
                .chars()
                .chain(" a $x;".chars())
                .chain(" done;".repeat(5).chars())
                .collect::<String>(),
            "too many",
        ),
        (&format!("{}b", "a && ".repeat(900)), "join"),
        (&format!("{}b", "a | ".repeat(900)), "join"),
        (&"a $(b) ".repeat(300), "too many"),
        (&format!("{}{}{}", "echo $(".repeat(12), "a ".repeat(3000), ")".repeat(12)), "too many"),
        ("echo {1..100}", "braces"),
        ("echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "braces"),
        ("echo {a,b", "braces"),
    ]);
}

#[test]
fn evaluated_text_is_a_gap() {
    gaps(&[
        ("[[ 'a[$(x)]' -eq 0 ]]", "evaluates"),
        ("[[ $x -gt 3 ]]", "evaluates"),
        ("[[ -v a[$(x)] ]]", ""),
        ("test -v 'a[$(x)]'", "evaluated"),
        ("[ -v \"$x\" ]", "evaluated"),
        ("[ $x ]", "may be split"),
        ("[ \"$x\" \"$y\" ]", "operators"),
        ("printf -v 'a[$(x)]' y", "evaluated"),
        ("printf \"$x\" y", "format"),
        ("declare -i n='a[$(x)]'", "evaluates"),
        ("declare -n r=x", "another variable"),
        ("let 'a[$(x)]=1'", "evaluates"),
        ("(( a[$(x)] ))", "evaluates"),
        ("(( x ))", "evaluates"),
        ("echo $((x))", "evaluates"),
        ("echo $((a[$(x)]))", "evaluates"),
        ("echo $[x]", "evaluates"),
        ("echo ${a[$(x)]}", "evaluates"),
        ("echo ${!x}", "named by another"),
        ("echo ${x@P}", "unsupported"),
        ("echo ${x:$y}", "evaluates"),
        ("a[$(x)]=1", "evaluates"),
        ("a=([$(x)]=1)", ""),
        ("read 'a[$(x)]'", "evaluated"),
        ("unset 'a[$(x)]'", "evaluated"),
        ("read 'a[$(x y)]' < f", "evaluated"),
        ("unset 'a[$(x y)]'", "evaluated"),
        ("mapfile -C 'x' -c 1 a < f", "each line"),
        ("x=$(y); echo $((x))", "evaluates"),
        ("n=1$(x); echo $((n))", "evaluates"),
        ("command printf -v 'a[$(x)]' y", "evaluated"),
        ("builtin test -v 'a[$(x)]'", "evaluated"),
    ]);
}

#[test]
fn change_of_later_words_is_a_gap() {
    gaps(&[
        ("shopt -s expand_aliases\nalias ls=x\nls", "alias"),
        ("alias ls='touch x'", "alias"),
        ("shopt -s dotglob; cat *", "option"),
        ("set -a; X=1; y", "option"),
        ("set -o posix", "option"),
        ("set -f; ls *", "option"),
        ("set $x", "options"),
        ("IFS=: sh x", "IFS"),
        ("IFS=x; ls", "IFS"),
        ("export IFS=x", "IFS"),
        ("hash -p /x ls; ls", "hash"),
        ("enable -n test", "enable"),
        ("trap 'x' DEBUG", "trap"),
        ("trap x ERR", "trap"),
        ("trap \"$x\" EXIT", "trap"),
        ("ls() { x; }; ls", "replaces `ls`"),
        ("cd() { x; }; cd y", "replaces `cd`"),
        ("export -f f", "functions"),
        ("complete -C x y", "complete"),
        ("! ! rm x", "keyword"),
        ("$x -rf y", "not known"),
        ("$(echo rm) x", "not known"),
        ("f() { \"$@\"; }; f rm x", "not known"),
        ("rm${IFS}-rf${IFS}x", "not known"),
        ("/bin/r? x", "wildcard"),
        ("RANDOM='a[$(x)]'", "shell's own"),
        ("echo `a \\`b\\``", "backslash inside backquotes"),
        ("a > {b,c}", "several words"),
        ("echo $(case x in x) y;; esac)", "unsupported"),
    ]);
}

#[test]
fn text_that_zsh_reads_differently_is_a_gap() {
    gaps(&[
        ("ls *(e:'x':)", ""),
        ("ls *(.)", ""),
        ("ls (a|b)", ""),
        ("ls @(a|b)", ""),
        ("echo ${(e)x}", ""),
        ("=touch x", "=name"),
        ("echo =ls", "=name"),
        ("ls ~[x]", "~[…]"),
        ("repeat 3 x", "repeat"),
        ("print -P x", "print"),
        ("zmodload zsh/net/tcp", "zmodload"),
        ("ls <1-9>", ""),
        ("for f (a b) x", ""),
        ("if [[ x ]] { y }", ""),
        ("x &!", ""),
        ("x &|", ""),
        ("x >! y", "zsh"),
        ("{ x } always { y }", ""),
        ("echo ${=x}", ""),
        ("noglob ls *", "noglob"),
        ("foreach x (a b); y; end", ""),
    ]);
}

#[test]
fn incomplete_command_is_a_gap() {
    gaps(&[
        ("echo 'x", ""),
        ("echo \"x", ""),
        ("echo $(x", ""),
        ("echo `x", ""),
        ("if a; then b", ""),
        ("a | ", ""),
        ("a && ", ""),
        ("a ;; b", ""),
        ("( a", ""),
        ("a )", ""),
        ("cat <<EOF\nx", ""),
        ("for x in a; do", ""),
        ("a () b", ""),
    ]);
}

#[test]
fn values_that_grow_are_given_up() {
    let text = format!("x=aaaaaaaaaa; {}echo $x", "x=\"$x$x$x$x\"; ".repeat(40));
    let line = read(&text);
    assert!(line.commands.last().unwrap().words[1].is_unknown());
}
