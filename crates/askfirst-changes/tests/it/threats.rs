//! Changes of either side between collect, commit and undo.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Barrier;

use askfirst_changes::{
    ChangeError, ChangeSet, ChangeStore, CollectLimits, CommitOptions, CommitState, PendingCommit, collect,
};

use super::{Project, conflicts, open, quickly};

const START: &str =
    "mkdir -p dir/sub other; echo a > a; echo b > b; echo x > dir/x; echo y > dir/sub/y; echo o > other/o";

/// Rehearses `script`, lets `meanwhile` happen, and expects a conflict at these paths and no change by the commit.
fn meets_conflict(script: &str, meanwhile: impl Fn(&Project, PathBuf), expected: &[&str]) {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, script);
    let changes = project.collect(&pending);
    meanwhile(&project, project.path("state/commits").join(pending.id()).join("upper"));
    let before = project.tree();
    let found = conflicts(project.try_commit(&pending, &changes).unwrap_err());
    assert_eq!(found, expected, "{script}");
    assert_eq!(project.tree(), before, "{script}");
    assert!(store.list().unwrap().is_empty());
}

#[test]
fn editor_that_saves_before_the_commit_is_a_conflict() {
    meets_conflict("echo n > a", |project, _| project.direct("echo edited > a"), &["a"]);
    meets_conflict("echo n > a", |project, _| project.direct("echo edited > t; mv t a"), &["a"]);
    meets_conflict("rm a", |project, _| project.direct("echo edited >> a"), &["a"]);
    meets_conflict("chmod 700 a", |project, _| project.direct("echo edited >> a"), &["a"]);
    meets_conflict("echo n > a", |project, _| project.direct("rm a"), &["a"]);
}

#[test]
fn rewrite_with_the_old_size_and_time_is_a_conflict() {
    let sly = |project: &Project, _| {
        project.direct("touch -r a ../t; printf 'z\\n' | dd of=a conv=notrunc; touch -r ../t a")
    };
    meets_conflict("echo n > a", sly, &["a"]);
}

#[test]
fn new_name_that_exists_meanwhile_is_a_conflict() {
    meets_conflict("echo n > new", |project, _| project.direct("echo mine > new"), &["new"]);
    meets_conflict("mkdir new; echo n > new/n", |project, _| project.direct("mkdir new"), &["new"]);
}

#[test]
fn change_below_a_removed_folder_is_a_conflict() {
    meets_conflict("rm -rf dir", |project, _| project.direct("echo more >> dir/sub/y"), &["dir/sub/y"]);
    let added = |project: &Project, _| project.direct("echo mine > dir/sub/z");
    meets_conflict("rm -rf dir", added, &["dir/sub/z", "dir"]);
}

#[test]
fn folder_swapped_for_a_link_is_a_conflict() {
    let swap = |project: &Project, _| {
        project.direct("mv dir kept; mkdir ../outside; echo x > ../outside/x");
        symlink(project.path("outside"), project.file("dir")).unwrap();
    };
    meets_conflict("echo n > dir/x", swap, &["dir/x"]);
    meets_conflict("echo n > dir/new", swap, &["dir/new"]);
    meets_conflict("rm -rf dir", swap, &["dir", "dir"]);
}

#[test]
fn layer_altered_while_the_person_thinks_is_a_conflict() {
    let write =
        |path: &'static str| move |_: &Project, upper: PathBuf| fs::write(upper.join(path), "evil").unwrap();
    meets_conflict("echo n > a", write("a"), &["a"]);
    meets_conflict("mkdir new; echo n > new/n", write("new/n"), &["new/n"]);
    meets_conflict("mkdir new; echo n > new/n", write("new/z"), &["new"]);
    let link = |_: &Project, upper: PathBuf| {
        fs::remove_file(upper.join("a")).unwrap();
        symlink("/etc/passwd", upper.join("a")).unwrap();
    };
    meets_conflict("echo n > a", link, &["a"]);
    let same = |_: &Project, upper: PathBuf| {
        let content = fs::read(upper.join("a")).unwrap();
        fs::remove_file(upper.join("a")).unwrap();
        fs::write(upper.join("a"), content).unwrap();
    };
    meets_conflict("echo n > a", same, &["a"]);
}

#[test]
fn conflict_can_be_collected_and_committed_again() {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, "echo n > a; rm -rf dir; mkdir dir; echo n > dir/n");
    let changes = project.collect(&pending);
    project.direct("echo edited > a");
    conflicts(project.try_commit(&pending, &changes).unwrap_err());
    let again = project.collect(&pending);
    assert_ne!(again.digest(), changes.digest());
    project.try_commit(&pending, &again).unwrap();
    assert_eq!((project.read("a"), project.read("dir/n")), ("n\n".into(), "n\n".into()));
    project.undo(pending.id());
    assert_eq!((project.read("a"), project.read("dir/x")), ("edited\n".into(), "x\n".into()));
}

#[test]
fn root_replaced_by_a_link_changes_nothing_outside() {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, "echo n > a; rm b");
    let changes = project.collect(&pending);
    project.direct("mkdir ../victim; cp -a . ../victim/");
    fs::rename(project.root(), project.path("moved")).unwrap();
    symlink(project.path("victim"), project.root()).unwrap();
    let error = project.try_commit(&pending, &changes).unwrap_err();
    assert!(matches!(error, ChangeError::OtherRoot(_)), "{error}");
    assert_eq!(fs::read_to_string(project.path("victim/a")).unwrap(), "a\n");
}

#[test]
fn two_commits_at_once_never_mix() {
    let project = Project::new("for i in $(seq 50); do echo $i > f$i; done");
    let store = project.store();
    let sides = ["one", "two"].map(|word| {
        let pending = store.begin(project.open_root()).unwrap();
        project.rehearse(&pending, &format!("for i in $(seq 50); do echo {word} > f$i; done"));
        let changes = project.collect(&pending);
        (pending, changes)
    });
    let barrier = Barrier::new(2);
    let commit = |side: &(PendingCommit, ChangeSet)| {
        barrier.wait();
        project.try_commit(&side.0, &side.1).is_ok()
    };
    let done = std::thread::scope(|scope| {
        let other = scope.spawn(|| commit(&sides[1]));
        [commit(&sides[0]), other.join().unwrap()]
    });
    assert_eq!(done.iter().filter(|done| **done).count(), 1);
    let word = if done[0] { "one\n" } else { "two\n" };
    assert!((1..=50).all(|i| project.read(&format!("f{i}")) == word));
}

#[test]
fn editor_that_saves_during_commits_loses_nothing() {
    let project = Project::new("for i in $(seq 40); do echo 0 > f$i; done");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut committed = 0;
    std::thread::scope(|scope| {
        let editor = scope.spawn(|| {
            let mut saved = 0_u32;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                saved += 1;
                fs::write(project.path("save"), format!("editor {saved}")).unwrap();
                fs::rename(project.path("save"), project.file("f40")).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
            saved
        });
        for turn in 0..12 {
            let store = project.store();
            let pending = store.begin(project.open_root()).unwrap();
            let layer = project.path("state/commits").join(pending.id()).join("upper");
            for i in 1..=40 {
                fs::write(layer.join(format!("f{i}")), format!("turn {turn}")).unwrap();
            }
            let changes = project.collect(&pending);
            match project.try_commit(&pending, &changes) {
                Ok(_) => committed += 1,
                Err(ChangeError::Conflict(_)) => {
                    assert_ne!(project.read("f1"), format!("turn {turn}"), "a conflict changes nothing");
                }
                Err(error) => panic!("{error}"),
            }
            assert_eq!(project.read("f1"), project.read("f39"));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let saved = editor.join().unwrap();
        // The last save is in the tree, or a commit that came after it keeps it.
        let last = format!("editor {saved}");
        let kept = walk(&project.path("state")).into_iter().any(|text| text == last);
        assert!(project.read("f40") == last || kept);
    });
    println!("{committed} of 12 commits found the editor still");
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() { walk(&path) } else { vec![fs::read_to_string(path).unwrap_or_default()] }
        })
        .collect()
}

#[test]
fn undo_after_an_edit_is_a_conflict() {
    for (script, edit, expected) in [
        ("echo n > a", "echo edited > a", vec!["a"]),
        ("mkdir new; echo n > new/n", "echo mine > new/mine", vec!["new/mine", "new"]),
        ("mkdir new; echo n > new/n", "echo edited >> new/n", vec!["new/n"]),
        ("rm -rf dir", "mkdir dir", vec!["dir"]),
        ("chmod 700 a", "chmod 777 a", vec!["a"]),
    ] {
        let project = Project::new(START);
        let summary = project.run(script);
        project.direct(edit);
        let before = project.tree();
        let error = project.store().undo(&summary.id, project.open_root()).unwrap_err();
        assert_eq!(conflicts(error), expected, "{script}");
        assert_eq!(project.tree(), before, "{script}");
        assert_eq!(project.store().list().unwrap()[0].1, CommitState::Done);
    }
}

#[test]
fn undo_of_undo_and_again_gives_both_trees() {
    let project = Project::new(START);
    let before = project.tree();
    let summary = project.run("echo n > a; rm -rf dir; mkdir -p p/q; chmod 700 b; mv other moved");
    let after = project.tree();
    for _ in 0..3 {
        project.undo(&summary.id);
        assert_eq!(project.tree(), before);
        let error = project.store().undo(&summary.id, project.open_root()).unwrap_err();
        assert!(matches!(error, ChangeError::WrongState { state: "undone", .. }), "{error}");
        project.store().redo(&summary.id, project.open_root()).unwrap();
        assert_eq!(project.tree(), after);
    }
}

#[test]
fn commits_can_be_undone_one_after_the_other() {
    let project = Project::new(START);
    let mut trees = vec![project.tree()];
    let scripts = ["echo 1 > a", "echo 2 > a; mkdir n", "rm a; echo 3 > n/a", "mv n m; rm -rf dir"];
    let ids: Vec<String> = scripts
        .iter()
        .map(|script| {
            let summary = project.run(script);
            trees.push(project.tree());
            summary.id
        })
        .collect();
    assert!(project.store().undo(&ids[0], project.open_root()).is_err());
    for (id, tree) in ids.iter().zip(&trees).rev() {
        project.undo(id);
        assert_eq!(project.tree(), *tree);
    }
}

#[test]
fn special_files_need_an_option() {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, "mkfifo p; echo s > s; chmod 4755 s");
    let changes = project.collect(&pending);
    let refused = pending.commit(project.open_root(), pending.upper(), &changes, &CommitOptions::default());
    assert!(matches!(refused.unwrap_err(), ChangeError::Unsupported { .. }));
    assert!(!project.file("p").exists());
    pending.commit(project.open_root(), pending.upper(), &changes, &quickly()).unwrap();
    assert!(project.file("p").exists());
}

#[test]
fn other_folder_is_not_committed_to() {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, "echo n > a");
    let changes = project.collect(&pending);
    let other = open(&project.file("other"));
    let error = pending.commit(other, pending.upper(), &changes, &quickly()).unwrap_err();
    assert!(matches!(error, ChangeError::OtherRoot(_)), "{error}");
}

#[test]
fn marks_of_overlayfs_do_not_reach_the_root() {
    let project = Project::new(START);
    project.run("rm -rf dir; mkdir dir; echo n > dir/n; echo more >> a; chmod 444 b; mv other o2");
    let mut waiting = vec![project.root()];
    while let Some(path) = waiting.pop() {
        let mut list = [0_u8; 1024];
        let length = rustix::fs::llistxattr(&path, &mut list).unwrap();
        assert!(!String::from_utf8_lossy(&list[..length]).contains("overlay"), "{}", path.display());
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert_eq!(
        fs::metadata(project.file("b")).unwrap().permissions(),
        std::os::unix::fs::PermissionsExt::from_mode(0o100444)
    );
}

#[test]
fn mount_inside_the_root_is_an_error() {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    fs::create_dir(project.path("state/commits").join(pending.id()).join("upper/dev")).unwrap();
    let collected = collect(open(std::path::Path::new("/")), pending.upper(), &CollectLimits::default());
    assert!(collected.is_err());
    let _: &ChangeStore = &store;
}
