//! Without walls every probe works, behind them none does, and without any one mechanism some do.

use std::collections::BTreeSet;

use super::runs::{Around, As, scene_of, second_way};
use super::{Who, is_root, probes, skip};
use crate::walls::mechanism::{ALL, Mechanism};

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn as_root(test: &str) -> bool {
    if !is_root() {
        skip(test, "not root: what root tries is not tried");
    }
    is_root()
}

#[test]
fn there_are_many_probes_and_each_has_its_own_name() {
    let all: BTreeSet<&str> = probes().map(|probe| probe.name).collect();
    assert_eq!(all.len(), probes().count());
    assert!(probes().filter(|probe| probe.who != Who::Root).count() >= 120, "{}", all.len());
}

#[test]
fn without_walls_every_probe_works() {
    let (worked, tried) = scene_of(As::User, Around::Nothing);
    assert_eq!(tried.difference(&worked).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn without_walls_every_probe_works_for_root() {
    if as_root("without_walls_every_probe_works_for_root") {
        let (worked, tried) = scene_of(As::Root, Around::Nothing);
        assert_eq!(tried.difference(&worked).collect::<Vec<_>>(), [""; 0]);
    }
}

#[test]
fn behind_walls_no_probe_works() {
    let (worked, tried) = scene_of(As::User, Around::Walls(None));
    assert_eq!(worked, names(&[]));
    assert!(tried.len() >= 120);
}

#[test]
fn behind_walls_no_probe_works_for_root() {
    if as_root("behind_walls_no_probe_works_for_root") {
        assert_eq!(scene_of(As::Root, Around::Walls(None)).0, names(&[]));
    }
}

#[test]
fn behind_walls_no_probe_works_for_root_that_becomes_the_owner_of_the_roots() {
    if as_root("behind_walls_no_probe_works_for_root_that_becomes_the_owner_of_the_roots") {
        assert_eq!(scene_of(As::RootForUser, Around::Walls(None)).0, names(&[]));
    }
}

#[test]
fn behind_the_walls_of_a_helper_that_has_served_before_no_probe_works() {
    assert_eq!(scene_of(As::User, Around::Again).0, names(&[]));
    if is_root() {
        assert_eq!(scene_of(As::Root, Around::Again).0, names(&[]));
    }
}

#[test]
fn behind_the_walls_of_bubblewrap_no_probe_works() {
    if second_way().is_none() {
        return skip("behind_the_walls_of_bubblewrap_no_probe_works", "no bubblewrap 0.12 or newer");
    }
    assert_eq!(scene_of(As::User, Around::Bubblewrap).0, names(&[]));
    if is_root() {
        assert_eq!(scene_of(As::Root, Around::Bubblewrap).0, names(&[]));
    }
}

/// Mechanisms that stand behind another that already holds every probe: they are there should that one fail.
/// Without the last, which the filter needs, nothing starts at all.
const DEPTH_ONLY: &[Mechanism] = &[
    Mechanism::UtsNamespace,
    Mechanism::CgroupNamespace,
    Mechanism::Landlock,
    Mechanism::Capabilities,
    Mechanism::NoNewPrivileges,
];
/// Mechanisms that are no matter of what a program tries; `setup.rs` leaves them out.
const IN_SETUP: &[Mechanism] = &[Mechanism::Identity, Mechanism::Tie];

#[test]
fn without_any_one_mechanism_some_probe_works() {
    let mut useless = Vec::new();
    for mechanism in ALL.into_iter().filter(|one| !IN_SETUP.contains(one)) {
        let (worked, _) = scene_of(As::User, Around::Walls(Some(mechanism)));
        println!("{mechanism:?}: {worked:?}");
        if worked.is_empty() {
            useless.push(mechanism);
        }
    }
    let expected: Vec<_> = ALL.into_iter().filter(|one| DEPTH_ONLY.contains(one)).collect();
    assert_eq!(useless, expected);
}
