//! An editor that saves at each step of a commit or an undo: its text stays, and the rest of the tree is old or new.

use super::fault::{self, Fault};
use super::scene::{Layer, Listing, Scene, open, quick_folder, timeless};
use crate::{CollectLimits, collect};

/// The tree without the edited file.
fn others(scene: &Scene, edited: &str) -> Listing {
    timeless(scene.tree()).into_iter().filter(|(path, _)| path.as_os_str() != edited).collect()
}

fn save_at_each_step(job: &str, edited: &str) {
    let mut outcomes = std::collections::BTreeSet::new();
    for at in 0.. {
        let folder = quick_folder();
        let scene = Scene::make(folder.path());
        let store = scene.store().unwrap();
        let root = open(&scene.root());
        let done_before = (job == "undo").then(|| scene.commit(Layer::Own).unwrap());
        let before = others(&scene, edited);
        let pending = store.begin(&root).unwrap();
        if done_before.is_none() {
            scene.fill(&scene.upper(&pending, Layer::Own));
        }
        let changes = collect(&root, pending.upper(), &CollectLimits::default()).unwrap();
        fault::edit(&scene.root().join(edited));
        fault::choose(Some((at, Fault::Save)));
        let done = match &done_before {
            Some(id) => store.undo(id, &root).map(drop),
            None => pending.commit(&root, pending.upper(), &changes, &Scene::options()).map(drop),
        };
        let passed = fault::taken() <= at;
        fault::choose(None);
        if passed {
            break;
        }
        let what = format!("{job}, {edited} saved at {at}: {done:?}");
        let text = std::fs::read_to_string(scene.root().join(edited));
        assert!(!fault::saved() || text.unwrap() == "editor", "{what}");
        assert_eq!(others(&scene, edited) == before, done.is_err(), "{what}");
        outcomes.insert(done.is_ok());
        drop(pending);
        scene.recover().unwrap();
        assert_eq!(others(&scene, edited) == before, done.is_err(), "recovered {what}");
    }
    assert_eq!(outcomes.len(), 2, "{job}, {edited}: {outcomes:?}");
}

#[test]
fn save_at_any_step_of_a_commit_stays() {
    for edited in ["change", "remove", "added", "gone/in/deep"] {
        save_at_each_step("commit", edited);
    }
}

#[test]
fn save_at_any_step_of_an_undo_stays() {
    for edited in ["change", "added", "times"] {
        save_at_each_step("undo", edited);
    }
}
