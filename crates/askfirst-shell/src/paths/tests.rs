//! Words become places as the shell and the kernel would make them.

use super::{Named, Repository, entered, named, repository, texts};
use crate::line::tree::{Piece, Word};
use crate::world::tests::TestDisk;

fn word(pieces: Vec<Piece>) -> Word {
    Word::new(0..0, pieces)
}

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

#[test]
fn wildcards_are_expanded_on_the_disk_and_hidden_names_are_not() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.rs", "b.rs", ".c.rs", "-n"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let all = word(vec![Piece::Glob("*".to_owned()), text(".rs")]);
    assert_eq!(texts(&all, folder.path(), &TestDisk).unwrap(), ["a.rs", "b.rs"]);
    let none = word(vec![text("x"), Piece::Glob("*".to_owned())]);
    assert_eq!(texts(&none, folder.path(), &TestDisk).unwrap(), ["x*"]);
}

#[test]
fn folder_that_climbs_out_of_a_link_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("/etc", base.join("out")).unwrap();
    assert!(entered(&word(vec![text("out/..")]), &base, &TestDisk).is_err());
    assert_eq!(entered(&word(vec![text("out")]), &base, &TestDisk).unwrap(), std::path::Path::new("/etc"));
    assert_eq!(entered(&word(vec![text("a/../b")]), &base, &TestDisk).unwrap(), base.join("b"));
}

#[test]
fn somebodys_home_is_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(named(&word(vec![text("~root/x")]), folder.path(), &TestDisk), Named::Unknown(_)));
}

#[test]
fn repositories_are_found_as_git_finds_them() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    for path in [".git/worktrees/x", "sub/deep", "tree", "bare/objects", "bare/refs", "odd"] {
        std::fs::create_dir_all(base.join(path)).unwrap();
    }
    std::fs::write(base.join("tree/.git"), "gitdir: ../.git/worktrees/x\n").unwrap();
    std::fs::write(base.join("bare/HEAD"), "").unwrap();
    std::fs::write(base.join("odd/.git"), "gitdir: /elsewhere/.git").unwrap();
    assert_eq!(repository(&base.join("sub/deep"), &TestDisk), Repository::At(base.clone()));
    assert_eq!(
        repository(&base.join("tree"), &TestDisk),
        Repository::WorkTree(base.join("tree"), base.clone())
    );
    assert_eq!(repository(&base.join("bare/refs"), &TestDisk), Repository::Odd(base.join("bare")));
    assert_eq!(repository(&base.join("odd"), &TestDisk), Repository::Odd(base.join("odd")));
}
