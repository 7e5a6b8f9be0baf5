//! Tests of throw-away layers: what a program writes to them is gone, and the folder stays as it is.

use std::fs;
use std::path::Path;

use super::runs::{bubblewrap_sandbox, sandbox};
use super::setup::{Home, home, profile, sh};
use crate::isolation::order::Backend;
use crate::isolation::{Sandbox, launch_in_sandbox};
use crate::profile::{Denial, DeniedPath, Grant, OSProfile};
use crate::stop::Stop;

/// A home with a package cache in `CACHE`, and a profile that grants it with a throw-away layer.
fn scene() -> (Home, OSProfile) {
    let home = home();
    fs::create_dir_all(home.path.join("CACHE/sub")).unwrap();
    fs::write(home.path.join("CACHE/sub/file"), "text\n").unwrap();
    let mut profile = profile(&home.path);
    profile.scratch = vec![Grant::of(home.path.join("CACHE")).unwrap()];
    (home, profile)
}

fn said_in(sandbox: &Sandbox, home: &Home, profile: &OSProfile, script: &str) -> String {
    let spec = sh(&home.path.join("A"), &format!("exec 2>&1; cd ../CACHE; {script}"));
    let over = launch_in_sandbox(sandbox, profile, &spec, &Stop::new()).unwrap();
    String::from_utf8(over.finished.stdout.whole().unwrap()).unwrap()
}

fn said(home: &Home, profile: &OSProfile, script: &str) -> String {
    said_in(&sandbox(), home, profile, script)
}

// invariant: 4
#[test]
fn changes_in_a_scratch_folder_are_gone_afterwards() {
    let (home, profile) = scene();
    let before = super::views::entries(&home.path.join("CACHE"));
    let script = "echo more >> sub/file; echo new > new; mkdir -p d/e; cat sub/file new; rm -rf sub; ls";
    assert_eq!(said(&home, &profile, script), "text\nmore\nnew\nd\nnew\n");
    assert_eq!(super::views::entries(&home.path.join("CACHE")), before);
    assert_eq!(said(&home, &profile, "ls; cat sub/file"), "sub\ntext\n");
}

#[test]
fn changes_in_a_scratch_folder_are_counted() {
    let (home, mut profile) = scene();
    fs::create_dir(home.path.join("SECOND")).unwrap();
    profile.scratch.push(Grant::of(home.path.join("SECOND")).unwrap());
    let count = |script: &str| {
        let spec = sh(&home.path.join("A"), script);
        launch_in_sandbox(&sandbox(), &profile, &spec, &Stop::new()).unwrap().facts.scratch_files
    };
    assert_eq!(count("cat ../CACHE/sub/file; touch own"), 0);
    // The folder of a changed file is copied too.
    assert_eq!(count("echo more >> ../CACHE/sub/file"), 2);
    assert_eq!(count("touch ../SECOND/new"), 1);
}

#[test]
fn scratch_layers_are_limited_in_size() {
    let (home, mut profile) = scene();
    profile.limits.memory = Some(16 << 20);
    let said = said(&home, &profile, "head -c 8M /dev/zero > a && echo first; head -c 16M /dev/zero > b");
    assert!(said.starts_with("first\n") && said.contains("No space left"), "{said}");
}

// invariant: 4
#[test]
fn denied_path_in_a_scratch_folder_stays_hidden() {
    let (home, mut profile) = scene();
    let secret = home.path.join("CACHE/in/deep/token");
    fs::create_dir_all(secret.parent().unwrap()).unwrap();
    fs::write(&secret, "secret").unwrap();
    profile.denied = vec![DeniedPath { path: secret, what: Denial::All }];
    let script = "cat in/deep/token; mv in/deep x; mv in x; cp -r in x; cat x/token x/deep/token; true";
    let said = said(&home, &profile, script);
    assert!(!said.contains("secret") && said.contains("busy"), "{said}");
}

#[test]
fn scratch_folder_inside_others_keeps_its_own_layer() {
    let (home, mut profile) = scene();
    for root in ["A", "B"] {
        fs::create_dir_all(home.path.join(root).join("cache")).unwrap();
        profile.scratch.push(Grant::of(home.path.join(root).join("cache")).unwrap());
    }
    assert_eq!(
        said(&home, &profile, "for r in A B; do echo x > ../$r/cache/x && cat ../$r/cache/x; done"),
        "x\nx\n"
    );
    for root in ["A", "B"] {
        assert!(!home.path.join(root).join("cache/x").exists(), "{root}");
    }
}

#[test]
fn scratch_folder_without_a_layer_is_read_only() {
    let (home, profile) = scene();
    let script = "cat sub/file; (echo x > new) 2>/dev/null || echo read-only";
    let file = home.path.join("CACHE/sub/file");
    let of_file = OSProfile { scratch: vec![Grant::of(&file).unwrap()], ..profile.clone() };
    let script_of_file = "cat sub/file; (echo x >> sub/file) 2>/dev/null || echo read-only";
    assert_eq!(said(&home, &of_file, script_of_file), "text\nread-only\n", "no overlay of a file exists");
    let mut weaker = sandbox();
    weaker.backend = Backend::ContentOnly;
    assert_eq!(said_in(&weaker, &home, &profile, script), "text\nread-only\n");
    match bubblewrap_sandbox() {
        Some(second) => assert_eq!(said_in(&second, &home, &profile, script), "text\nread-only\n"),
        None => super::skip("scratch_folder_without_a_layer_is_read_only", "no bubblewrap 0.12 or newer"),
    }
    assert!(!Path::new(&home.path.join("CACHE/new")).exists());
}
