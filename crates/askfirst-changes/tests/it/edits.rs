//! Edits that other code makes itself: kept before, recorded after, and undone like commits.

use std::os::unix::fs::symlink;
use std::time::Duration;

use askfirst_changes::{ChangeKind, CommitState, EditOptions, PendingEdit, RecoveredCommit};

use super::*;

/// Files, a folder, a link, a program and an empty file.
const SCRIPT: &str = "mkdir -p sub/deep; echo a > a; echo s > sub/s; echo d > sub/deep/d; ln -s a link; : > empty; \
                      echo p > prog; chmod 755 prog; mkdir closed; echo c > closed/c; chmod 500 closed";

impl Project {
    fn keep(&self, paths: &[&str]) -> PendingEdit {
        self.try_keep(paths, Duration::ZERO).unwrap()
    }

    fn try_keep(&self, paths: &[&str], lasts: Duration) -> Result<PendingEdit, ChangeError> {
        let options = EditOptions { note: "an edit".to_owned(), lasts, ..EditOptions::default() };
        self.store().keep(self.open_root(), paths.iter().map(Path::new), &options)
    }

    fn settle(&self, id: &str) -> Result<Option<CommitSummary>, ChangeError> {
        self.store().settle(id, |_| Some(self.open_root()))
    }

    fn ids(&self) -> Vec<String> {
        fs::read_dir(self.path("state/commits"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    fn recover(&self) -> Vec<RecoveredCommit> {
        let recovered = self.store().recover(|_| Some(self.open_root())).unwrap();
        recovered.into_iter().map(|(_, result)| result).collect()
    }
}

/// Keeps paths, runs a script directly, records its changes, undoes and redoes them.
#[track_caller]
fn is_undone(paths: &[&str], script: &str) {
    let project = Project::new(SCRIPT);
    let before = project.tree();
    let edit = project.keep(paths);
    project.direct(script);
    let after = project.tree();
    assert_ne!(before, after, "{script}");
    let summary = edit.settle().unwrap().unwrap();
    let (store, root) = (project.store(), project.open_root());
    for _ in 0..2 {
        store.undo(&summary.id, &root).unwrap();
        assert_same(&format!("undo of {script}"), &project.tree(), &before);
        store.redo(&summary.id, &root).unwrap();
        assert_same(&format!("redo of {script}"), &project.tree(), &after);
    }
}

#[test]
fn edits_of_all_kinds_are_undone_and_redone() {
    is_undone(&["a"], "echo b > a");
    is_undone(&["a"], "echo b > b; mv b a");
    is_undone(&["a"], "rm a");
    is_undone(&["a"], "rm a; mkdir a; echo x > a/x");
    is_undone(&["a"], "chmod 600 a");
    is_undone(&["a"], "cp a b; chmod 755 b; mv b a");
    is_undone(&["prog"], "echo q > prog");
    is_undone(&["empty"], "echo x > empty");
    is_undone(&["new"], "echo x > new");
    is_undone(&["x/y/z"], "mkdir -p x/y; echo z > x/y/z; echo w > x/y/w");
    is_undone(&["link"], "rm link; ln -s sub link");
    is_undone(&["link"], "rm link; echo x > link");
    is_undone(&["sub"], "rm -r sub");
    is_undone(&["sub", "moved"], "mv sub moved");
    is_undone(&["sub/deep", "sub", "sub/s"], "echo x > sub/s; rm -r sub/deep");
    is_undone(&["a", "sub/s", "new", "empty"], "echo 1 > new; rm empty; echo 2 > sub/s; echo 3 > a");
    is_undone(&["closed/c"], "chmod 700 closed; echo 1 > closed/c; chmod 500 closed");
}

#[test]
fn names_that_are_no_text_are_undone() {
    use std::ffi::OsStr;
    let project = Project::new(SCRIPT);
    for name in [&b"a\nb"[..], b"\xff\xfe", b" ", b"-rf", "\u{202e}x".as_bytes(), &[b'n'; 255]] {
        let path = Path::new(OsStr::from_bytes(name));
        fs::write(project.root().join(path), "old").unwrap();
        let options = EditOptions::default();
        let edit = project.store().keep(project.open_root(), [path], &options).unwrap();
        fs::write(project.root().join(path), "new").unwrap();
        let summary = edit.settle().unwrap().unwrap();
        project.store().undo(&summary.id, project.open_root()).unwrap();
        assert_eq!(fs::read(project.root().join(path)).unwrap(), b"old", "{path:?}");
    }
}

#[test]
fn edit_without_a_change_leaves_nothing() {
    let project = Project::new(SCRIPT);
    for script in ["true", "touch a", "cp a b; rm a; mv b a"] {
        let edit = project.keep(&["a", "sub", "new"]);
        project.direct(script);
        assert_eq!(edit.settle().unwrap(), None, "{script}");
        assert_eq!(project.ids(), Vec::<String>::new(), "{script}");
    }
}

#[test]
fn edit_is_settled_by_another_process() {
    let project = Project::new(SCRIPT);
    let id = project.try_keep(&["a"], Duration::from_secs(60)).unwrap().id().to_owned();
    assert!(project.store().list().unwrap().is_empty(), "it is no commit yet");
    project.direct("echo b > a");
    let summary = project.settle(&id).unwrap().unwrap();
    assert_eq!((summary.id.as_str(), summary.note.as_str(), summary.changed), (id.as_str(), "an edit", 1));
    assert_eq!(project.settle(&id).unwrap(), Some(summary), "settled twice");
    assert_eq!(project.store().show(&id).unwrap()[0].kind(), ChangeKind::Content);
    project.store().undo(&id, project.open_root()).unwrap();
    assert_eq!(project.read("a"), "a\n");
    assert!(matches!(project.settle("0123"), Err(ChangeError::UnknownCommit(_))));
}

#[test]
fn edit_of_a_running_process_is_left_alone() {
    let project = Project::new(SCRIPT);
    let edit = project.keep(&["a"]);
    project.direct("echo b > a");
    assert!(matches!(project.recover()[..], [RecoveredCommit::Busy]));
    project.store().settle_changed(Duration::ZERO, |_| Some(project.open_root())).unwrap();
    assert!(project.store().list().unwrap().is_empty());
    assert!(matches!(project.settle(edit.id()), Err(ChangeError::WrongState { .. })));
    assert!(edit.settle().unwrap().is_some());
}

#[test]
fn edit_of_a_killed_process_is_recorded_by_the_next() {
    let project = Project::new(SCRIPT);
    let id = project.keep(&["a"]).id().to_owned();
    project.direct("echo b > a");
    assert!(matches!(project.recover()[..], [RecoveredCommit::Finished(CommitState::Done)]));
    project.store().undo(&id, project.open_root()).unwrap();
    assert_eq!(project.read("a"), "a\n");
    drop(project.keep(&["sub"]));
    assert!(project.recover().iter().any(|result| matches!(result, RecoveredCommit::Dropped)));
    assert_eq!(project.ids(), [id], "an edit that changed nothing is dropped");
}

#[test]
fn pending_edit_is_recorded_once_it_has_changed_something() {
    let project = Project::new(SCRIPT);
    let id = project.try_keep(&["a"], Duration::from_secs(3600)).unwrap().id().to_owned();
    let settle = |age| project.store().settle_changed(age, |_| Some(project.open_root())).unwrap();
    settle(Duration::ZERO);
    assert!(matches!(project.recover()[..], [RecoveredCommit::Busy]), "it may still begin");
    project.direct("echo b > a");
    settle(Duration::from_secs(600));
    assert!(project.store().list().unwrap().is_empty(), "it may still be at it");
    settle(Duration::ZERO);
    assert_eq!(project.store().list().unwrap()[0].0.id, id);
}

#[test]
fn undo_of_an_edit_refuses_later_changes() {
    let project = Project::new(SCRIPT);
    let edit = project.keep(&["a", "sub/s"]);
    project.direct("echo b > a; echo t > sub/s");
    let id = edit.settle().unwrap().unwrap().id;
    project.direct("echo mine > a");
    let undone = project.store().undo(&id, project.open_root());
    assert!(matches!(undone, Err(ChangeError::Conflict(_))), "{undone:?}");
    assert_eq!((project.read("a"), project.read("sub/s")), ("mine\n".to_owned(), "t\n".to_owned()));
    assert!(
        !fs::read_dir(project.root())
            .unwrap()
            .any(|entry| { entry.unwrap().file_name().to_string_lossy().starts_with(".askfirst-") })
    );
}

#[test]
fn commit_during_an_edit_and_edit_during_a_view_are_noticed() {
    let project = Project::new(SCRIPT);
    let generation = || project.store().generation(project.open_root()).unwrap();
    let before = generation();
    let edit = project.keep(&["a"]);
    assert_eq!(generation(), before);
    project.direct("echo b > a");
    edit.settle().unwrap();
    assert_ne!(generation(), before, "a view made before is outdated");
}

#[test]
fn paths_that_cannot_be_kept_are_refused() {
    let project = Project::new(SCRIPT);
    fs::create_dir(project.path("outside")).unwrap();
    symlink(project.path("outside"), project.file("way")).unwrap();
    project.direct("mkfifo pipe");
    for path in ["", ".", "..", "../outside", "/etc/passwd", "sub/../a", "way/x", "a/x"] {
        let kept = project.try_keep(&[path], Duration::ZERO);
        assert!(kept.is_err(), "{path}: {kept:?}");
    }
    let long = "d/".repeat(3000);
    assert!(matches!(project.try_keep(&[&long], Duration::ZERO), Err(ChangeError::TooLarge(_))));
    assert_eq!(project.ids(), Vec::<String>::new(), "a refused edit leaves nothing");
    is_undone(&["pipe2"], "mkfifo pipe2; rm pipe2; echo x > pipe2");
}

#[test]
fn edit_that_replaces_too_much_is_refused() {
    let project = Project::new("mkdir big; for n in 1 2 3 4 5 6; do head -c 1000 /dev/zero > big/$n; done");
    let limits = |files, bytes| CollectLimits { files, bytes, ..CollectLimits::default() };
    let keep = |limits| {
        let options = EditOptions { limits, ..EditOptions::default() };
        project.store().keep(project.open_root(), [Path::new("big")], &options)
    };
    assert!(matches!(keep(limits(5, 10_000)), Err(ChangeError::TooLarge(_))));
    assert!(matches!(keep(limits(100, 5_999)), Err(ChangeError::TooLarge(_))));
    assert_eq!(project.ids(), Vec::<String>::new());
    keep(limits(100, 6_000)).unwrap();
}

#[test]
fn set_id_bits_and_capabilities_come_back() {
    if !rustix::process::geteuid().is_root() {
        return is_undone(&["prog"], "chmod 4755 prog");
    }
    let project = Project::new("cp /bin/true t; chmod 4755 t; setcap cap_net_raw+ep t 2>/dev/null || true");
    let attributes = || {
        let mut value = [0; 64];
        rustix::fs::getxattr(project.file("t"), "security.capability", &mut value).ok()
    };
    let before = attributes();
    let edit = project.keep(&["t"]);
    project.direct("rm t; echo x > t");
    let id = edit.settle().unwrap().unwrap().id;
    project.store().undo(&id, project.open_root()).unwrap();
    let mode = fs::symlink_metadata(project.file("t")).unwrap().mode();
    assert_eq!((mode & 0o7777, attributes()), (0o4755, before));
}

#[test]
fn full_disk_keeps_nothing_and_changes_nothing() {
    let project = Project::new("head -c 3000000 /dev/urandom > large; echo a > a");
    let (state, root) = (project.path("state"), project.root());
    let program = std::env::current_exe().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=1m tmpfs '{state}' && cd '{root}' && ASKFIRST_FULL='{folder}' '{program}' --exact \
         --ignored --nocapture edits::keeps_on_a_small_disk",
        state = state.display(),
        root = root.display(),
        folder = project.folder.path().display(),
        program = program.display(),
    );
    let output = in_namespace(&script);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("small disk: refused"), "{output:?}");
}

#[test]
#[ignore = "started by another test, on a small disk"]
fn keeps_on_a_small_disk() {
    let folder = PathBuf::from(std::env::var("ASKFIRST_FULL").unwrap());
    let (store, root) = (ChangeStore::open(open(&folder.join("state"))).unwrap(), folder.join("root"));
    let keep = |path: &str| store.keep(open(&root), [Path::new(path)], &EditOptions::default());
    assert!(keep("large").is_err(), "more than the disk has");
    let left = fs::read_dir(folder.join("state/commits")).unwrap().count();
    assert_eq!(left, 0, "a copy that failed leaves nothing");
    let edit = keep("a").unwrap();
    fs::write(root.join("a"), "b").unwrap();
    store.undo(&edit.settle().unwrap().unwrap().id, open(&root)).unwrap();
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "a\n");
    println!("small disk: refused");
}
