//! Tests that the index of git is read as git writes it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{TrackedPaths, is_shown_by_git, read_index};

fn git(folder: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(words).current_dir(folder);
    command.env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn write(folder: &Path, name: &str) {
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::write(folder.join(name), "x").unwrap();
}

/// A repository that tracks these files.
fn repository(names: &[&str], options: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &[&["init", "-q"], options].concat());
    names.iter().for_each(|name| write(folder.path(), name));
    git(folder.path(), &["add", "-A", "--force"]);
    folder
}

#[test]
fn tracked_paths_are_known_for_every_form_of_index() {
    let long = format!("{}/file", "long".repeat(40));
    let names = ["a", "build/one", "build/two", "pkg/target/x", "tab\tand é", long.as_str(), "later"];
    for options in [&[][..], &["--object-format=sha256"]] {
        for version in ["2", "3", "4"] {
            let folder = repository(&names, options);
            git(folder.path(), &["update-index", "--index-version", version]);
            // Another kind of flags, and with it version 3.
            git(folder.path(), &["update-index", "--skip-worktree", "later"]);
            let found = TrackedPaths::of(folder.path());
            let TrackedPaths::Known(mut all) = found.clone() else { panic!("{options:?} {version}") };
            all.sort();
            let mut wanted = names.map(Into::<std::path::PathBuf>::into);
            wanted.sort();
            assert_eq!(all, wanted, "{options:?} {version}");
            assert!(found.has_any_in("build") && found.has_any_in("build/one") && found.has_any_in("a/b"));
            assert!(!found.has_any_in("buil") && !found.has_any_in("target"));
            assert_eq!(
                TrackedPaths::of(&folder.path().join("pkg")),
                TrackedPaths::Known(vec!["target/x".into()])
            );
        }
    }
}

#[test]
fn index_that_cannot_be_read_may_track_everything() {
    let folder = repository(&["a", "b/c"], &[]);
    git(folder.path(), &["update-index", "--split-index"]);
    assert_eq!(TrackedPaths::of(folder.path()), TrackedPaths::Unknown);
    git(folder.path(), &["update-index", "--no-split-index"]);
    let index = folder.path().join(".git/index");
    let whole = fs::read(&index).unwrap();
    assert!(read_index(&whole).is_some());
    for length in 0..whole.len() {
        assert!(read_index(&whole[..length]).is_none(), "{length}");
    }
    fs::write(&index, b"DIRC\0\0\0\x09").unwrap();
    assert!(TrackedPaths::of(folder.path()).has_any_in("target"));
}

#[test]
fn folder_that_git_does_not_track_is_not_shown_by_git() {
    let folder = repository(&["pkg/a"], &[]);
    write(folder.path(), "ignored/a");
    assert!(is_shown_by_git(folder.path()) && is_shown_by_git(&folder.path().join("pkg")));
    assert!(!is_shown_by_git(&folder.path().join("ignored")));
    let alone = tempfile::tempdir().unwrap();
    assert!(!is_shown_by_git(alone.path()));
    assert_eq!(TrackedPaths::of(alone.path()), TrackedPaths::NoRepository);
    git(alone.path(), &["init", "-q"]);
    assert!(is_shown_by_git(alone.path()));
}

#[test]
fn worktree_has_the_index_of_its_own_folder() {
    let folder = repository(&["a"], &[]);
    git(folder.path(), &["commit", "-qm", "one"]);
    git(folder.path(), &["worktree", "add", "-q", "beside"]);
    let beside = folder.path().join("beside");
    write(&beside, "build/x");
    git(&beside, &["add", "-A"]);
    assert!(TrackedPaths::of(&beside).has_any_in("build"));
    assert!(!TrackedPaths::of(folder.path()).has_any_in("build"));
}
