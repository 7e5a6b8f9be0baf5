//! Kills a process at each of its steps, and the recovery after it too: the tree is always the old or the new one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::fault::{self, Fault};
use super::scene::{Layer, Listing, QuickFolder, Scene, make_removable, quick_folder, timeless};

const JOB: &str = "ASKFIRST_CHANGES_JOB";
const PLACE: &str = "ASKFIRST_CHANGES_PLACE";

/// Starts this test program as a process of its own. Returns the number of steps, or `None` if it was killed.
pub(super) fn run(job: &str, place: &Path) -> Option<u64> {
    let name = "tests::kill::does_what_another_test_tells_it";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "--test-threads", "1", name])
        .env(JOB, job)
        .env(PLACE, place)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if std::os::unix::process::ExitStatusExt::signal(&output.status) == Some(9) {
        return None;
    }
    let steps = text.split("steps: ").nth(1).and_then(|rest| rest.split_whitespace().next());
    Some(
        steps
            .unwrap_or_else(|| panic!("{job}: {text}{}", String::from_utf8_lossy(&output.stderr)))
            .parse()
            .unwrap(),
    )
}

#[test]
#[ignore = "started by other tests as a process of its own"]
fn does_what_another_test_tells_it() {
    let (job, place) = (std::env::var(JOB).unwrap(), PathBuf::from(std::env::var(PLACE).unwrap()));
    let scene = Scene(place);
    let words: Vec<&str> = job.split(' ').collect();
    let [job, layer, at] = words[..] else { panic!("no such job: {job}") };
    let layer = if layer == "own" { Layer::Own } else { Layer::Other };
    let kill = at.parse().ok().map(|at: u64| (at, Fault::Kill));
    fault::choose(kill);
    match job {
        "commit" => drop(scene.commit(layer).unwrap()),
        "recover" => scene.recover().unwrap(),
        "edit" => scene.edit().unwrap(),
        "undo" | "redo" => {
            let store = scene.store().unwrap();
            let id = store.list().unwrap()[0].0.id.clone();
            let root = super::scene::open(&scene.root());
            let turned = if job == "undo" { store.undo(&id, &root) } else { store.redo(&id, &root) };
            drop(turned.unwrap());
        }
        _ => panic!("no such job: {job}"),
    }
    println!("steps: {}", fault::taken());
}

/// A scene, and its tree before and after a commit.
struct Story {
    folder: QuickFolder,
    old: Listing,
    new: Listing,
}

impl Story {
    /// Copies a finished scene, so that each kill begins with the same.
    fn again(&self, number: usize) -> Scene {
        let place = self.folder.path().join(number.to_string());
        let copied =
            Command::new("cp").arg("-a").args([&self.folder.path().join("start"), &place]).status().unwrap();
        assert!(copied.success());
        Scene(place)
    }
}

fn story() -> Story {
    let folder = quick_folder();
    let start = folder.path().join("start");
    std::fs::create_dir(&start).unwrap();
    let scene = Scene::make(&start);
    let old = timeless(scene.tree());
    let trial = folder.path().join("trial");
    std::fs::create_dir(&trial).unwrap();
    let trial = Scene::make(&trial);
    trial.commit(Layer::Own).unwrap();
    let new = timeless(trial.tree());
    assert_ne!(old, new);
    Story { folder, old, new }
}

/// Numbers that look random, but are the same in each run.
fn scattered(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below.max(1)
}

/// Kills commit, undo and redo at each step, then the recovery at a scattered one, until `kills` were made.
fn kill_everywhere(layer: Layer, word: &str, kills: usize) {
    let story = story();
    let trial = story.again(0);
    let steps: Vec<u64> = ["commit", "undo", "redo"]
        .iter()
        .map(|job| run(&format!("{job} {word} -"), &trial.0).unwrap())
        .collect();
    let (mut killed, mut number, mut seed) = (0, 1, 7);
    let most = *steps.iter().max().unwrap();
    while killed < kills || (number as u64) <= most {
        let scene = story.again(number);
        for (job, steps) in ["commit", "undo", "redo"].iter().zip(&steps) {
            let (before, after) =
                if *job == "undo" { (&story.new, &story.old) } else { (&story.old, &story.new) };
            let at = if number as u64 <= *steps { number as u64 - 1 } else { scattered(&mut seed, *steps) };
            let what = format!("{job} of {layer:?} killed at {at}");
            killed += usize::from(run(&format!("{job} {word} {at}"), &scene.0).is_none());
            for _ in 0..scattered(&mut seed, 3) {
                let at = scattered(&mut seed, 12);
                killed += usize::from(run(&format!("recover {word} {at}"), &scene.0).is_none());
            }
            scene.recover().unwrap();
            let tree = timeless(scene.tree());
            assert!(tree == *before || tree == *after, "{what}: {}", difference(&tree, after));
            if tree == *before {
                redo_all(&scene, job, layer);
                let tree = timeless(scene.tree());
                assert!(tree == *after, "again after {what}: {}", difference(&tree, after));
            }
        }
        make_removable(&scene.0);
        std::fs::remove_dir_all(&scene.0).unwrap();
        number += 1;
    }
    let all = steps.iter().sum::<u64>();
    println!("{layer:?}: {killed} kills in {number} scenes, {all} steps");
}

/// Does what was killed before it began.
fn redo_all(scene: &Scene, job: &str, layer: Layer) {
    match job {
        "commit" => drop(scene.commit(layer).unwrap()),
        job => {
            let store = scene.store().unwrap();
            let (summary, _) = store.list().unwrap().remove(0);
            let root = super::scene::open(&scene.root());
            let turned =
                if job == "undo" { store.undo(&summary.id, &root) } else { store.redo(&summary.id, &root) };
            drop(turned.unwrap());
        }
    }
}

fn difference(found: &Listing, expected: &Listing) -> String {
    let mut paths: Vec<_> = found.keys().chain(expected.keys()).collect();
    paths.sort();
    paths.dedup();
    let brief = |listing: &Listing, path: &PathBuf| {
        listing.get(path).map(|(mode, content, _)| format!("{mode:o} {}", String::from_utf8_lossy(content)))
    };
    let wrong = paths.into_iter().filter(|path| found.get(*path) != expected.get(*path));
    let line =
        |path: &PathBuf| format!("{}: {:?}, {:?}", path.display(), brief(found, path), brief(expected, path));
    wrong.map(line).collect::<Vec<_>>().join("\n")
}

// invariant: 11
#[test]
fn killed_swap_leaves_the_old_or_the_new_tree() {
    kill_everywhere(Layer::Own, "own", 700);
}

// invariant: 11
#[test]
fn killed_copy_leaves_the_old_or_the_new_tree() {
    kill_everywhere(Layer::Other, "other", 500);
}
