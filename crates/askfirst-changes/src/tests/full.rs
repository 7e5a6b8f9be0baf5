//! A disk that is full at each step: nothing is lost, and what could not be finished is taken back.

use super::fault::{self, Fault};
use super::scene::{Layer, Scene, open, timeless};

/// Fails each step of a commit, an undo and a redo in turn.
fn fail_everywhere(layer: Layer) {
    for job in ["commit", "undo", "redo"] {
        let mut at = 0;
        loop {
            let folder = super::scene::quick_folder();
            let scene = Scene::make(folder.path());
            let old = timeless(scene.tree());
            let mut id = None;
            if job != "commit" {
                id = Some(scene.commit(layer).unwrap());
            }
            let new = timeless(scene.tree());
            let (store, root) = (scene.store().unwrap(), open(&scene.root()));
            if job == "redo" {
                store.undo(id.as_ref().unwrap(), &root).unwrap();
            }
            let before = timeless(scene.tree());
            fault::choose(Some((at, Fault::FullDisk)));
            let done = match (job, &id) {
                ("undo", Some(id)) => store.undo(id, &root).map(drop),
                ("redo", Some(id)) => store.redo(id, &root).map(drop),
                _ => scene.commit(layer).map(drop),
            };
            let passed = fault::taken() <= at;
            fault::choose(None);
            scene.recover().unwrap();
            let tree = timeless(scene.tree());
            let what = format!("{job} of {layer:?}, full disk at {at}: {done:?}");
            match (&done, job) {
                (Ok(()), "commit") => assert!(tree != old, "{what}"),
                (Ok(()), "undo") => assert_eq!(tree, old, "{what}"),
                (Ok(()), _) => assert_eq!(tree, new, "{what}"),
                (Err(_), "commit") => assert!(tree == old || !store.list().unwrap().is_empty(), "{what}"),
                (Err(_), _) => assert!(tree == before || tree == old || tree == new, "{what}"),
            }
            let torn = store.list().unwrap().iter().any(|(_, state)| *state == crate::CommitState::Torn);
            assert!(!torn, "{what}");
            if passed {
                break;
            }
            at += 1;
        }
        assert!(at > 20, "{job}: {at} steps");
    }
}

#[test]
fn full_disk_at_one_step_of_a_swap_loses_nothing() {
    fail_everywhere(Layer::Own);
}

#[test]
fn full_disk_at_one_step_of_a_copy_loses_nothing() {
    fail_everywhere(Layer::Other);
}
