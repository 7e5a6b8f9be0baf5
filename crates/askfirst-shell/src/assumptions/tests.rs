//! A script holds as long as the file system gives the answers that its reading depends on.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::script::Script;
use crate::world::tests::TestDisk;
use crate::world::{Empty, Listing, World};

use super::{MAX_LOOKS, MAX_NAMES, Recorder};

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    std::fs::create_dir(path.join("sub")).unwrap();
    std::fs::write(path.join("a.txt"), "").unwrap();
    (folder, path)
}

/// Whether a line that was read before a change still holds after it.
fn holds_after(text: &str, change: impl FnOnce(&Path)) -> bool {
    let (_folder, path) = folder();
    let script = Script::of_line(text, &path, &TestDisk);
    assert!(script.still_holds(&TestDisk), "{text}");
    change(&path);
    script.still_holds(&TestDisk)
}

#[test]
fn unrelated_change_leaves_a_script_valid() {
    for text in ["ls", "cat a.txt", "cd sub && ls", "git status", "echo \"$(git branch --show-current)\""] {
        assert!(holds_after(text, |path| std::fs::write(path.join("new"), "").unwrap()), "{text}");
    }
}

#[test]
fn swapped_link_makes_a_script_invalid() {
    let swap = |path: &Path| {
        std::fs::remove_dir(path.join("sub")).unwrap();
        symlink("/etc", path.join("sub")).unwrap();
    };
    assert!(!holds_after("cd sub && ls", swap));
    assert!(holds_after("ls sub", swap), "the reading does not look at it");
}

#[test]
fn new_name_in_an_expanded_folder_makes_a_script_invalid() {
    let add = |path: &Path| std::fs::write(path.join("-n"), "").unwrap();
    for text in ["rm *.txt", "cat $(find . -name '*.txt')", "ls | xargs cat", "cd s* && ls"] {
        assert!(!holds_after(text, add), "{text}");
    }
}

#[test]
fn repository_that_appears_makes_a_script_invalid() {
    let init = |path: &Path| std::fs::create_dir(path.join(".git")).unwrap();
    assert!(!holds_after("cat \"$(git rev-parse --show-toplevel)/a.txt\"", init));
}

#[test]
fn folder_that_became_a_link_makes_a_script_invalid() {
    let (_folder, path) = folder();
    let script = Script::of_line("ls", &path.join("sub"), &TestDisk);
    std::fs::remove_dir(path.join("sub")).unwrap();
    symlink("/etc", path.join("sub")).unwrap();
    assert!(!script.still_holds(&TestDisk));
}

#[test]
fn too_many_looks_never_hold() {
    let recorder = Recorder::new(&Empty);
    for number in 0..MAX_LOOKS {
        recorder.info(Path::new(&format!("/{number}")));
        recorder.info(Path::new("/0"));
    }
    assert!(recorder.noted.borrow().hold(&Empty), "a look that is repeated counts once");
    recorder.info(Path::new("/more"));
    assert!(!recorder.finish().hold(&Empty));
}

/// A world whose folders all have the same many entries.
struct Full(usize);

impl World for Full {
    fn home(&self) -> Option<&Path> {
        None
    }

    fn info(&self, _: &Path) -> Option<crate::world::FileInfo> {
        None
    }

    fn info_behind(&self, _: &Path) -> Option<crate::world::FileInfo> {
        None
    }

    fn read(&self, _: &Path, _: u64) -> Option<Vec<u8>> {
        None
    }

    fn list(&self, _: &Path, _: usize) -> Option<Listing> {
        let mut listing = Listing::default();
        (0..self.0).for_each(|_| listing.push("x".as_ref(), crate::world::FileKind::File));
        Some(listing)
    }

    fn link(&self, _: &Path) -> crate::world::Link {
        crate::world::Link::NoLink
    }
}

#[test]
fn too_many_names_never_hold() {
    let world = Full(MAX_NAMES);
    let recorder = Recorder::new(&world);
    recorder.list(Path::new("/a"), usize::MAX);
    recorder.list(Path::new("/a"), usize::MAX);
    assert!(recorder.noted.borrow().hold(&world));
    recorder.list(Path::new("/b"), usize::MAX);
    assert!(!recorder.finish().hold(&world));
}

#[test]
fn answer_that_changes_during_the_reading_never_holds() {
    let (_folder, path) = folder();
    let recorder = Recorder::new(&TestDisk);
    recorder.exists(&path.join("new"));
    std::fs::write(path.join("new"), "").unwrap();
    recorder.exists(&path.join("new"));
    assert!(!recorder.finish().hold(&TestDisk));
}
