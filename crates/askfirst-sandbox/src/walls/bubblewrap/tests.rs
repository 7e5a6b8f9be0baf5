//! Which releases are taken, and what they are told.

use super::*;
use crate::profile::{Denied, Grant, OSProfile};
use crate::walls::order::{Inside, Way};

#[test]
fn only_releases_that_follow_no_links_are_taken() {
    assert_eq!(version("bubblewrap 0.8.0\n"), Some((0, 8)));
    assert_eq!(version("bubblewrap 0.12.1\n"), Some((0, 12)));
    assert_eq!(version("bubblewrap 1.0\n"), Some((1, 0)));
    assert_eq!(version("bubblewrap"), None);
    assert!((0, 11) < LEAST && (0, 12) >= LEAST && (1, 0) >= LEAST);
}

#[test]
fn grants_are_passed_as_descriptors_and_masks_come_after_them() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir_all(home.join("sub")).unwrap();
    fs::write(home.join("sub/.env"), "").unwrap();
    let order = Order {
        way: Way::Bubblewrap,
        inside: Inside::Program,
        program: "true".into(),
        args: Vec::new(),
        env: Vec::new(),
        folder: home.clone(),
        profile: OSProfile {
            writable: vec![Grant::of(&home).unwrap()],
            denied: vec![Denied { path: home.join("sub/.env"), what: Denial::All }],
            system: Vec::new(),
            ..OSProfile::nothing()
        },
        off: Vec::new(),
    };
    let made = command(&order, &Helper(Program::Own), 2).unwrap();
    let words: Vec<String> = made.argv.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    let text = words.join(" ").replace(home.to_str().unwrap(), "HOME");
    assert_eq!(
        text,
        "bwrap --unshare-all --unshare-user --die-with-parent --as-pid-1 --clearenv --new-session --tmpfs /tmp \
         --proc /proc --remount-ro /proc --dev /dev --bind-fd 5 HOME --bind-fd 6 HOME/sub --perms 000 \
         --ro-bind-data 7 HOME/sub/.env --ro-bind-fd 8 /.walls-helper --dir HOME --remount-ro / \
         --argv0 askfirst-walls-helper -- /.walls-helper"
    );
    assert_eq!(made.descriptors.len(), 4);
}

#[test]
fn a_grant_that_was_swapped_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir(home.join("root")).unwrap();
    let grant = Grant::of(home.join("root")).unwrap();
    fs::rename(home.join("root"), home.join("old")).unwrap();
    fs::create_dir(home.join("root")).unwrap();
    let mut profile = OSProfile::nothing();
    profile.writable = vec![grant];
    let order = Order {
        way: Way::Bubblewrap,
        inside: Inside::Program,
        program: "true".into(),
        args: Vec::new(),
        env: Vec::new(),
        folder: "/".into(),
        profile,
        off: Vec::new(),
    };
    assert!(command(&order, &Helper(Program::Own), 2).is_err());
}
