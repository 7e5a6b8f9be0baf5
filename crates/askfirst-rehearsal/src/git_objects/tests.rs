//! Tests that exactly the files that git can restore count as such.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use super::{GitObjects, lists};

fn git(folder: &Path, args: &[&str]) {
    let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    let output = Command::new("git").current_dir(folder).args(who).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
}

fn restores(root: &Path, path: &str) -> bool {
    let file = File::open(root.join(path)).unwrap();
    GitObjects::of(root).is_some_and(|git| git.restores(Path::new(path), file.into()))
}

fn repository(format: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q", format]);
    fs::create_dir(folder.path().join("sub")).unwrap();
    for (name, content) in
        [("a", "a\n".to_owned()), ("empty", String::new()), ("sub/long", "0123456789".repeat(500))]
    {
        fs::write(folder.path().join(name), content).unwrap();
    }
    git(folder.path(), &["add", "."]);
    fs::write(folder.path().join("untracked"), "a\n").unwrap();
    folder
}

#[test]
fn tracked_and_unmodified_file_can_be_restored() {
    for format in ["--object-format=sha1", "--object-format=sha256"] {
        let folder = repository(format);
        let root = folder.path();
        let check = |what: &str| {
            for path in ["a", "empty", "sub/long"] {
                assert!(restores(root, path), "{format} {what} {path}");
            }
            assert!(!restores(root, "untracked"), "{format} {what}");
            assert!(restores(&root.join("sub"), "long"), "{format} {what}, root inside the work tree");
        };
        check("staged");
        git(root, &["commit", "-qm", "a"]);
        check("committed");
        git(root, &["gc", "-q"]);
        assert!(!root.join(".git/objects/pack").read_dir().unwrap().collect::<Vec<_>>().is_empty());
        check("packed");
        fs::write(root.join("a"), "b\n").unwrap();
        assert!(!restores(root, "a"), "{format} modified");
    }
}

#[test]
fn file_whose_object_is_missing_cannot_be_restored() {
    let folder = repository("--object-format=sha1");
    let root = folder.path();
    for entry in fs::read_dir(root.join(".git/objects")).unwrap().flatten() {
        if entry.file_name().len() == 2 {
            fs::remove_dir_all(entry.path()).unwrap();
        }
    }
    assert!(!restores(root, "a"));
}

#[test]
fn folder_without_a_readable_repository_restores_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), "a").unwrap();
    assert!(!restores(folder.path(), "a"));
    fs::write(folder.path().join(".git"), "gitdir: /elsewhere").unwrap();
    assert!(!restores(folder.path(), "a"));
    for list in [&b""[..], b"\xfftOc\0\0\0\x02", &[0xff; 2000], b"\xfftOc\0\0\0\x02\xff\xff\xff\xff"] {
        assert!(!lists(list, &[1; 20]));
    }
}
