//! Commits from a layer on a tmpfs, and disks that are really full.

use std::fs;
use std::path::PathBuf;

use askfirst_changes::{CollectLimits, CommitState, RecoveredCommit, collect};

use super::{Project, assert_same, open, quickly, tree};

const START: &str = "mkdir -p dir/sub; echo a > a; echo b > b; echo x > dir/x; echo y > dir/sub/y; ln -s a link; chmod 500 dir/sub";
const SCRIPT: &str =
    "echo n > a; chmod 700 b; rm -rf dir; mkdir -p new/in; echo 1 > new/in/1; ln new/in/1 new/in/2;
    ln -sf b link; mkfifo pipe; truncate -s 300000 sparse; echo end >> sparse";

/// A folder in memory for the layers of a view.
fn memory() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    for name in ["upper", "work"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::set_permissions(folder.path().join("upper"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    folder
}

#[test]
fn layer_on_a_tmpfs_is_committed_by_copy() {
    let (project, layers) = (Project::new(START), memory());
    let direct = Project::new(START);
    direct.direct(SCRIPT);
    let before = project.tree();
    let output = project.rehearse_on(layers.path(), SCRIPT);
    assert!(output.status.success(), "{output:?}");
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    let upper = open(&layers.path().join("upper"));
    let changes = collect(project.open_root(), &upper, &CollectLimits::default()).unwrap();
    pending.commit(project.open_root(), &upper, &changes, &quickly()).unwrap();
    drop((upper, layers));
    let after = project.tree();
    let without_times = |tree: &super::Tree| -> super::Tree {
        tree.iter()
            .map(|(path, (kind, mode, content, _))| (path.clone(), (kind.clone(), *mode, content.clone(), 0)))
            .collect()
    };
    assert_same("copy", &without_times(&after), &without_times(&direct.tree()));
    let inode = |name: &str| std::os::unix::fs::MetadataExt::ino(&fs::metadata(project.file(name)).unwrap());
    assert_eq!(inode("new/in/1"), inode("new/in/2"));
    for _ in 0..2 {
        store.undo(pending.id(), project.open_root()).unwrap();
        assert_same("undo", &project.tree(), &before);
        store.redo(pending.id(), project.open_root()).unwrap();
        assert_same("redo", &project.tree(), &after);
    }
    project.direct("echo edited > a");
    assert!(store.undo(pending.id(), project.open_root()).is_err());
    assert_eq!(project.read("a"), "edited\n");
}

/// Commits and undoes on a tmpfs of this size that contains both the root and the store.
fn on_a_small_disk(ballast: u64, copied: bool) -> bool {
    let disk = PathBuf::from(std::env::var("ASKFIRST_DISK").unwrap());
    let place = disk.join("place");
    fs::create_dir(&place).unwrap();
    for name in ["root", "state", "upper"] {
        fs::create_dir(place.join(name)).unwrap();
    }
    let root = place.join("root");
    for number in 0..8 {
        fs::write(root.join(format!("f{number}")), vec![b'o'; 5000]).unwrap();
    }
    let before = tree(&root);
    let store = askfirst_changes::ChangeStore::open(open(&place.join("state"))).unwrap();
    let pending = store.begin(open(&root)).unwrap();
    let own = place.join("state/commits").join(pending.id()).join("upper");
    let upper = if copied { place.join("upper") } else { own };
    for number in 0..8 {
        fs::write(upper.join(format!("f{number}")), vec![b'n'; 5000]).unwrap();
    }
    let changes = collect(open(&root), open(&upper), &CollectLimits::default()).unwrap();
    // A tmpfs gives a page at a time.
    let mut fill = fs::File::create(disk.join("ballast")).unwrap();
    while std::io::Write::write_all(&mut fill, &[1; 4096]).is_ok() {}
    let full = fill.metadata().unwrap().len();
    fill.set_len(full.saturating_sub(ballast)).unwrap();
    let done = pending.commit(open(&root), open(&upper), &changes, &quickly()).is_ok();
    let id = pending.id().to_owned();
    let after = tree(&root);
    assert!(done != (after == before), "ballast {ballast}");
    if done {
        let undone = store.undo(&id, open(&root)).is_ok();
        fs::remove_file(disk.join("ballast")).unwrap();
        store.recover(|_| Some(open(&root))).unwrap();
        assert!(tree(&root) == if undone { before } else { after }, "undo, ballast {ballast}");
    } else {
        fs::remove_file(disk.join("ballast")).unwrap();
        drop(pending);
        store.recover(|_| Some(open(&root))).unwrap();
        assert!(tree(&root) == before, "ballast {ballast}");
    }
    fs::remove_dir_all(place).unwrap();
    done
}

#[test]
#[ignore = "started by other tests as a process of its own"]
fn does_what_another_test_tells_it() {
    if let Ok(place) = std::env::var("ASKFIRST_OVERLAY") {
        on_an_overlay(&PathBuf::from(place));
        return;
    }
    for copied in [false, true] {
        let done: Vec<bool> = (0..60).map(|pages| on_a_small_disk(pages * 4096, copied)).collect();
        assert!(done.contains(&false) && done.contains(&true), "{copied}: {done:?}");
    }
    println!("said: 120 disks");
}

/// Starts this test program in a namespace, after the commands of `setup`.
fn again_in_namespace(setup: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let script = format!(
        "{setup} exec '{}' --exact --ignored --nocapture copies::does_what_another_test_tells_it",
        program.display()
    );
    let output = super::in_namespace(&script);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{output:?}");
    text
}

/// Commits to a root that is itself an overlay, as in a container, from a layer on a tmpfs.
fn on_an_overlay(place: &std::path::Path) {
    let (root, upper) = (place.join("root"), place.join("tmp/upper"));
    let store = askfirst_changes::ChangeStore::open(open(&place.join("tmp/state"))).unwrap();
    let commit = |fill: &dyn Fn()| {
        let _ = fs::remove_dir_all(&upper);
        fs::create_dir(&upper).unwrap();
        fs::set_permissions(&upper, fs::metadata(&root).unwrap().permissions()).unwrap();
        fill();
        let pending = store.begin(open(&root)).unwrap();
        let changes = collect(open(&root), open(&upper), &CollectLimits::default()).unwrap();
        let done = pending.commit(open(&root), open(&upper), &changes, &quickly());
        done.map(|_| pending.id().to_owned())
    };
    let whiteout = |name: &str| {
        let mode = rustix::fs::Mode::empty();
        let device = rustix::fs::FileType::CharacterDevice;
        rustix::fs::mknodat(rustix::fs::CWD, upper.join(name), device, mode, 0).unwrap();
    };
    let before = tree(&root);
    let id = commit(&|| {
        fs::write(upper.join("a"), "new").unwrap();
        whiteout("b");
        fs::create_dir(upper.join("new")).unwrap();
        fs::write(upper.join("new/n"), "new").unwrap();
    });
    let after = tree(&root);
    assert_eq!(fs::read_to_string(root.join("new/n")).unwrap(), "new");
    assert!(!root.join("b").exists());
    let id = id.unwrap();
    store.undo(&id, open(&root)).unwrap();
    assert_same("undo", &tree(&root), &before);
    store.redo(&id, open(&root)).unwrap();
    assert_same("redo", &tree(&root), &after);
    // The lower layer's folder cannot be renamed, so nothing of this commit stays.
    let error = commit(&|| {
        fs::write(upper.join("a"), "newer").unwrap();
        whiteout("dir");
    });
    assert!(error.unwrap_err().to_string().contains("rename `dir`"));
    assert_same("refused", &tree(&root), &after);
    println!("said: overlay");
}

#[test]
fn root_that_is_an_overlay_is_committed_by_copy() {
    let project = Project::new(START);
    let place = project.path("place");
    let setup = format!(
        "mkdir -p '{0}/tmp' '{0}/root' && mount -t tmpfs tmpfs '{0}/tmp' && mkdir '{0}/tmp/up' '{0}/tmp/work' '{0}/tmp/state' \
         && mount -t overlay overlay -o 'lowerdir={1},upperdir={0}/tmp/up,workdir={0}/tmp/work,userxattr' '{0}/root' \
         && export ASKFIRST_OVERLAY='{0}';",
        place.display(),
        project.root().display()
    );
    assert!(again_in_namespace(&setup).contains("said: overlay"));
}

#[test]
fn full_tmpfs_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().display();
    let setup = format!("mount -t tmpfs -o size=1m tmpfs '{disk}'; export ASKFIRST_DISK='{disk}';");
    assert!(again_in_namespace(&setup).contains("said: 120 disks"));
}

#[test]
fn copies_left_by_a_killed_commit_are_removed() {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    let id = pending.id().to_owned();
    drop(pending);
    let meta = fs::metadata(project.root()).unwrap();
    use std::os::unix::fs::MetadataExt;
    let root = format!("{{\"device\":{},\"inode\":{}}}", meta.dev(), meta.ino());
    fs::write(project.path("state/commits").join(&id).join("staged"), root).unwrap();
    let stage = project.file(&format!(".askfirst-{id}.tmp"));
    fs::create_dir_all(stage.join("new")).unwrap();
    fs::write(stage.join("new/0"), "copy").unwrap();
    let report = store.recover(|_| Some(project.open_root())).unwrap();
    assert!(matches!(report[..], [(_, RecoveredCommit::Dropped)]), "{report:?}");
    assert!(!stage.exists());
    assert!(!store.list().unwrap().iter().any(|(_, state)| *state != CommitState::Done));
}
