//! Lines of every shape that people write, and what bash would start for them.

use super::{clean, confirm, shown};

fn rows(rows: &[(&str, &[&str])]) {
    for (text, expected) in rows {
        let line = clean(text);
        assert_eq!(shown(&line), *expected, "{text:?}");
        assert!(confirm(text, &line), "not confirmed: {text:?}");
    }
}

#[test]
fn lists_pipes_and_blocks() {
    rows(&[
        ("a; b && c || d & e", &["a", "b", "c", "d", "e"]),
        ("a\n\n# note; x\nb # y\n", &["a", "b"]),
        ("a | b |& c", &["a", "b", "c"]),
        ("(a; (b))", &["a", "b"]),
        ("{ a; b; } 2>&1", &["", "a", "b"]),
        ("! a", &["a"]),
        ("time a -p", &["a|-p"]),
        ("time -p a", &["a"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("while a; do b; done", &["a", "b"]),
        ("until a; do b; break; done", &["a", "b", "break"]),
        ("case x in a|b) c;; (*) d ;; esac", &["c", "d"]),
        ("for f in a 'b c'; do d \"$f\"; done", &["d|a", "d|b c"]),
        ("for i in {1..3}; do a $i; done", &["a|1", "a|2", "a|3"]),
        ("for ((i=0; i<3; i++)); do a $i; done", &["a|<$((i))>"]),
        ("select x in a b; do c; done", &["c"]),
        ("f() { a; b; }; f x", &["a", "b"]),
        ("f() { a \"$1\" $2; }; f x -y; f 'z w' v", &["a|x|-y", "a|z w|v"]),
        ("f() { a \"$@\"; }; f x y", &["a|x|y"]),
        ("f() { a $((1+2)) $1; }; f 7", &["a|3|7"]),
        ("f() { a \"$1\"; }; f x; b f", &["a|<$1>", "a|x", "b|f"]),
        ("f() { shift; a \"$1\"; }; f x y", &["shift", "a|<$1>"]),
        ("function f { a; }\nf", &["a"]),
        ("[[ -f x && $y == z* ]] && a", &["[[|-f|x", "a"]),
        ("a 2>&1 >/dev/null </dev/null", &["a"]),
        ("exec 3>&1", &["exec"]),
        ("a &", &["a"]),
        ("if [ -f x ]; then a; fi", &["[|-f|x|]", "a"]),
        ("a <<E\ntext\nE\nb", &["a", "b"]),
        ("a <<'E' | b\n$(c)\nE\nd", &["a", "b", "d"]),
    ]);
}

#[test]
fn words_are_what_bash_makes_of_them() {
    rows(&[
        ("a 'x'\\''y' \"p\"q r\\ s;:", &["a|x'y|pq|r s", ":"]),
        ("a $'x\\ty\\x41\\u42\\101' $\"z\"", &["a|x\tyABA|z"]),
        (
            "a {b,c} d{e,{f,g}}h {1..3} {03..1} {a..e..2} x{,y}",
            &["a|b|c|deh|dfh|dgh|1|2|3|03|02|01|a|c|e|x|xy"],
        ),
        ("a {} {x} @{u} HEAD@{1} 'q{r,s}'", &["a|{}|{x}|@{u}|HEAD@{1}|q{r,s}"]),
        ("a *.rs src/**/[a-c]? '*' \\*", &["a|[glob *].rs|src/[glob **]/[glob [a-c]][glob ?]|*|*"]),
        ("a ~ ~/x A=~/y b~ '~' --c=~/z", &["a|[home]|[home]/x|A=[home]/y|b~|~|--c=~/z"]),
        (
            "a $x \"$x\" ${x} \"${x}y\" ${#x} $? \"$@\"",
            &["a|<$x …>|<$x>|<${x} …>|<${x}>y|<${#x}>|<$?>|<$@ …>"],
        ),
        ("a $((1 + 2)) \"$((3*4))\" $((2-5)) $((08)) $((7/2%2))", &["a|3|12|-3|<$((08))>|1"]),
        ("a ] = == ! % [ x; :", &["a|]|=|==|!|%|[|x", ":"]),
        ("a b\\\nc \\\n d; :", &["a|bc|d", ":"]),
        ("echo if then { } done; :", &["echo|if|then|{|}|done", ":"]),
        ("a \"x\n y\" 'é ü' \"日本\"; :", &["a|x\n y|é ü|日本", ":"]),
    ]);
}

#[test]
fn values_that_are_surely_known_are_put_in() {
    rows(&[
        ("c=rm; $c -rf x", &["", "rm|-rf|x"]),
        ("c='rm -rf'; $c x \"$c\"", &["", "rm|-rf|x|rm -rf"]),
        ("x=1 a $x", &["a|<$x …>"]),
        ("x=a; x=b; c $x", &["", "", "c|b"]),
        ("x=a; if t; then x=b; fi; c $x", &["", "t", "", "c|<$x …>"]),
        ("x=a; (x=b); c $x", &["", "", "c|a"]),
        ("x=a; t && x=b; c $x", &["", "t", "", "c|<$x …>"]),
        ("x=a; read x; c $x", &["", "read|x", "c|<$x …>"]),
        ("x=a; source y; c $x", &["", "source|y", "c|<$x …>"]),
        ("export X=a; c \"$X\"", &["export|X=a", "c|a"]),
        ("x=$(a b); c \"$x\"", &["", "a|b", "c|<$x>"]),
        ("x=a; while t; do x=b; c $x; done; d $x", &["", "t", "", "c|b", "d|<$x …>"]),
        ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); done", &["", "[|<$((i))>|-lt|3|]", ""]),
        ("for f in src/*.rs; do a \"$f\" $f; done", &["a|src/[glob *].rs[glob ]|src/[glob *].rs|[glob *]"]),
    ]);
}

#[test]
fn commands_inside_words_are_found() {
    rows(&[
        ("a $(b c) \"d $(e)\" `f`", &["a|<$(b c) …>|d <$(e)>|<`f` …>", "b|c", "e", "f"]),
        ("a <(b) >(c)", &["a|<<(b)>|<>(c)>", "b", "c"]),
        ("a \"$(b \"$(c 'd e')\")\"", &["a|<$(b \"$(c 'd e')\")>", "b|<$(c 'd e')>", "c|d e"]),
        ("x=$(a) b", &["b", "a"]),
        ("a <<< \"$(b)\"", &["a", "b"]),
        ("a > \"$(b)\"", &["a", "b"]),
        ("a \"$(cd x && b)\"", &["a|<$(cd x && b)>", "cd|x", "b"]),
        ("a \"$(b <<'E'\n) it's\nE\n)\" c", &["a|<$(b <<'E'\n) it's\nE\n)>|c", "b"]),
        ("a $(b # it's )\n)", &["a|<$(b # it's )\n) …>", "b"]),
    ]);
    // The second parser hands these on as texts, which are read by themselves.
    rows(&[
        ("a ${x:-$(b)}", &["a|<${x:-$(b)} …>", "b"]),
        ("a \"c ${x:-$(b d)} e\"", &["a|c <${x:-$(b d)}> e", "b|d"]),
        ("a <<E\nx \"y\" $(b \"c d\")\nE\n", &["a", "b|c d"]),
        ("[[ $(a) == b ]]", &["[[", "a"]),
    ]);
    // In these it sees something else, or nothing.
    for text in [
        "a <<E\n`b`\nE\n",
        "for ((i=0; i<2; i++)); do a <<E\n$(b)\nE\ndone",
        "[[ ${x:-$(a <<E\n$(b)\nE\n)} == c ]]",
    ] {
        assert!(!confirm(text, &super::read(text)), "{text:?}");
    }
}

/// Lines that bash reads as one of these parsers does not: nothing may rest on them.
#[test]
fn disagreement_of_the_parsers_is_not_confirmed() {
    for text in [
        "a {p q,r}",
        "A=1;a ]# b",
        "a ${x:-{}}; b",
        "a $(case x in x) b;; esac)",
        "X='$(a)'; b",
        "a \"${x:-'}\"; b; c \"'}\"",
        "echo $(cat <<E\nx\nE)",
        "a <<$(b)\nx\n$(b)\n",
        "a <<E\\\nF\nx\nEF\n",
    ] {
        let line = super::read(text);
        assert!(!line.gaps.is_empty() || !confirm(text, &line), "{text:?}");
    }
}

// invariant: 7
#[test]
fn text_that_bash_reads_differently_is_a_gap() {
    for text in [
        "echo \"$(a <<E\nx\nE\nb ;\nc d )\"",
        "a <(b <<E\nx\nE\n{ c \\\n } ;\nd; } )",
        "for i in 1; do coproc a done </dev/null\ndone",
        "coproc a b; wait",
        "(\n)",
    ] {
        assert!(!super::read(text).gaps.is_empty(), "{text:?}");
    }
    let commit = "git commit -m \"$(cat <<'E'\na text\nE\n)\" && git log";
    assert!(super::read(commit).gaps.is_empty());
}
