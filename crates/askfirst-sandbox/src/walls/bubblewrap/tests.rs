//! Which releases are taken, and what they are told.

use super::*;
use crate::profile::{Denied, Grant};
use crate::terminal::Place;
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
    fs::create_dir_all(home.join("sub/hooks")).unwrap();
    fs::write(home.join("sub/.env"), "").unwrap();
    let order = Order {
        way: Way::Bubblewrap,
        inside: Inside::Program,
        program: "true".into(),
        args: Vec::new(),
        env: Vec::new(),
        folder: home.clone(),
        place: Place::Apart,
        profile: OSProfile {
            writable: vec![Grant::of(&home).unwrap()],
            denied: vec![
                Denied { path: home.join("sub/hooks"), what: Denial::Write },
                Denied { path: home.join("sub/.env"), what: Denial::All },
            ],
            system: Vec::new(),
            ..OSProfile::nothing()
        },
        off: Vec::new(),
    };
    let made = command(&order, &Helper(Program::Own), 2).unwrap();
    let number = |word: &str| word != "000" && word.parse::<u32>().is_ok();
    let words = made.argv.iter().map(|word| word.to_str().unwrap());
    let numbers: Vec<&str> = words.clone().filter(|word| number(word)).collect();
    let text = words.map(|word| if number(word) { "N" } else { word }).collect::<Vec<_>>().join(" ");
    let text = text.replace(home.to_str().unwrap(), "HOME");
    // What is covered in `/proc` differs from kernel to kernel.
    let (before, rest) = text.split_once(" --proc /proc ").unwrap();
    let (covered, after) = rest.split_once("--remount-ro /proc ").unwrap();
    assert_eq!(
        before,
        "bwrap --unshare-all --unshare-user --die-with-parent --as-pid-1 --clearenv --new-session --tmpfs /tmp"
    );
    assert!(covered.contains("--perms 000 --ro-bind-data N /proc/kallsyms "), "{covered}");
    assert_eq!(
        after,
        "--dev /dev --bind-fd N HOME --bind-fd N HOME/sub --perms 000 --ro-bind-data N HOME/sub/.env \
         --ro-bind-fd N HOME/sub/hooks --ro-bind-fd N /.walls-helper --dir HOME --remount-ro / \
         --argv0 askfirst-walls-helper -- /.walls-helper"
    );
    let follow: Vec<String> = (5..5 + made.descriptors.len()).map(|number| number.to_string()).collect();
    assert_eq!(numbers, follow);
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
        place: Place::Apart,
        profile,
        off: Vec::new(),
    };
    assert!(command(&order, &Helper(Program::Own), 2).is_err());
}

#[test]
fn what_pins_a_folder_comes_before_what_is_granted_in_it() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir_all(home.join("x/y/fixed")).unwrap();
    fs::write(home.join("x/.env"), "").unwrap();
    let profile = OSProfile {
        writable: vec![Grant::of(&home).unwrap()],
        readable: vec![Grant::of(home.join("x/y/fixed")).unwrap()],
        denied: vec![Denied { path: home.join("x/.env"), what: Denial::All }],
        ..OSProfile::nothing()
    };
    let made: Vec<_> = steps(&profile).into_iter().map(|(path, step)| (path.to_owned(), step)).collect();
    let grant = |path: &str, mode| Step::Grant(Grant::of(home.join(path)).unwrap().is, mode);
    assert_eq!(
        made,
        [
            (home.clone(), grant("", Mode::Write)),
            (home.join("x"), Step::Pin),
            (home.join("x/.env"), Step::Deny(Denial::All)),
            (home.join("x/y"), Step::Pin),
            (home.join("x/y/fixed"), grant("x/y/fixed", Mode::Read)),
        ]
    );
}
