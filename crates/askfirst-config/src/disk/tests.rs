//! The disk answers as the kernel does, and an error counts as nothing.

use std::os::unix::fs::symlink;

use askfirst_shell::{FileInfo, FileKind, Link, World};

use super::Disk;

#[test]
fn links_are_followed_only_where_the_question_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("file"), "12345").unwrap();
    symlink("file", at("link")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    let disk = Disk::default();
    assert_eq!(disk.info(&at("link")), Some(FileInfo { kind: FileKind::Link, length: 0 }));
    assert_eq!(disk.info_behind(&at("link")), Some(FileInfo { kind: FileKind::File, length: 5 }));
    assert!(disk.exists(&at("dangling")) && disk.is_link(&at("dangling")));
    assert_eq!(disk.info_behind(&at("dangling")), None);
    assert_eq!(disk.link(&at("link")), Link::To("file".into()));
    assert_eq!(disk.link(&at("file")), Link::NoLink);
    assert_eq!(disk.link(&at("nowhere")), Link::Missing);
    assert_eq!(disk.link(&at("file/below")), Link::NoLink, "not a folder is another error than not found");
    assert_eq!(disk.resolve(folder.path(), "link/../x".as_ref()), Some(at("x")));
}

#[test]
fn limits_cut_what_is_read_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "12345").unwrap();
    std::fs::write(folder.path().join("b"), [0xff]).unwrap();
    let disk = Disk::default();
    assert_eq!(disk.read(&folder.path().join("a"), 3).unwrap(), b"123");
    assert_eq!(disk.read_text(&folder.path().join("a"), 10).unwrap(), "12345");
    assert_eq!(disk.read_text(&folder.path().join("b"), 10), None, "not UTF-8");
    assert_eq!(disk.read(folder.path(), 10), None, "a folder");
    let listing = disk.list(folder.path(), 1).unwrap();
    assert!(listing.len() == 1 && listing.is_cut());
    let listing = disk.list(folder.path(), 2).unwrap();
    assert!(listing.len() == 2 && !listing.is_cut());
    assert!(disk.list(&folder.path().join("a"), 1).is_none());
}

#[test]
fn pipe_instead_of_a_file_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert_eq!(Disk::default().read(&path, 10).unwrap_or_default(), b"");
}
