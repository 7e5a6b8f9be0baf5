//! Tests of the cache folders that the sandbox may show.

use std::fs;
use std::os::unix::fs::symlink;

use crate::testing::World;

#[test]
fn cache_folder_that_exists_is_shown() {
    let world = World::new();
    let home = world.path("home");
    let settings = world.settings("version: 1\n");
    assert!(settings.sandbox.cache_folders(Some(&home)).is_empty());
    fs::create_dir_all(home.join(".npm/_cacache")).unwrap();
    fs::create_dir_all(home.join(".cargo")).unwrap();
    fs::write(home.join(".cargo/registry"), "a file").unwrap();
    assert_eq!(settings.sandbox.cache_folders(Some(&home)), [home.join(".npm/_cacache")]);
}

#[test]
fn cache_link_to_a_folder_with_tokens_is_not_shown() {
    let world = World::new();
    let home = world.path("home");
    fs::create_dir_all(home.join("go/pkg")).unwrap();
    fs::create_dir_all(home.join(".cargo")).unwrap();
    let settings = world.settings("version: 1\nsandbox: { paths: { p: { root: ./notes } } }\n");
    for target in ["home", "home/.cargo", "", "project", "project/notes"] {
        let link = home.join("go/pkg/mod");
        symlink(world.path(target), &link).unwrap();
        assert!(settings.sandbox.cache_folders(Some(&home)).is_empty(), "{target}");
        fs::remove_file(&link).unwrap();
    }
    symlink(world.path("project/cache"), home.join("go/pkg/mod")).unwrap();
    assert_eq!(settings.sandbox.cache_folders(Some(&home)), [world.path("project/cache")]);
}

#[test]
fn linked_folder_with_tokens_is_not_a_cache() {
    let world = World::new();
    fs::create_dir_all(world.path("disk/m2")).unwrap();
    symlink(world.path("disk/m2"), world.path("home/.m2")).unwrap();
    for path in ["/disk", "/disk/m2"] {
        let path = format!("{}{path}", world.path("").display().to_string().trim_end_matches('/'));
        let report = world.faults(&format!("version: 1\nsandbox: {{ caches: [{path}] }}\n"));
        assert!(report.contains("it also contains tokens"), "{report}");
    }
}

#[test]
fn linked_home_folder_is_not_a_cache() {
    let world = World::new();
    symlink(world.path("home"), world.path("link")).unwrap();
    assert!(super::holds_tokens(&world.path("home"), &world.path("link")));
    assert!(!super::holds_tokens(&world.path("home/.npm/_cacache"), &world.path("link")));
}
