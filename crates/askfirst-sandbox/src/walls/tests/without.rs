//! Machines that lack something, made by a filter: no tier that needs it is said to hold, and none is fallen into.

use super::runs::{As, scene_command};
use crate::walls::filter::{Filter, Telling};
use crate::walls::{Helper, Tier, Walls, sys};

const LANDLOCK: [libc::c_long; 3] = [444, 445, 446];

/// In a process of its own, which from now on lacks something.
pub(super) fn play(lacks: &str, least: &str) {
    let filter = match lacks {
        "landlock" => Filter::lacking(&LANDLOCK, None),
        "namespaces" => {
            Filter::lacking(&[libc::SYS_clone3], Some((libc::SYS_clone, libc::CLONE_NEWUSER as u32)))
        }
        "seccomp" => Filter::lacking(&[libc::SYS_seccomp], None),
        "mounts" => Filter::lacking(&[libc::SYS_mount_setattr], None),
        "networks" => Filter::lacking(&[], Some((libc::SYS_unshare, libc::CLONE_NEWNET as u32))),
        "threads" => Filter::lacking(&[libc::SYS_clone3], Some((libc::SYS_clone, libc::CLONE_THREAD as u32))),
        "nothing" => Filter::lacking(&[], None),
        other => panic!("{other}"),
    };
    sys::control(libc::PR_SET_NO_NEW_PRIVS, 1).unwrap();
    filter.enforce(Telling::Silent).unwrap();
    let least = match least {
        "full" => Tier::Full,
        _ => Tier::ContentOnly,
    };
    match Walls::probe(Helper::own().unwrap(), least) {
        Ok(walls) => println!("holds: {}", walls.tier()),
        Err(none) => println!("none: {none}"),
    }
}

fn on_a_machine_without(lacks: &str, least: &str) -> String {
    let output = scene_command(As::User).args([lacks, "User", least]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap().to_owned()
}

#[test]
fn on_this_machine_the_full_tier_holds() {
    for least in ["full", "content-only"] {
        assert_eq!(on_a_machine_without("nothing", least), "holds: full");
    }
}

#[test]
fn without_landlock_no_tier_holds() {
    for least in ["full", "content-only"] {
        let said = on_a_machine_without("landlock", least);
        assert!(said.starts_with("none: ") && said.contains("the rules of Landlock"), "{said}");
    }
}

#[test]
fn without_user_namespaces_only_the_weaker_tier_holds_and_only_if_it_is_asked_for() {
    let said = on_a_machine_without("namespaces", "full");
    assert!(said.starts_with("none: own namespaces: making the namespaces failed"), "{said}");
    assert_eq!(on_a_machine_without("namespaces", "content-only"), "holds: content-only");
}

#[test]
fn without_seccomp_no_tier_holds() {
    for least in ["full", "content-only"] {
        let said = on_a_machine_without("seccomp", least);
        assert!(said.starts_with("none: ") && said.contains("the filter"), "{said}");
    }
}

#[test]
fn without_attributes_of_mounts_the_full_tier_does_not_hold() {
    let said = on_a_machine_without("mounts", "full");
    assert!(said.starts_with("none: "), "{said}");
    assert_eq!(on_a_machine_without("mounts", "content-only"), "holds: content-only");
}

#[test]
fn without_networks_or_threads_the_full_tier_does_not_hold_and_it_is_said_why() {
    let said = on_a_machine_without("networks", "full");
    assert!(said.starts_with("none: own namespaces: making the network failed"), "{said}");
    let said = on_a_machine_without("threads", "full");
    assert!(said.starts_with("none: own namespaces: starting a thread failed"), "{said}");
}
