//! Things that are swapped after a call was looked at and before it acts.

use serde_json::json;

use super::super::act;
use super::super::error::Trouble;
use super::super::place::Ground;
use super::super::wish::Wish;
use super::*;

/// Looks at a call, lets something happen, and acts.
fn with(world: &World, tool: &str, args: Value, meanwhile: impl FnOnce()) -> Result<Value, Trouble> {
    let tools = world.tools();
    let ground = Ground::new(&tools.0.roots);
    let wish = Wish::read(tool, args.as_object().unwrap()).unwrap().unwrap();
    let plan = ground.plan(&wish).unwrap();
    meanwhile();
    act(&ground, &wish, &plan)
}

fn calls() -> [(&'static str, Value); 7] {
    [
        ("read_file", json!({"path": "w:d/a"})),
        ("attach_file", json!({"path": "w:d/a", "receiver": "x"})),
        ("write_file", json!({"path": "w:d/a", "content": "mine"})),
        ("edit_file", json!({"path": "w:d/a", "old": "a", "new": "mine"})),
        ("copy_file", json!({"path": "w:d/a", "to": "w:copy"})),
        ("move_file", json!({"path": "w:d/a", "to": "w:moved"})),
        ("delete_file", json!({"path": "w:d/a"})),
    ]
}

#[test]
fn a_file_that_was_swapped_is_left_alone() {
    for (tool, args) in calls() {
        let world = World::with_w().put("w/d/a", "a").put("w/other", "a, but another");
        let swap = || std::fs::rename(world.path("w/other"), world.path("w/d/a")).unwrap();
        let outcome = with(&world, tool, args, swap);
        assert!(matches!(outcome, Err(Trouble::Stale(_))), "{tool}: {outcome:?}");
        assert_eq!(world.all().keys().collect::<Vec<_>>(), ["w", "w/d", "w/d/a"], "{tool}");
        assert_eq!(world.read("w/d/a"), "a, but another");
    }
}

#[test]
fn a_file_that_became_a_pipe_is_not_waited_for() {
    for (tool, args) in calls() {
        let world = World::with_w().put("w/d/a", "a");
        let outcome = with(&world, tool, args, || {
            std::fs::remove_file(world.path("w/d/a")).unwrap();
            assert!(
                std::process::Command::new("mkfifo").arg(world.path("w/d/a")).status().unwrap().success()
            );
        });
        assert!(matches!(outcome, Err(Trouble::Stale(_))), "{tool}: {outcome:?}");
    }
}

#[test]
fn a_folder_that_became_a_link_is_not_followed() {
    let more = [
        ("list_files", json!({"path": "w:d"})),
        ("find_in_files", json!({"path": "w:d", "pattern": "a"})),
        ("write_file", json!({"path": "w:d/new", "content": "mine"})),
        ("make_folder", json!({"path": "w:d/new"})),
        ("delete_file", json!({"path": "w:d", "recursive": true})),
        ("move_file", json!({"path": "w:d", "to": "w:moved"})),
    ];
    for (tool, args) in calls().into_iter().chain(more) {
        let world = World::with_w().put("w/d/a", "a").put("out/a", "outside");
        let outcome = with(&world, tool, args, || {
            std::fs::rename(world.path("w/d"), world.path("w/was")).unwrap();
            std::os::unix::fs::symlink("../out", world.path("w/d")).unwrap();
        });
        assert!(outcome.is_err(), "{tool}: {outcome:?}");
        assert_eq!(world.read("out/a"), "outside");
        assert_eq!(std::fs::read_dir(world.path("out")).unwrap().count(), 1, "{tool}");
        assert!(world.path("w/d").is_symlink() && world.exists("w/was/a"), "{tool}");
    }
}
