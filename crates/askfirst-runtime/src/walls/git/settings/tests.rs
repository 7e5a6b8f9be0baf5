//! How settings of git's are read.

use std::os::unix::ffi::OsStrExt;

use super::*;

fn read(bytes: &[u8]) -> Vec<(Names, Vec<u8>)> {
    let all = values(bytes, 9).unwrap();
    all.into_iter().map(|it| (it.names, it.value.as_bytes().to_vec())).collect()
}

fn of(section: &str, key: &str, value: &[u8]) -> (Names, Vec<u8>) {
    (Names::of(section, key).unwrap(), value.to_vec())
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
    assert_eq!(read(text), [of("core", "hookspath", b"a"), of("include", "path", b"xy")]);
}

#[test]
fn bytes_that_are_no_text_keep_nothing_from_being_read() {
    let text = b"\xef\xbb\xbf[user]\n\tname = Jos\xe9\n[\xff]\n\xfe = x\n[core]\n\thooksPath = h\xe9\0z\n";
    assert_eq!(read(text), [of("core", "hookspath", b"h\xe9")]);
}

#[test]
fn what_leads_nowhere_is_not_kept_and_what_leads_to_too_much_is_not_read() {
    let text = "[user]\n".to_owned() + &"name=\n".repeat(1000);
    assert_eq!(values(text.as_bytes(), 3), Some(Vec::new()));
    let of = |count: usize| format!("[include]\n{}", "path=\n".repeat(count));
    assert_eq!(values(of(3).as_bytes(), 3).map(|all| all.len()), Some(3));
    assert_eq!(values(of(4).as_bytes(), 3), None);
}
