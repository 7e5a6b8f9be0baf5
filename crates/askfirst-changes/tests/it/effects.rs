//! Tests `collect` with each way in which overlayfs stores a change, and with each kind of change.

use std::fs;

use askfirst_changes::{ChangeError, ChangeKind, CollectLimits, ObjectKind, TooLarge, collect};

use super::{Project, lines, open};

const START: &str = "mkdir -p dir/sub full; echo a > a; echo b > b; echo x > dir/x; echo y > dir/sub/y;
    ln -s a link; echo 1 > full/1; echo 2 > full/2; echo h > hard1; ln hard1 hard2; touch -d @1000 a";

fn effects(script: &str) -> Vec<String> {
    Project::new(START).effects(script)
}

#[test]
fn file_opened_for_writing_without_a_write_is_unchanged() {
    assert_eq!(effects("python3 -c \"open('a', 'r+').close()\"; : >> b"), [""; 0]);
    assert_eq!(effects("cat a > t; cat t > a; touch -d @1000 a; rm t"), [""; 0]);
}

#[test]
fn change_of_time_only_is_a_change_of_times() {
    assert_eq!(effects("touch -d @2000 a"), ["Times a"]);
}

#[test]
fn each_kind_of_change_is_told_apart() {
    let script = "echo more >> a; chmod 700 b; rm link; echo f > link; rm hard1; mkdir new; echo n > new/n";
    let expected = ["Content a", "Attributes b", "Removed hard1", "Kind link", "Added new", "Added new/n"];
    assert_eq!(effects(script), expected);
    assert_eq!(effects("ln -sfn b link"), ["Content link"]);
    assert_eq!(effects("chmod 700 dir; chmod 711 ."), ["Attributes .", "Attributes dir"]);
}

#[test]
fn removed_folder_lists_what_was_below_it() {
    let expected = ["Removed dir", "Removed dir/sub", "Removed dir/sub/y", "Removed dir/x"];
    assert_eq!(effects("rm -rf dir"), expected);
}

#[test]
fn replaced_folder_compares_old_and_new_content() {
    let script = "rm -rf full; mkdir full; echo 1 > full/1; touch -r full/1 t; echo 3 > full/3; rm t";
    let found = effects(script);
    assert_eq!(found, ["Times full/1", "Removed full/2", "Added full/3"]);
}

#[test]
fn digests_and_sizes_of_both_sides_are_listed() {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, "printf new > a");
    let changes = project.collect(&pending);
    let change = changes.changes().next().unwrap();
    let (before, after) = (change.before.as_ref().unwrap(), change.after.as_ref().unwrap());
    assert_eq!((before.size, after.size, &after.kind), (2, 3, &ObjectKind::File));
    let digest = "sha256:11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437";
    assert_eq!(after.digest.unwrap().to_string(), digest);
    assert_eq!(change.kind(), ChangeKind::Content);
    assert!(changes.replaced_bytes() >= 2);
}

#[test]
fn special_files_are_named() {
    let script = "mkfifo p; printf '' > s; chmod 4755 s; cp -a p q; rm p;
        python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('sock')\";
        python3 -c \"import os; os.setxattr('b', 'user.note', b'1')\"";
    let expected = ["Attributes b Attributes", "Added q Pipe", "Added s SetId", "Added sock Socket"];
    assert_eq!(effects(script), expected);
}

#[test]
fn links_within_the_change_set_are_ordinary() {
    assert_eq!(effects("echo n > n1; ln n1 n2"), ["Added n1", "Added n2"]);
    // The layer loses the other name before it is collected, as if it were outside.
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, "echo n > n1");
    let upper = project.path("state/commits").join(pending.id()).join("upper");
    fs::hard_link(upper.join("n1"), project.path("outside")).unwrap();
    assert_eq!(lines(&project.collect(&pending)), ["Added n1 LinkedElsewhere"]);
}

#[test]
fn written_name_of_a_linked_file_leaves_the_other_name() {
    assert_eq!(effects("echo more >> hard1"), ["Content hard1"]);
}

#[test]
fn program_in_the_view_cannot_forge_marks() {
    let set = |path: &str, name: &str, value: &str| {
        format!("python3 -c \"import os; os.setxattr('{path}', 'user.overlay.{name}', b'{value}')\"; ")
    };
    let script = format!(
        "! mknod dir/x2 c 0 0; ! mknod zero c 1 5; : > b; {}{}{}true",
        set("dir", "opaque", "y"),
        set("full", "opaque", "x"),
        set("b", "whiteout", "y")
    );
    let found = effects(&script);
    assert!(found.contains(&"Content b Attributes".to_owned()), "{found:?}");
    assert!(!found.iter().any(|line| line.starts_with("Removed")), "{found:?}");
}

#[test]
fn empty_file_with_a_mark_is_a_whiteout_in_a_marked_folder() {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    let upper = project.path("state/commits").join(pending.id()).join("upper");
    for name in ["dir", "full"] {
        fs::create_dir(upper.join(name)).unwrap();
    }
    for name in ["dir/x", "full/1"] {
        fs::write(upper.join(name), "").unwrap();
    }
    let set = |path: &str, name: &str, value: &[u8]| {
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(upper.join(path), format!("user.overlay.{name}"), value, flags).unwrap();
    };
    set("dir", "opaque", b"x");
    set("dir/x", "whiteout", b"y");
    set("full/1", "whiteout", b"y");
    let found = lines(&project.collect(&pending));
    assert!(found.contains(&"Removed dir/x".to_owned()), "{found:?}");
    assert!(found.contains(&"Content full/1".to_owned()), "{found:?}");
}

#[test]
fn names_that_are_not_text_are_kept() {
    let project =
        Project::new("printf x > \"$(printf 'bad\\377name')\"; printf y > \"$(printf 'new\\nline')\"");
    let script =
        "rm bad*; printf z > \"$(printf '\\303\\050\\001')\"; for f in new*; do echo q >> \"$f\"; done";
    let before = project.tree();
    let summary = project.run(script);
    assert_eq!((summary.added, summary.changed, summary.removed), (1, 1, 1));
    let shown = project.store().show(&summary.id).unwrap();
    let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xc3\x28\x01");
    assert!(shown.iter().any(|change| change.path() == std::path::Path::new(name)));
    assert!(project.root().join(name).exists());
    project.undo(&summary.id);
    assert_eq!(project.tree(), before);
}

fn limited(script: &str, limits: CollectLimits) -> TooLarge {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, script);
    match collect(project.open_root(), pending.upper(), &limits).unwrap_err() {
        ChangeError::TooLarge(limit) => limit,
        other => panic!("{other}"),
    }
}

#[test]
fn too_many_files_are_refused() {
    let limits = CollectLimits { files: 100, ..CollectLimits::default() };
    assert_eq!(limited("seq 200 | xargs touch", limits), TooLarge::Files(100));
    assert_eq!(limited("mkdir n; cd n; seq 200 | xargs touch", limits), TooLarge::Files(100));
}

#[test]
fn sparse_terabyte_is_refused_without_reading_it() {
    assert_eq!(limited("truncate -s 1T big", CollectLimits::default()), TooLarge::Bytes(8 << 30));
}

#[test]
fn deep_folders_and_long_paths_are_refused() {
    let deep = "python3 -c \"
import os
for _ in range(2000):
    os.mkdir('d'); os.chdir('d')\"";
    assert_eq!(limited(deep, CollectLimits::default()), TooLarge::Depth(128));
    let limits = CollectLimits { depth: 4000, ..CollectLimits::default() };
    let long = deep.replace("'d'", "'d' * 200").replace("2000", "40");
    assert_eq!(limited(&long, limits), TooLarge::Path(4000));
}

#[test]
fn very_deep_layer_can_be_discarded() {
    let project = Project::new(START);
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    let deep = "python3 -c \"
import os
for _ in range(3000):
    os.mkdir('d'); os.chdir('d')\"; mkdir shut; chmod 0 shut";
    project.rehearse(&pending, deep);
    pending.discard().unwrap();
    assert_eq!(fs::read_dir(project.path("state/commits")).unwrap().count(), 0);
}

#[test]
fn pipe_in_the_way_does_not_hang() {
    let project = Project::new("mkfifo p; echo f > f");
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, "rm p; echo p > p; rm f; mkfifo f");
    assert_eq!(lines(&project.collect(&pending)), ["Kind f Pipe", "Kind p"]);
}

#[test]
fn digest_covers_path_kind_mode_and_content() {
    let digest = |script: &str| {
        let project = Project::new("mkdir d; echo a > a; touch -d @1000 a");
        let store = project.store();
        let pending = store.begin(project.open_root()).unwrap();
        project.rehearse(
            &pending,
            &format!("{script}; find . -newermt @1500000000 -type f -exec touch -d @9 {{}} +"),
        );
        let root = open(&project.root());
        let changes = collect(root, pending.upper(), &CollectLimits::default()).unwrap();
        let bound = changes.root();
        (bound, changes.digest())
    };
    let found: Vec<_> =
        ["echo b > b", "echo c > b", "echo b > c", "echo b > b; chmod 755 b", "ln -s b b", "rm a"]
            .into_iter()
            .map(digest)
            .collect();
    let different: std::collections::HashSet<_> = found.iter().map(|(_, digest)| *digest).collect();
    assert_eq!(different.len(), found.len());
}
