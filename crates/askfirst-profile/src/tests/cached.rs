//! Tests of the cache of folders: it finds what a search without it finds, and it is used only if no program could write it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use askfirst_sandbox::Denial;

use super::{World, world};
use crate::folder_cache::{CachedFolders, FolderCache};
use crate::{HardLinks, ProtectedNames};

/// Waits until folders count as settled.
fn settle() {
    thread::sleep(Duration::from_millis(3100));
}

impl World {
    fn cache(&self) -> FolderCache {
        FolderCache::new(&self.path("state"), &self.config).unwrap()
    }

    fn searched_with(&self, mut cached: CachedFolders) -> (ProtectedNames, HardLinks, Vec<(String, Denial)>) {
        let protected = self.protected().with_cached(&mut cached);
        let links = HardLinks::later(&[self.path("w")], &mut cached);
        let denied = self.denied_by(&protected, &links);
        (protected, links, denied)
    }

    /// Returns the paths that a process with the cache denies. The process writes the cache too.
    fn denied_with_cache(&self) -> Vec<(String, Denial)> {
        let cache = self.cache();
        let (protected, links, denied) = self.searched_with(cache.load());
        cache.store(&protected, &links);
        denied
    }

    fn cache_file(&self) -> PathBuf {
        let mut files = fs::read_dir(self.path("state/folders")).unwrap();
        let file = files.next().unwrap().unwrap().path();
        assert!(files.next().is_none());
        file
    }
}

fn scene() -> World {
    let world = world();
    for name in ["w/.env", "w/a/b/.env", "w/c/plain", "w/c/own", "w/.git/hooks/x", "w/.git/config", "outside"]
    {
        world.write(name, "x");
    }
    fs::hard_link(world.path("w/c/own"), world.path("w/a/own")).unwrap();
    fs::hard_link(world.path("outside"), world.path("w/c/planted")).unwrap();
    symlink("a", world.path("w/link")).unwrap();
    world
}

#[test]
fn unchanged_folders_are_not_read_again() {
    let world = scene();
    settle();
    let denied = world.denied_with_cache();
    let (protected, links, again) = world.searched_with(world.cache().load());
    assert_eq!((again, denied), (world.denied(), world.denied()));
    assert!(!protected.take_changed() && !links.take_changed(), "a folder was read again");
    fs::write(world.path("w/c/new"), "x").unwrap();
    let (protected, links, _) = world.searched_with(world.cache().load());
    assert!(!protected.take_changed() && links.take_changed(), "a folder that changes now is not kept");
}

// invariant: 4
#[test]
fn cache_finds_what_a_new_search_finds() {
    let world = scene();
    settle();
    world.denied_with_cache();
    let at = |name: &str| world.path(name);
    let changes: [&dyn Fn(); 12] = [
        &|| world.write("w/c/.env", "x"),
        &|| world.write("w/new/deep/.env", "x"),
        &|| fs::rename(at("w/a"), at("w/c/moved")).unwrap(),
        &|| fs::rename(at("w/c/moved"), at("w/a")).unwrap(),
        &|| fs::remove_file(at("w/a/b/.env")).unwrap(),
        &|| fs::hard_link(at("w/.env"), at("w/a/b/innocent")).unwrap(),
        &|| fs::hard_link(at("w/c/plain"), at("w/a/b/plain")).unwrap(),
        &|| fs::hard_link(at("outside"), at("w/new/planted")).unwrap(),
        &|| fs::remove_file(at("outside")).unwrap(),
        &|| fs::remove_file(at("w/a/own")).unwrap(),
        &|| fs::rename(at("w/.git"), at("w/c/.git")).unwrap(),
        &|| {
            fs::remove_dir_all(at("w/c")).unwrap();
            world.write("w/c/.env", "x");
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        change();
        let (_, _, seldom) = world.searched_with(world.cache().load());
        assert_eq!(seldom, world.denied(), "change {number} after a single search");
        if number % 2 == 0 {
            assert_eq!(world.denied_with_cache(), world.denied(), "change {number}");
        }
    }
}

#[test]
fn link_to_a_place_outside_is_found_after_a_while() {
    let world = scene();
    settle();
    world.denied_with_cache();
    fs::hard_link(world.path("w/c/plain"), world.path("taken")).unwrap();
    let mut cached = world.cache().load();
    cached.links.values_mut().for_each(|folder| folder.searched -= 601);
    assert_eq!(world.searched_with(cached).2, world.denied());
    assert!(world.denied().contains(&("c/plain".to_owned(), Denial::Write)));
}

// invariant: 4
#[test]
fn cache_that_another_could_have_written_is_not_used() {
    let world = scene();
    settle();
    world.denied_with_cache();
    let is_used = || !world.cache().load().listings.is_empty();
    let file = world.cache_file();
    assert!(is_used());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&file, Permissions::from_mode(0o620)).unwrap();
    assert!(!is_used(), "another user can write it");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let bytes = fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        let mut other = bytes.clone();
        other[at] ^= 1;
        fs::write(&file, &other).unwrap();
        assert!(!is_used(), "byte {at}");
        fs::write(&file, &bytes[..at]).unwrap();
        assert!(!is_used(), "cut at {at}");
    }
    fs::write(world.path("elsewhere"), &bytes).unwrap();
    fs::set_permissions(world.path("elsewhere"), Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(&file).unwrap();
    symlink(world.path("elsewhere"), &file).unwrap();
    assert!(!is_used(), "it is a link");
}

// invariant: 4
#[test]
fn state_folder_in_a_root_holds_no_cache() {
    let world = world();
    assert!(FolderCache::new(&world.path("w/state"), &world.config).is_none());
    assert!(!world.path("w/state").exists(), "it was created in the root");
    symlink(world.path("w"), world.path("way")).unwrap();
    assert!(FolderCache::new(&world.path("way/other"), &world.config).is_none());
}

#[test]
fn other_rules_use_another_cache() {
    let mut world = scene();
    settle();
    world.denied_with_cache();
    world.config.main.sandbox.never_read.push("plain".to_owned());
    assert!(world.cache().load().listings.is_empty());
    assert_eq!(world.denied_with_cache(), world.denied());
}
