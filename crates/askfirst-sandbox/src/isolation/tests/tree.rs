//! Tests of the mount tree as the kernel lists it inside the sandbox.

use std::path::Path;
use std::process::Command;

use super::runs::sandbox;
use super::setup::{home, profile, sh};
use crate::isolation::launch_in_sandbox;
use crate::stop::Stop;

fn said(script: &str, folder: &Path, profile: &crate::OSProfile) -> String {
    let over = launch_in_sandbox(&sandbox(), profile, &sh(folder, script), &Stop::new()).unwrap();
    String::from_utf8(over.finished.stdout.whole().unwrap()).unwrap()
}

// invariant: 4
#[test]
fn every_mount_is_read_only_except_devices_and_grants() {
    let home = home();
    let mut profile = profile(&home.path);
    let writable = home.path.join("A");
    let inner = writable.join(".env");
    std::fs::write(&inner, "secret").unwrap();
    profile.denied = vec![crate::DeniedPath { path: inner.clone(), what: crate::Denial::All }];
    let text = said("cat /proc/self/mountinfo", &writable, &profile);
    let mounts: Vec<(&str, Vec<&str>)> = text
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields[4], fields[5].split(',').collect())
        })
        .collect();
    for (place, options) in &mounts {
        let has = |option: &str| options.contains(&option);
        let is_device = place.starts_with("/dev/");
        let open = *place == "/dev/pts" || *place == "/tmp" || Path::new(place) == writable;
        assert!(has("nosuid"), "{place} {options:?}");
        assert_eq!(has("ro"), !open, "{place} {options:?}");
        assert_eq!(has("nodev"), !is_device, "{place} {options:?}");
        let closed = is_device || place.starts_with("/proc") || place.starts_with("/.sandbox");
        assert!(!closed || has("noexec"), "{place} {options:?}");
    }
    let places: Vec<&str> = mounts.iter().map(|(place, _)| *place).collect();
    assert_eq!(places.iter().filter(|place| **place == "/").count(), 1, "the old root is still there");
    for needed in
        ["/", "/usr", "/proc", "/proc/kallsyms", "/.sandbox", "/dev/null", "/tmp", inner.to_str().unwrap()]
    {
        assert!(places.contains(&needed), "{needed} of {places:?}");
    }
}

#[test]
fn system_files_are_the_same_inside_and_outside() {
    let home = home();
    let script = "cksum /etc/os-release /etc/localtime /etc/passwd /etc/hosts /etc/ld.so.cache /etc/ssl/openssl.cnf 2>&1";
    let outside = Command::new("sh").args(["-c", script]).output().unwrap();
    let inside = said(script, &home.path.join("A"), &profile(&home.path));
    assert_eq!(inside, String::from_utf8(outside.stdout).unwrap());
    assert!(inside.lines().count() == 6);
}
