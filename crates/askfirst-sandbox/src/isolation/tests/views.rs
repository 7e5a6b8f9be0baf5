//! Tests of views: what a program changes goes to the layers, and the files stay as they are.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::runs::sandbox;
use super::setup::{Home, home, profile, sh};
use crate::isolation::order::Backend;
use crate::isolation::{SandboxRun, launch_in_sandbox};
use crate::profile::{Denial, DeniedPath, Grant, OSProfile, View};
use crate::stop::Stop;

/// A view of a root with the layers in a folder.
pub(super) fn view(root: &Path, layers: &Path) -> View {
    let grant = |name: &str| Grant::of(layers.join(name)).unwrap();
    View { root: root.components().collect(), upper: grant("upper"), work: grant("work") }
}

/// Everything below a folder: names, inodes, modes, times of change and contents.
pub(super) fn entries(folder: &Path) -> BTreeMap<PathBuf, (u64, u32, i64, i64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        let content = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        found.insert(path.clone(), (meta.ino(), meta.mode(), meta.ctime(), meta.ctime_nsec(), content));
        if meta.is_dir() {
            found.extend(entries(&path));
        }
    }
    found
}

/// A home with files in `A`, and a profile that shows `A` as a view.
fn scene() -> (Home, OSProfile) {
    let home = home();
    for name in ["A/sub", "A/target", "LAYERS/upper", "LAYERS/work"] {
        fs::create_dir_all(home.path.join(name)).unwrap();
    }
    for name in ["A/file", "A/old", "A/sub/file", "A/target/old"] {
        fs::write(home.path.join(name), "text\n").unwrap();
    }
    let mut profile = profile(&home.path);
    profile.views = vec![view(&home.path.join("A"), &home.path.join("LAYERS"))];
    (home, profile)
}

fn run(home: &Home, profile: &OSProfile, script: &str) -> SandboxRun {
    let spec = sh(&home.path.join("A"), script);
    launch_in_sandbox(&sandbox(), profile, &spec, &Stop::new()).unwrap()
}

fn text(run: &SandboxRun) -> String {
    let errors = String::from_utf8(run.finished.stderr.whole().unwrap()).unwrap();
    String::from_utf8(run.finished.stdout.whole().unwrap()).unwrap() + &errors
}

#[test]
fn changes_in_a_view_go_to_the_layer_alone() {
    let (home, profile) = scene();
    let before = entries(&home.path.join("A"));
    let script = "echo more >> file; echo new > new; rm old; mkdir -p d/e; mv sub/file sub/moved; chmod 600 file; \
                  ln -s file link; cat file; ls; ls sub";
    assert_eq!(text(&run(&home, &profile, script)), "text\nmore\nd\nfile\nlink\nnew\nsub\ntarget\nmoved\n");
    assert_eq!(entries(&home.path.join("A")), before);
    let upper = home.path.join("LAYERS/upper");
    assert_eq!(fs::read_to_string(upper.join("file")).unwrap(), "text\nmore\n");
    assert_eq!(fs::read_to_string(upper.join("new")).unwrap(), "new\n");
    let kind = upper.join("old").symlink_metadata().unwrap();
    assert!(kind.rdev() == 0 && kind.mode() & libc::S_IFMT == libc::S_IFCHR, "a removal is a device 0/0");
}

#[test]
fn grant_inside_a_view_is_written_directly() {
    let (home, mut profile) = scene();
    profile.writable.push(Grant::of(home.path.join("A/target")).unwrap());
    let said = text(&run(
        &home,
        &profile,
        "echo built > target/new; echo text > file2; mv target t 2>&1 | grep -c busy",
    ));
    assert_eq!(said, "1\n");
    assert_eq!(fs::read_to_string(home.path.join("A/target/new")).unwrap(), "built\n");
    assert!(!home.path.join("A/file2").exists());
}

// invariant: 4
#[test]
fn direct_folder_in_a_view_stays_at_its_place() {
    let (home, mut profile) = scene();
    let direct = home.path.join("A/sub/deep/out");
    for folder in [&direct, &home.path.join("A/other/out"), &home.path.join("OUT/out")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(home.path.join("A/steer"), "text\n").unwrap();
    profile.writable.push(Grant::of(&direct).unwrap());
    let before = entries(&home.path.join("A"));
    let script = "exec 2>/dev/null
        mv sub/deep/out x; mv sub/deep x; mv sub x; mv -T other sub; mv -T other/out sub/deep/out
        rmdir sub/deep/out; rm -rf sub; ln -sfn ../../.. sub/deep/out; ln -sfn .. sub/deep; ln -sfn . sub
        python3 -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for a in (b\"sub/deep/out\", b\"sub/deep\", b\"sub\"): print(libc.rename(a, a + b\"2\"), ctypes.get_errno())
'
        umount sub/deep/out; ln steer sub/deep/out/steer; ln sub/deep/out/steer linked
        mv steer sub/deep/out/moved; echo over > sub/deep/out/moved; echo built > sub/deep/out/new; echo new > steer";
    assert_eq!(text(&run(&home, &profile, script)), format!("-1 {}\n", libc::EBUSY).repeat(3));
    let mut after = entries(&home.path.join("A"));
    let written = after.split_off(&direct.join("moved"));
    after.append(&mut written.into_iter().filter(|(path, _)| path.parent() != Some(&direct)).collect());
    let without_times = |all: BTreeMap<PathBuf, (u64, u32, i64, i64, Vec<u8>)>| {
        all.into_iter()
            .map(|(path, (inode, mode, _, _, content))| (path, inode, mode, content))
            .collect::<Vec<_>>()
    };
    assert_eq!(without_times(after), without_times(before), "a file outside the folder changed");
    let read = |name: &str| fs::read_to_string(direct.join(name)).unwrap();
    assert_eq!((read("new"), read("moved")), ("built\n".to_owned(), "over\n".to_owned()));
}

// invariant: 4
#[test]
fn denied_path_in_a_direct_folder_stays_denied() {
    let (home, mut profile) = scene();
    let target = home.path.join("A/target");
    fs::create_dir_all(target.join("in")).unwrap();
    fs::write(target.join("in/.env"), "secret").unwrap();
    fs::write(target.join("held"), "text\n").unwrap();
    profile.writable.push(Grant::of(&target).unwrap());
    let denied = |name: &str, what| DeniedPath { path: target.join(name), what };
    profile.denied = vec![denied("in/.env", Denial::All), denied("held", Denial::Write)];
    let script =
        "exec 2>&1; cat target/in/.env; mv target/in target/x; echo over > target/held; rm -f target/held
        echo built > target/in/new; cp -r target all; cat all/in/.env; cat target/held";
    let said = text(&run(&home, &profile, script));
    assert!(!said.contains("secret") && said.ends_with("text\n"), "{said}");
    assert_eq!(fs::read_to_string(target.join("in/.env")).unwrap(), "secret");
    assert_eq!(fs::read_to_string(target.join("held")).unwrap(), "text\n");
    assert_eq!(fs::read_to_string(target.join("in/new")).unwrap(), "built\n");
}

#[test]
fn view_of_a_folder_without_write_grant_is_refused() {
    let (home, mut profile) = scene();
    profile.readable.push(Grant::of(home.path.join("OUT")).unwrap());
    profile.views[0].root = home.path.join("OUT");
    let spec = sh(&home.path.join("A"), "echo x > new");
    let refused = launch_in_sandbox(&sandbox(), &profile, &spec, &Stop::new()).unwrap_err().to_string();
    assert!(refused.contains("no writable grant"), "{refused}");
    assert!(!home.path.join("A/new").exists());
}

// invariant: 4
#[test]
fn denied_path_is_hidden_in_a_view_under_any_name() {
    let (home, mut profile) = scene();
    fs::write(home.path.join("A/sub/.env"), "secret").unwrap();
    profile.denied = vec![DeniedPath { path: home.path.join("A/sub/.env"), what: Denial::All }];
    let script = "cat sub/.env; mv sub other; mv sub/.env x; ln sub/.env y; cp -r sub z; cat x y other/.env z/.env; true";
    assert!(!text(&run(&home, &profile, script)).contains("secret"));
    assert!(entries(&home.path.join("LAYERS/upper")).values().all(|entry| entry.4 != b"secret"));
}

#[test]
fn marks_of_a_layer_cannot_be_forged() {
    let (home, profile) = scene();
    let script = "mknod forged c 0 0 || echo refused; python3 -c '
import os
os.setxattr(\"sub\", \"user.overlay.opaque\", b\"y\")
print(os.getxattr(\"sub\", \"user.overlay.opaque\"))' ; ls sub";
    let said = text(&run(&home, &profile, script));
    assert!(said.contains("refused") && said.contains("file\n"), "{said}");
    assert!(!home.path.join("LAYERS/upper/forged").exists());
}

#[test]
fn layer_that_was_swapped_is_refused() {
    let (home, profile) = scene();
    fs::rename(home.path.join("LAYERS/upper"), home.path.join("LAYERS/gone")).unwrap();
    std::os::unix::fs::symlink(home.path.join("OUT"), home.path.join("LAYERS/upper")).unwrap();
    let spec = sh(&home.path.join("A"), "echo x > new");
    let refused = launch_in_sandbox(&sandbox(), &profile, &spec, &Stop::new()).unwrap_err().to_string();
    assert!(refused.contains("mounting"), "{refused}");
    assert!(!home.path.join("OUT/new").exists() && !home.path.join("A/new").exists());
}

#[test]
fn weaker_backend_makes_no_view_and_starts_nothing() {
    let (home, profile) = scene();
    let mut weaker = sandbox();
    weaker.backend = Backend::ContentOnly;
    let spec = sh(&home.path.join("A"), "echo x > new");
    let refused = launch_in_sandbox(&weaker, &profile, &spec, &Stop::new()).unwrap_err().to_string();
    assert!(refused.contains("making a view"), "{refused}");
    assert!(!home.path.join("A/new").exists());
}
