//! Tests of the parser for git settings.

use std::os::unix::ffi::OsStrExt;

use super::*;

fn read(bytes: &[u8]) -> Vec<(SettingKey, Vec<u8>)> {
    let all = values(bytes, 9).unwrap();
    all.into_iter().map(|it| (it.key, it.value.as_bytes().to_vec())).collect()
}

fn of(section: &str, key: &str, value: &[u8]) -> (SettingKey, Vec<u8>) {
    (SettingKey::of(section, key).unwrap(), value.to_vec())
}

#[test]
fn values_are_parsed_as_git_parses_them() {
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
fn comment_ends_with_its_line() {
    let text =
        b"[core]\n\t# see C:\\tools\\\n\thooksPath = a ; b \\\n\tbare = false\r\n[include]path=x\\\r\ny";
    assert_eq!(read(text), [of("core", "hookspath", b"a"), of("include", "path", b"xy")]);
}

#[test]
fn invalid_utf8_does_not_stop_the_parser() {
    let text = b"\xef\xbb\xbf[user]\n\tname = Jos\xe9\n[\xff]\n\xfe = x\n[core]\n\thooksPath = h\xe9\0z\n";
    assert_eq!(read(text), [of("core", "hookspath", b"h\xe9")]);
}

#[test]
fn only_path_settings_are_kept_up_to_the_maximum() {
    let text = "[user]\n".to_owned() + &"name=\n".repeat(1000);
    assert_eq!(values(text.as_bytes(), 3), Some(Vec::new()));
    let of = |count: usize| format!("[include]\n{}", "path=\n".repeat(count));
    assert_eq!(values(of(3).as_bytes(), 3).map(|all| all.len()), Some(3));
    assert_eq!(values(of(4).as_bytes(), 3), None);
}
