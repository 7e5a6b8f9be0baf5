//! Tests which releases are accepted, and which command line they get.

use super::*;
use crate::isolation::order::{Backend, Task};
use crate::profile::{DeniedPath, Grant};
use crate::terminal::TerminalAccess;

#[test]
fn only_releases_that_follow_no_links_are_accepted() {
    assert_eq!(version("bubblewrap 0.8.0\n"), Some((0, 8)));
    assert_eq!(version("bubblewrap 0.12.1\n"), Some((0, 12)));
    assert_eq!(version("bubblewrap 1.0\n"), Some((1, 0)));
    assert_eq!(version("bubblewrap"), None);
    assert!((0, 11) < MIN_VERSION && (0, 12) >= MIN_VERSION && (1, 0) >= MIN_VERSION);
}

#[test]
fn grants_are_descriptors_and_precede_their_masks() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir_all(home.join("sub/hooks")).unwrap();
    fs::write(home.join("sub/.env"), "").unwrap();
    let order = Order {
        backend: Backend::Bubblewrap,
        task: Task::Program,
        program: "true".into(),
        args: Vec::new(),
        env: Vec::new(),
        folder: home.clone(),
        terminal: TerminalAccess::Detached,
        own_network: crate::isolation::order::OwnNetwork::New,
        lasts: crate::spec::Lasts::Program,
        profile: OSProfile {
            writable: vec![Grant::of(&home).unwrap()],
            denied: vec![
                DeniedPath { path: home.join("sub/hooks"), what: Denial::Write },
                DeniedPath { path: home.join("sub/.env"), what: Denial::All },
            ],
            system: Vec::new(),
            links: vec![("/a/link".into(), home.join("sub"))],
            ..OSProfile::nothing()
        },
    };
    let builder = command(&order, &Helper(Program::Own), 2).unwrap();
    let number = |word: &str| word != "000" && word.parse::<u32>().is_ok();
    let words = builder.argv.iter().map(|word| word.to_str().unwrap());
    let numbers: Vec<&str> = words.clone().filter(|word| number(word)).collect();
    let text = words.map(|word| if number(word) { "N" } else { word }).collect::<Vec<_>>().join(" ");
    let text = text.replace(home.to_str().unwrap(), "HOME");
    // The covered files in `/proc` differ between kernels.
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
         --ro-bind-fd N HOME/sub/hooks --symlink HOME/sub /a/link --ro-bind-fd N /.sandbox-helper --dir HOME --remount-ro / \
         --argv0 askfirst-sandbox-helper -- /.sandbox-helper"
    );
    let follow: Vec<String> = (5..5 + builder.descriptors.len()).map(|number| number.to_string()).collect();
    assert_eq!(numbers, follow);
}

#[test]
fn swapped_grant_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir(home.join("root")).unwrap();
    let grant = Grant::of(home.join("root")).unwrap();
    fs::rename(home.join("root"), home.join("old")).unwrap();
    fs::create_dir(home.join("root")).unwrap();
    let mut profile = OSProfile::nothing();
    profile.writable = vec![grant];
    let order = Order {
        backend: Backend::Bubblewrap,
        task: Task::Program,
        program: "true".into(),
        args: Vec::new(),
        env: Vec::new(),
        folder: "/".into(),
        terminal: TerminalAccess::Detached,
        own_network: crate::isolation::order::OwnNetwork::New,
        lasts: crate::spec::Lasts::Program,
        profile,
    };
    assert!(command(&order, &Helper(Program::Own), 2).is_err());
}

#[test]
fn pin_of_a_folder_precedes_grants_inside_it() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir_all(home.join("x/y/fixed")).unwrap();
    fs::write(home.join("x/.env"), "").unwrap();
    let profile = OSProfile {
        writable: vec![Grant::of(&home).unwrap()],
        readable: vec![Grant::of(home.join("x/y/fixed")).unwrap()],
        denied: vec![DeniedPath { path: home.join("x/.env"), what: Denial::All }],
        ..OSProfile::nothing()
    };
    let builder: Vec<_> = steps(&profile).into_iter().map(|(path, step)| (path.to_owned(), step)).collect();
    let grant = |path: &str, mode| MountStep::Grant(Grant::of(home.join(path)).unwrap().identity, mode);
    assert_eq!(
        builder,
        [
            (home.clone(), grant("", Mode::Write)),
            (home.join("x"), MountStep::Pin),
            (home.join("x/.env"), MountStep::Deny(Denial::All)),
            (home.join("x/y"), MountStep::Pin),
            (home.join("x/y/fixed"), grant("x/y/fixed", Mode::Read)),
        ]
    );
}
