//! Tests of files that another process swaps between the plan of a call and its execution.

use serde_json::json;

use super::super::basis::Observation;
use super::super::error::CallError;
use super::super::execute;
use super::super::file_call::FileCall;
use super::super::place::RootView;
use super::*;

/// Plans a call, runs `meanwhile`, and executes the call.
pub(super) fn with(
    world: &World,
    tool: &str,
    args: Value,
    meanwhile: impl FnOnce(),
) -> Result<Value, CallError> {
    let tools = world.tools();
    let view = RootView::new(&tools.roots);
    let call = FileCall::parse(tool, args.as_object().unwrap()).unwrap().unwrap();
    let plan = view.plan(&call).unwrap();
    meanwhile();
    execute(&view, &call, &plan, Observation::default())
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
fn swapped_file_is_stale_and_unchanged() {
    for (tool, args) in calls() {
        let world = World::with_w().put("w/d/a", "a").put("w/other", "a, but another");
        let swap = || std::fs::rename(world.path("w/other"), world.path("w/d/a")).unwrap();
        let outcome = with(&world, tool, args, swap);
        assert!(matches!(outcome, Err(CallError::Stale(_))), "{tool}: {outcome:?}");
        assert_eq!(world.all().keys().collect::<Vec<_>>(), ["w", "w/d", "w/d/a"], "{tool}");
        assert_eq!(world.read("w/d/a"), "a, but another");
    }
}

#[test]
fn file_replaced_by_a_pipe_is_stale() {
    for (tool, args) in calls() {
        let world = World::with_w().put("w/d/a", "a");
        let outcome = with(&world, tool, args, || {
            std::fs::remove_file(world.path("w/d/a")).unwrap();
            assert!(
                std::process::Command::new("mkfifo").arg(world.path("w/d/a")).status().unwrap().success()
            );
        });
        assert!(matches!(outcome, Err(CallError::Stale(_))), "{tool}: {outcome:?}");
    }
}

#[test]
fn folder_replaced_by_a_link_is_not_followed() {
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

#[test]
fn file_with_reset_mtime_is_not_overwritten() {
    for (tool, args) in [
        ("write_file", json!({"path": "w:a", "content": "mine"})),
        ("edit_file", json!({"path": "w:a", "old": "a", "new": "mine"})),
    ] {
        let world = World::with_w().put("w/a", "a 1");
        let outcome = with(&world, tool, args, || {
            let file = std::fs::OpenOptions::new().write(true).open(world.path("w/a")).unwrap();
            let before = file.metadata().unwrap().modified().unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, b"a 2", 0).unwrap();
            file.set_modified(before).unwrap();
        });
        assert!(matches!(outcome, Err(CallError::Stale(_))), "{tool}: {outcome:?}");
        assert_eq!(world.read("w/a"), "a 2");
    }
}

// invariant: 3
#[test]
fn edit_applies_to_the_compared_content_only() {
    let world = World::new().root("w", "w", asking()).put("w/a", "one two");
    let args = json!({"path": "w:a", "old": "two", "new": "2"});
    let shown = world.shown("edit_file", args.clone()).1;
    let tools = world.tools();
    let view = RootView::new(&tools.roots);
    let call = FileCall::parse("edit_file", args.as_object().unwrap()).unwrap().unwrap();
    let plan = view.plan(&call).unwrap();
    let observation = super::super::basis::compare(&view, &call, &plan, &shown.basis.unwrap()).unwrap();
    assert_eq!(observation.content.as_deref(), Some(b"one two".as_slice()));
    let (content, digest) = (observation.content.clone(), Some(askfirst::Digest::of("two more").to_string()));
    world.write("w/a", "two more");
    let outcome = execute(&view, &call, &plan, observation);
    assert!(matches!(outcome, Err(CallError::Stale(_))), "{outcome:?}");
    assert_eq!(world.all().keys().collect::<Vec<_>>(), ["w", "w/a"]);
    assert_eq!(world.read("w/a"), "two more");
    // The edit applies to the compared content, whatever the file contains now.
    let plan = view.plan(&call).unwrap();
    execute(&view, &call, &plan, Observation { content, digest, ..Observation::default() }).unwrap();
    assert_eq!(world.read("w/a"), "one 2");
}

#[test]
fn write_replaces_only_the_compared_content() {
    let world = World::with_w().put("w/a", "there");
    let tools = world.tools();
    let view = RootView::new(&tools.roots);
    let args = json!({"path": "w:a", "content": "mine"});
    let call = FileCall::parse("write_file", args.as_object().unwrap()).unwrap().unwrap();
    let write = |compared: &str| {
        let digest = Some(askfirst::Digest::of(compared).to_string());
        execute(&view, &call, &view.plan(&call).unwrap(), Observation { digest, ..Observation::default() })
    };
    let outcome = write("shown");
    assert!(matches!(outcome, Err(CallError::Stale(_))), "{outcome:?}");
    assert_eq!(world.read("w/a"), "there");
    write("there").unwrap();
    assert_eq!(world.read("w/a"), "mine");
}

#[test]
fn file_that_outgrows_its_rules_before_reading_is_stale() {
    let small = PathConfig { max_file_bytes: Some(4), ..free() };
    for path in ["a", "d/a"] {
        let args = json!({"path": format!("w:{path}")});
        let world = World::new().root("w", "w", small.clone()).put(&format!("w/{path}"), "1234");
        with(&world, "read_file", args.clone(), || ()).unwrap();
        let outcome = with(&world, "read_file", args.clone(), || world.write(&format!("w/{path}"), "12345"));
        assert!(matches!(outcome, Err(CallError::Stale(_))), "larger: {outcome:?}");
        let world = World::with_w().put(&format!("w/{path}"), "1234");
        let outcome = with(&world, "read_file", args, || {
            std::fs::hard_link(world.path(&format!("w/{path}")), world.path("w/second")).unwrap();
        });
        assert!(matches!(outcome, Err(CallError::Stale(_))), "a second name: {outcome:?}");
    }
}
