//! How settings of git's are read.

use std::os::unix::ffi::OsStrExt;

use super::*;

fn read(bytes: &[u8]) -> Vec<(String, String, Vec<u8>)> {
    values(bytes).into_iter().map(|it| (it.section, it.key, it.value.as_bytes().to_vec())).collect()
}

fn of(section: &str, key: &str, value: &[u8]) -> (String, String, Vec<u8>) {
    (section.to_owned(), key.to_owned(), value.to_vec())
}

#[test]
fn values_are_read_as_git_reads_them() {
    let text = "[core]\n\thooksPath = tools/hooks ; mine\n[Core] HOOKSPATH=\"a b\"\\\n/c\n# [core] hooksPath = no\n\
                [includeIf \"gitdir:x]/\"]\n  path = ../\\\"q\\\"\n[include] path = a#b\n[core]\nbare\n";
    assert_eq!(
        read(text.as_bytes()),
        [
            of("core", "hookspath", b"tools/hooks"),
            of("core", "hookspath", b"a b/c"),
            of("includeif", "path", b"../\"q\""),
            of("include", "path", b"a"),
        ]
    );
}

#[test]
fn a_remark_ends_with_its_line_whatever_stands_at_its_end() {
    let text =
        b"[core]\n\t# see C:\\tools\\\n\thooksPath = a ; b \\\n\tbare = false\r\n[include]path=x\\\r\ny";
    let expected =
        [of("core", "hookspath", b"a"), of("core", "bare", b"false"), of("include", "path", b"xy")];
    assert_eq!(read(text), expected);
}

#[test]
fn bytes_that_are_no_text_keep_nothing_from_being_read() {
    let text = b"\xef\xbb\xbf[user]\n\tname = Jos\xe9\n[\xff]\n\xfe = x\n[core]\n\thooksPath = h\xe9\0z\n";
    let read = read(text);
    assert!(read.contains(&of("user", "name", b"Jos\xe9")), "{read:?}");
    assert!(read.contains(&of("core", "hookspath", b"h\xe9")), "{read:?}");
}
