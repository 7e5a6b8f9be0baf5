//! The tree of files as the kernel lists it from inside: what is closed is closed, mount by mount.

use std::path::Path;
use std::process::Command;

use super::runs::walls;
use super::setup::{home, profile, sh};
use crate::stop::Stop;
use crate::walls::launch_behind;

fn said(script: &str, folder: &Path, profile: &crate::OSProfile) -> String {
    let over = launch_behind(&walls(), profile, &sh(folder, script), &Stop::new()).unwrap();
    String::from_utf8(over.finished.stdout.whole().unwrap()).unwrap()
}

#[test]
fn every_mount_is_closed_but_for_devices_and_what_may_be_written() {
    let home = home();
    let mut profile = profile(&home.path);
    let writable = home.path.join("A");
    let inner = writable.join(".env");
    std::fs::write(&inner, "secret").unwrap();
    profile.denied = vec![crate::Denied { path: inner.clone(), what: crate::Denial::All }];
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
        let closed = is_device || place.starts_with("/proc") || place.starts_with("/.walls");
        assert!(!closed || has("noexec"), "{place} {options:?}");
    }
    let places: Vec<&str> = mounts.iter().map(|(place, _)| *place).collect();
    assert_eq!(places.iter().filter(|place| **place == "/").count(), 1, "the old root is still there");
    for needed in
        ["/", "/usr", "/proc", "/proc/kallsyms", "/.walls", "/dev/null", "/tmp", inner.to_str().unwrap()]
    {
        assert!(places.contains(&needed), "{needed} of {places:?}");
    }
}

#[test]
fn files_of_the_system_are_the_same_inside_whether_they_are_links_or_not() {
    let home = home();
    let script = "cksum /etc/os-release /etc/localtime /etc/passwd /etc/hosts /etc/ld.so.cache /etc/ssl/openssl.cnf 2>&1";
    let outside = Command::new("sh").args(["-c", script]).output().unwrap();
    let inside = said(script, &home.path.join("A"), &profile(&home.path));
    assert_eq!(inside, String::from_utf8(outside.stdout).unwrap());
    assert!(inside.lines().count() == 6);
}
