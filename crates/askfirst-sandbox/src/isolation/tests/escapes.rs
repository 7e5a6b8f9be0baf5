//! Every probe succeeds without a sandbox, and none in one.

use std::collections::BTreeSet;

use super::runs::{As, Isolation, bubblewrap_sandbox, scene_of};
use super::{Who, is_root, probes, skip};

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
    let (worked, tried) = scene_of(As::User, Isolation::Sandbox);
    assert_eq!(worked, names(&[]));
    assert!(tried.len() >= 120);
}

#[test]
fn no_probe_succeeds_in_the_sandbox_as_root() {
    if as_root("no_probe_succeeds_in_the_sandbox_as_root") {
        assert_eq!(scene_of(As::Root, Isolation::Sandbox).0, names(&[]));
    }
}

#[test]
fn no_probe_succeeds_as_root_that_becomes_the_roots_owner() {
    if as_root("no_probe_succeeds_as_root_that_becomes_the_roots_owner") {
        assert_eq!(scene_of(As::RootForUser, Isolation::Sandbox).0, names(&[]));
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
fn no_probe_succeeds_in_a_view() {
    assert_eq!(scene_of(As::User, Isolation::View).0, names(&[]));
    if is_root() {
        assert_eq!(scene_of(As::Root, Isolation::View).0, names(&[]));
        assert_eq!(scene_of(As::RootForUser, Isolation::View).0, names(&[]));
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
