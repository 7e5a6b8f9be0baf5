//! Imitates machines without certain features: no tier counts that needs them, and askfirst never falls back to a weaker one.

use super::runs::{As, scene_command};
use crate::isolation::filter::{Filter, Notification};
use crate::isolation::{Helper, Sandbox, Tier, launch_in_sandbox, sys};
use crate::profile::OSProfile;
use crate::spec::Spec;
use crate::stop::Stop;
use crate::unproven::UnprovenSandbox;

const LANDLOCK: [libc::c_long; 3] = [444, 445, 446];

/// Runs in its own process, which lacks a feature from now on.
pub(super) fn play(lacks: &str, least: &str) {
    let filter = match lacks {
        "landlock" => Filter::imitating_machine_without(&LANDLOCK, None),
        "namespaces" => Filter::imitating_machine_without(
            &[libc::SYS_clone3],
            Some((libc::SYS_clone, libc::CLONE_NEWUSER as u32)),
        ),
        "seccomp" => Filter::imitating_machine_without(&[libc::SYS_seccomp], None),
        "mounts" => Filter::imitating_machine_without(&[libc::SYS_mount_setattr], None),
        "networks" => {
            Filter::imitating_machine_without(&[], Some((libc::SYS_unshare, libc::CLONE_NEWNET as u32)))
        }
        "threads" => Filter::imitating_machine_without(
            &[libc::SYS_clone3],
            Some((libc::SYS_clone, libc::CLONE_THREAD as u32)),
        ),
        "nothing" => Filter::imitating_machine_without(&[], None),
        other => panic!("{other}"),
    };
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).unwrap();
    filter.enforce(Notification::Off).unwrap();
    let (least, first) = match least {
        "full" => (Tier::Full, None),
        "content-only" => (Tier::ContentOnly, None),
        "first in full" => (Tier::Full, Some(Tier::Full)),
        _ => (Tier::ContentOnly, Some(Tier::ContentOnly)),
    };
    match first {
        Some(least) => play_first_program(least),
        None => match Sandbox::probe(Helper::own().unwrap(), least) {
            Ok(sandbox) => println!("works: {}", sandbox.tier()),
            Err(error) => println!("error: {error}"),
        },
    }
}

/// Runs a program without a test before it.
fn play_first_program(least: Tier) {
    let sandbox = UnprovenSandbox::new(Helper::own().unwrap(), least);
    let started = sandbox.run(|sandbox| {
        launch_in_sandbox(sandbox, &OSProfile::nothing(), &Spec::new("/bin/true", "/"), &Stop::new())
    });
    match started {
        Ok(run) => println!("works: {}, {:?}", sandbox.proven().unwrap().tier(), run.finished.end),
        Err(error) => println!("error: {error}"),
    }
}

fn on_a_machine_without(lacks: &str, least: &str) -> String {
    let output = scene_command(As::User).args([lacks, "User", least]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap().to_owned()
}

#[test]
fn full_tier_works_on_this_machine() {
    for least in ["full", "content-only"] {
        assert_eq!(on_a_machine_without("nothing", least), "works: full");
    }
}

#[test]
fn no_tier_works_without_landlock() {
    for least in ["full", "content-only"] {
        let said = on_a_machine_without("landlock", least);
        assert!(said.starts_with("error: ") && said.contains("the Landlock rules"), "{said}");
    }
}

#[test]
fn content_only_needs_a_request_without_user_namespaces() {
    let said = on_a_machine_without("namespaces", "full");
    assert!(said.starts_with("error: own namespaces: creating the namespaces failed"), "{said}");
    assert_eq!(on_a_machine_without("namespaces", "content-only"), "works: content-only");
}

#[test]
fn no_tier_works_without_seccomp() {
    for least in ["full", "content-only"] {
        let said = on_a_machine_without("seccomp", least);
        assert!(said.starts_with("error: ") && said.contains("the filter"), "{said}");
    }
}

#[test]
fn full_tier_fails_without_mount_attributes() {
    let said = on_a_machine_without("mounts", "full");
    assert!(said.starts_with("error: "), "{said}");
    assert_eq!(on_a_machine_without("mounts", "content-only"), "works: content-only");
}

#[test]
fn full_tier_fails_without_networks_or_threads() {
    let said = on_a_machine_without("networks", "full");
    assert!(said.starts_with("error: own namespaces: creating the network failed"), "{said}");
    let said = on_a_machine_without("threads", "full");
    assert!(said.starts_with("error: own namespaces: starting a thread failed"), "{said}");
}

#[test]
fn first_program_finds_the_sandbox_that_a_test_finds() {
    assert_eq!(on_a_machine_without("nothing", "first in full"), "works: full, Exited(0)");
    let said = on_a_machine_without("namespaces", "first in full");
    assert!(said.starts_with("error: no sandbox works here: own namespaces: creating the namesp"), "{said}");
    for lacks in ["namespaces", "mounts", "networks", "threads"] {
        let said = on_a_machine_without(lacks, "first in content-only");
        assert_eq!(said, "works: content-only, Exited(0)", "{lacks}");
    }
    for lacks in ["landlock", "seccomp"] {
        let said = on_a_machine_without(lacks, "first in content-only");
        assert!(said.starts_with("error: no sandbox works here"), "{lacks}: {said}");
    }
}
