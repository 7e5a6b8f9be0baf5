//! Faults at each step of an edit that the store keeps: whatever has changed can be undone, and nothing else is recorded.

use std::fs;
use std::path::Path;

use super::fault::{self, Fault};
use super::kill;
use super::scene::{QuickFolder, Scene, open, quick_folder};
use crate::{ChangeError, EditOptions};

/// The paths of an edit that changes, removes and adds.
const PATHS: [&str; 4] = ["change", "gone", "new/folder/file", "link"];

impl Scene {
    /// Keeps the paths, changes them, and records that.
    pub(super) fn edit(&self) -> Result<(), ChangeError> {
        let (store, root) = (self.store()?, open(&self.root()));
        let edit = store.keep(&root, PATHS.map(Path::new), &EditOptions::default())?;
        self.write();
        edit.settle().map(drop)
    }

    /// Changes the paths, as another program does.
    fn write(&self) {
        let root = self.root();
        fs::write(root.join("change"), "new").unwrap();
        fs::remove_dir_all(root.join("gone")).unwrap();
        fs::create_dir_all(root.join("new/folder")).unwrap();
        fs::write(root.join("new/folder/file"), "new").unwrap();
        fs::remove_file(root.join("link")).unwrap();
    }

    /// After a fault and a recovery: the store has exactly one commit if something has changed, and undo restores it.
    fn can_be_undone(&self, old: &super::scene::Listing, what: &str) {
        let listed = self.store().unwrap().list().unwrap();
        if self.tree() == *old {
            assert!(listed.is_empty(), "{what}: {listed:?}");
            return;
        }
        let [(summary, _)] = &listed[..] else { panic!("{what}: {listed:?}") };
        self.store().unwrap().undo(&summary.id, open(&self.root())).unwrap();
        assert_eq!(self.tree(), *old, "{what}");
    }
}

fn scene() -> (QuickFolder, Scene) {
    let folder = quick_folder();
    let scene = Scene::make(folder.path());
    (folder, scene)
}

#[test]
fn full_disk_at_one_step_of_an_edit_loses_nothing() {
    for at in 0.. {
        let (_folder, scene) = scene();
        let old = scene.tree();
        fault::choose(Some((at, Fault::FullDisk)));
        let done = scene.edit();
        let passed = fault::taken() <= at;
        fault::choose(None);
        scene.recover().unwrap();
        scene.can_be_undone(&old, &format!("full disk at {at}: {done:?}"));
        if passed {
            assert!(at > 20, "{at} steps");
            break;
        }
    }
}

#[test]
fn kill_at_one_step_of_an_edit_loses_nothing() {
    let (folder, scene) = scene();
    let steps = kill::run("edit own -", folder.path()).unwrap();
    assert!(steps > 20 && scene.root().join("new/folder/file").exists(), "{steps} steps");
    for at in 0..steps {
        let (folder, scene) = self::scene();
        let old = scene.tree();
        assert_eq!(kill::run(&format!("edit own {at}"), folder.path()), None);
        // The recovery is killed too, at a step that differs each time.
        let _ = kill::run(&format!("recover own {}", at % 7), folder.path());
        scene.recover().unwrap();
        scene.can_be_undone(&old, &format!("killed at {at}"));
    }
}
