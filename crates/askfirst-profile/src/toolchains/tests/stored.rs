//! Tests of toolchains that an earlier process found: they are found again, until something has changed.

use std::fs;
use std::path::PathBuf;

use super::{Toolchains, World};

fn scene() -> World {
    let mut world = World::new();
    world.make_pyenv();
    world.program("home/tools/bin/tool", "#!/bin/sh\n");
    world.on_path(&["home/.pyenv/shims", "home/.pyenv/bin", "home/tools/bin"]);
    // Folders that have just changed are not stored.
    std::thread::sleep(std::time::Duration::from_millis(3100));
    world
}

impl World {
    fn find_again(&self) -> Toolchains {
        Toolchains::find_again(&self.config, &self.start())
    }

    fn stored(&self) -> PathBuf {
        let mut files = fs::read_dir(self.at("home/.local/state/askfirst/folders")).unwrap();
        files.next().unwrap().unwrap().path()
    }
}

#[test]
fn stored_toolchains_count_until_a_folder_changes() {
    let world = scene();
    let found = world.find();
    assert_eq!(world.find_again(), found);
    let written = fs::metadata(world.stored()).unwrap().modified().unwrap();
    assert_eq!(world.find_again(), found);
    assert_eq!(fs::metadata(world.stored()).unwrap().modified().unwrap(), written, "it searched again");
    world.program("home/.pyenv/versions/3.12.0/bin/python3", "");
    world.program("home/tools/bin/other", "");
    assert_eq!(world.find_again(), world.find());
    assert_ne!(world.find_again(), found);
}

// invariant: 4
#[test]
fn place_that_a_rule_names_is_hidden_at_once() {
    let mut world = scene();
    let place = world.at("home/.pyenv/versions/3.11.7/lib/python3.11/private");
    world.never_read(&[place.to_str().unwrap()]);
    let found = world.find_again();
    assert!(!found.hidden_inside().any(|path| path == place));
    world.file("home/.pyenv/versions/3.11.7/lib/python3.11/private/token", "secret");
    let found = world.find_again();
    assert!(found.hidden_inside().any(|path| path == place), "{found:?}");
    assert!(!found.contains(&place.join("token")));
}

#[test]
fn other_path_or_rules_find_other_toolchains() {
    let mut world = scene();
    world.find_again();
    world.on_path(&["home/tools/bin"]);
    assert_eq!(world.find_again(), world.find());
    world.never_read(&["tool"]);
    assert_eq!(world.find_again(), world.find());
    fs::write(world.stored(), "other").unwrap();
    assert_eq!(world.find_again(), world.find());
}
