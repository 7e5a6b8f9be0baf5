//! Tests of kept folders: the caller's folder is there instead of a private one, and only that.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::runs::{bubblewrap_sandbox, sandbox};
use super::setup::{Home, home, profile, sh};
use crate::isolation::{Sandbox, launch_in_sandbox};
use crate::profile::{Grant, KeptFolder, OSProfile};
use crate::stop::Stop;

/// A home, and a profile that keeps `/tmp` in the folder `KEPT` next to the roots.
fn scene() -> (Home, OSProfile) {
    let home = home();
    fs::create_dir(home.path.join("KEPT")).unwrap();
    let mut profile = profile(&home.path);
    profile.kept = vec![kept("/tmp", &home.path.join("KEPT"))];
    (home, profile)
}

pub(super) fn kept(at: impl Into<PathBuf>, folder: &Path) -> KeptFolder {
    KeptFolder { at: at.into(), folder: Grant::of(folder).unwrap() }
}

fn said_in(sandbox: &Sandbox, folder: &Path, profile: &OSProfile, script: &str) -> String {
    let spec = sh(folder, &format!("exec 2>&1; {script}"));
    let over = launch_in_sandbox(sandbox, profile, &spec, &Stop::new()).unwrap();
    String::from_utf8(over.finished.stdout.whole().unwrap()).unwrap()
}

fn said(home: &Home, profile: &OSProfile, script: &str) -> String {
    said_in(&sandbox(), &home.path.join("A"), profile, script)
}

/// Everything below a folder, relative to it.
fn below(folder: &Path) -> BTreeSet<PathBuf> {
    let all = super::views::entries(folder);
    all.into_keys().map(|path| path.strip_prefix(folder).unwrap().to_owned()).collect()
}

#[test]
fn kept_folder_is_there_in_the_next_run() {
    let (home, profile) = scene();
    assert_eq!(said(&home, &profile, "echo kept > /tmp/x; mkdir /tmp/d; echo other > /var/tmp/d/y"), "");
    assert_eq!(said(&home, &profile, "cat /tmp/x /tmp/d/y"), "kept\nother\n");
    assert_eq!(fs::read_to_string(home.path.join("KEPT/d/y")).unwrap(), "other\n");
}

// invariant: 4
#[test]
fn kept_folder_ignores_set_user_ids_and_devices() {
    let (home, profile) = scene();
    let said = said(&home, &profile, "grep ' /tmp ' /proc/self/mountinfo | cut -d' ' -f6");
    let options: Vec<&str> = said.trim().split(',').collect();
    for option in ["rw", "nosuid", "nodev"] {
        assert!(options.contains(&option), "{said}");
    }
}

#[test]
fn writes_to_a_kept_home_can_be_seen_afterwards() {
    let (home, mut profile) = scene();
    let own = PathBuf::from("/home/someone");
    fs::create_dir(home.path.join("HOME")).unwrap();
    profile.private.push(own.clone());
    profile.kept.push(kept(&own, &home.path.join("HOME")));
    assert_eq!(said(&home, &profile, "cd /home/someone && mkdir .x && echo s > .x/S"), "");
    assert_eq!(below(&home.path.join("HOME")), [".x", ".x/S"].map(PathBuf::from).into());
}

#[test]
fn roots_inside_a_kept_folder_leave_their_mount_points() {
    let (home, mut profile) = scene();
    let folder = home.path.join("A");
    let (link, to) = (home.path.join("B2"), home.path.join("B"));
    profile.links = vec![(link, to)];
    assert_eq!(said(&home, &profile, "echo text > file; ls -d ../B2/.; echo x > ../new"), "../B2/.\n");
    assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "text\n");
    let mut expected = profile.mount_points_in(Path::new("/tmp"), &folder);
    expected.insert(home.path.join("new").strip_prefix("/tmp").unwrap().to_owned());
    assert_eq!(below(&home.path.join("KEPT")), expected);
    assert_eq!(said(&home, &profile, "cat file"), "text\n");
}

// invariant: 4
#[test]
fn link_in_a_kept_folder_leads_no_mount_outside() {
    let (home, mut profile) = scene();
    let (outer, folder) = (home.path.join("OUT"), home.path.join("KEPT"));
    profile.kept = vec![kept("/home/someone", &folder)];
    profile.readable.push(Grant { path: "/home/someone/B".into(), ..profile.readable[0].clone() });
    symlink(&outer, folder.join("B")).unwrap();
    let before = super::views::entries(&outer);
    let spec = sh(&home.path.join("A"), "echo x > new");
    launch_in_sandbox(&sandbox(), &profile, &spec, &Stop::new()).unwrap_err();
    profile.readable.pop();
    assert!(said(&home, &profile, "ls /home/someone/B/").contains("No such file"));
    assert_eq!(super::views::entries(&outer), before);
}

#[test]
fn kept_folder_that_was_swapped_is_refused() {
    let (home, profile) = scene();
    fs::rename(home.path.join("KEPT"), home.path.join("GONE")).unwrap();
    fs::rename(home.path.join("OUT"), home.path.join("KEPT")).unwrap();
    let spec = sh(&home.path.join("A"), "echo x > /tmp/new");
    let refused = launch_in_sandbox(&sandbox(), &profile, &spec, &Stop::new()).unwrap_err().to_string();
    assert!(refused.contains("it has been replaced since the check"), "{refused}");
    assert!(!home.path.join("KEPT/new").exists());
}

#[test]
fn kept_folder_serves_two_runs_at_once() {
    let (home, profile) = scene();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (home, profile) = (&home, &profile);
            scope.spawn(move || {
                assert_eq!(
                    said(home, profile, &format!("echo > /tmp/{number}; cat file")),
                    "cat: file: No such file or directory\n"
                )
            });
        }
    });
    assert_eq!((0..6).filter(|number| home.path.join(format!("KEPT/{number}")).exists()).count(), 6);
}

#[test]
fn kept_folder_works_with_bubblewrap() {
    let Some(second) = bubblewrap_sandbox() else {
        return super::skip("kept_folder_works_with_bubblewrap", "no bubblewrap 0.12 or newer");
    };
    let (home, profile) = scene();
    let folder = home.path.join("A");
    assert_eq!(said_in(&second, &folder, &profile, "echo kept > /tmp/x; echo text > file"), "");
    assert_eq!(said_in(&second, &folder, &profile, "cat /tmp/x file"), "kept\ntext\n");
}
