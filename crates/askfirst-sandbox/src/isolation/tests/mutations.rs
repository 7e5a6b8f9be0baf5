//! Every probe succeeds without a sandbox, none in a sandbox, and some when one mechanism is off.

use std::collections::BTreeSet;

use super::runs::{As, Isolation, bubblewrap_sandbox, scene_of};
use super::{Who, is_root, probes, skip};
use crate::isolation::mechanism::{ALL, Mechanism};

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn as_root(test: &str) -> bool {
    if !is_root() {
        skip(test, "not root: these probes need root");
    }
    is_root()
}

#[test]
fn probes_are_many_and_have_unique_names() {
    let all: BTreeSet<&str> = probes().map(|probe| probe.name).collect();
    assert_eq!(all.len(), probes().count());
    assert!(probes().filter(|probe| probe.who != Who::Root).count() >= 120, "{}", all.len());
}

#[test]
fn every_probe_succeeds_without_a_sandbox() {
    let (worked, tried) = scene_of(As::User, Isolation::None);
    assert_eq!(tried.difference(&worked).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_probe_succeeds_without_a_sandbox_as_root() {
    if as_root("every_probe_succeeds_without_a_sandbox_as_root") {
        let (worked, tried) = scene_of(As::Root, Isolation::None);
        assert_eq!(tried.difference(&worked).collect::<Vec<_>>(), [""; 0]);
    }
}

// invariant: 4
#[test]
fn no_probe_succeeds_in_the_sandbox() {
    let (worked, tried) = scene_of(As::User, Isolation::Sandbox(None));
    assert_eq!(worked, names(&[]));
    assert!(tried.len() >= 120);
}

#[test]
fn no_probe_succeeds_in_the_sandbox_as_root() {
    if as_root("no_probe_succeeds_in_the_sandbox_as_root") {
        assert_eq!(scene_of(As::Root, Isolation::Sandbox(None)).0, names(&[]));
    }
}

#[test]
fn no_probe_succeeds_as_root_that_becomes_the_roots_owner() {
    if as_root("no_probe_succeeds_as_root_that_becomes_the_roots_owner") {
        assert_eq!(scene_of(As::RootForUser, Isolation::Sandbox(None)).0, names(&[]));
    }
}

// invariant: 4
#[test]
fn no_probe_succeeds_with_a_pooled_helper() {
    assert_eq!(scene_of(As::User, Isolation::PooledHelper).0, names(&[]));
    if is_root() {
        assert_eq!(scene_of(As::Root, Isolation::PooledHelper).0, names(&[]));
    }
}

// invariant: 4
#[test]
fn no_probe_succeeds_with_bubblewrap() {
    if bubblewrap_sandbox().is_none() {
        return skip("no_probe_succeeds_with_bubblewrap", "no bubblewrap 0.12 or newer");
    }
    assert_eq!(scene_of(As::User, Isolation::Bubblewrap).0, names(&[]));
    if is_root() {
        assert_eq!(scene_of(As::Root, Isolation::Bubblewrap).0, names(&[]));
    }
}

/// Second lines of defense: another mechanism already stops every probe. They matter if that one fails.
/// Without the last one, the filter cannot be enforced and nothing starts.
const DEPTH_ONLY: &[Mechanism] = &[
    Mechanism::UtsNamespace,
    Mechanism::CgroupNamespace,
    Mechanism::Landlock,
    Mechanism::Capabilities,
    Mechanism::NoNewPrivileges,
];
/// Mechanisms that no probe attacks. The tests in `setup.rs` turn them off.
const IN_SETUP: &[Mechanism] = &[Mechanism::Identity, Mechanism::Tie];

// invariant: 4
#[test]
fn some_probe_succeeds_when_one_mechanism_is_off() {
    let mut useless = Vec::new();
    for mechanism in ALL.into_iter().filter(|one| !IN_SETUP.contains(one)) {
        let (worked, _) = scene_of(As::User, Isolation::Sandbox(Some(mechanism)));
        println!("{mechanism:?}: {worked:?}");
        if worked.is_empty() {
            useless.push(mechanism);
        }
    }
    let expected: Vec<_> = ALL.into_iter().filter(|one| DEPTH_ONLY.contains(one)).collect();
    assert_eq!(useless, expected);
}
