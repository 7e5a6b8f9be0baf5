//! How settings of git's are read.

use super::*;

#[test]
fn values_are_read_as_git_reads_them() {
    let text = "[core]\n\thooksPath = tools/hooks ; mine\n[Core] HOOKSPATH=\"a b\"\\\n/c\n# [core] hooksPath = no\n\
                [includeIf \"gitdir:x]/\"]\n  path = ../\\\"q\\\"\n[include] path = a#b\n[core]\nbare\n";
    let all = values(text);
    let found: Vec<(&str, &str, &str)> = all.iter().map(|(a, b, c)| (&**a, &**b, &**c)).collect();
    assert_eq!(
        found,
        [
            ("core", "hookspath", "tools/hooks"),
            ("core", "hookspath", "a b/c"),
            ("includeif", "path", "../\"q\""),
            ("include", "path", "a"),
        ]
    );
}
