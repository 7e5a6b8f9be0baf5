//! Tests of writing and editing.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;

use super::*;

#[test]
fn write_creates_and_overwrites_a_file() {
    let world = World::with_w();
    let done = world.call("write_file", json!({"path": "w:a", "content": "one"})).unwrap();
    assert_eq!(done, json!({"path": "w:a", "bytes": 3, "new": true}));
    let done =
        world.call("write_file", json!({"path": "w:a", "content": "AP8=", "encoding": "base64"})).unwrap();
    assert_eq!(done, json!({"path": "w:a", "bytes": 2, "new": false}));
    assert_eq!(std::fs::read(world.path("w/a")).unwrap(), [0, 255]);
    assert_eq!(std::fs::read_dir(world.path("w")).unwrap().count(), 1, "no temporary file remains");
}

#[test]
fn write_keeps_the_mode_but_drops_setuid() {
    let world = World::with_w().put("w/a", "one");
    std::fs::set_permissions(world.path("w/a"), PermissionsExt::from_mode(0o4751)).unwrap();
    let before = std::fs::metadata(world.path("w/a")).unwrap();
    world.call("write_file", json!({"path": "w:a", "content": "two"})).unwrap();
    let after = std::fs::metadata(world.path("w/a")).unwrap();
    assert_eq!(after.mode() & 0o7777, 0o751);
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino(), "a new file replaced the old one");
}

#[test]
fn write_keeps_the_owner() {
    let world = World::with_w().put("w/a", "one");
    if std::os::unix::fs::chown(world.path("w/a"), Some(60001), Some(60002)).is_err() {
        return crate::skip::skip("write_keeps_the_owner", "only root can change the owner of a file");
    }
    world.call("write_file", json!({"path": "w:a", "content": "two"})).unwrap();
    let after = std::fs::metadata(world.path("w/a")).unwrap();
    assert_eq!((after.uid(), after.gid()), (60001, 60002));
}

#[test]
fn write_does_not_create_missing_folders() {
    let world = World::with_w();
    assert_eq!(world.needs("write_file", json!({"path": "w:d/e/a", "content": ""})), Approval::None);
    let error = world.call("write_file", json!({"path": "w:d/e/a", "content": ""})).unwrap_err();
    assert_eq!(error.to_string(), "the folder `w:d/e` does not exist; hint: create it with make_folder");
    assert_eq!(world.call("make_folder", json!({"path": "w:d/e"})).unwrap()["made"], true);
    assert_eq!(world.call("make_folder", json!({"path": "w:d/e"})).unwrap()["made"], false);
    world.call("write_file", json!({"path": "w:d/e/a", "content": "x"})).unwrap();
    assert_eq!(world.read("w/d/e/a"), "x");
    world.call("make_folder", json!({"path": "w:d/e/a"})).unwrap_err();
    world.blocked("write_file", json!({"path": "w:d/e/a/b", "content": "x"}));
    world.blocked("write_file", json!({"path": "w:d", "content": "x"}));
    world.blocked("write_file", json!({"path": "w:", "content": "x"}));
}

#[test]
fn edit_must_match_exactly_once() {
    let world = World::with_w().put("w/a", "one two two\n");
    let edit = |args: Value| world.call("edit_file", args);
    edit(json!({"path": "w:a", "old": "one", "new": "1"})).unwrap();
    assert_eq!(world.read("w/a"), "1 two two\n");
    let error = edit(json!({"path": "w:a", "old": "two", "new": "2"})).unwrap_err().to_string();
    assert!(error.starts_with("`w:a`: the file contains the old text 2 times"), "{error}");
    edit(json!({"path": "w:a", "old": "two", "new": "2", "all": true})).unwrap();
    assert_eq!(world.read("w/a"), "1 2 2\n");
    edit(json!({"path": "w:a", "old": "two", "new": "2"})).unwrap_err();
    edit(json!({"path": "w:a", "patch": "@@ -1 +1,2 @@\n-1 2 2\n+1\n+2\n"})).unwrap();
    assert_eq!(world.read("w/a"), "1\n2\n");
    edit(json!({"path": "w:no", "old": "a", "new": "b"})).unwrap_err();
}

#[test]
fn file_changed_since_it_was_shown_is_stale() {
    let world = World::new().root("w", "w", asking()).put("w/a", "old\n");
    let tools = world.tools();
    for (tool, args) in [
        ("write_file", json!({"path": "w:a", "content": "new\n"})),
        ("edit_file", json!({"path": "w:a", "old": "old", "new": "new"})),
        ("delete_file", json!({"path": "w:a"})),
        ("move_file", json!({"path": "w:a", "to": "w:b"})),
        ("copy_file", json!({"path": "w:a", "to": "w:b"})),
    ] {
        let basis = world.shown(tool, args.clone()).1.basis;
        world.write("w/a", "old\nand more\n");
        let outcome = call_with(&tools, tool, args.clone(), basis);
        assert!(matches!(outcome, Err(ToolError::Stale(_))), "{tool}: {outcome:?}");
        assert_eq!(world.read("w/a"), "old\nand more\n");
        assert!(!world.exists("w/b"));
    }
    let args = json!({"path": "w:new", "content": "mine"});
    let basis = world.shown("write_file", args.clone()).1.basis;
    world.write("w/new", "theirs");
    assert!(matches!(call_with(&tools, "write_file", args, basis), Err(ToolError::Stale(_))));
    assert_eq!(world.read("w/new"), "theirs");
}

#[test]
fn call_with_unchanged_basis_runs() {
    let world = World::new().root("w", "w", asking()).put("w/a", "old\n").put("w/d/x", "x");
    let tools = world.tools();
    for (tool, args) in [
        ("edit_file", json!({"path": "w:a", "old": "old", "new": "new"})),
        ("write_file", json!({"path": "w:a", "content": "newer\n"})),
        ("copy_file", json!({"path": "w:a", "to": "w:b"})),
        ("move_file", json!({"path": "w:b", "to": "w:a", "overwrite": true})),
        ("make_folder", json!({"path": "w:e/f"})),
        ("delete_file", json!({"path": "w:d", "recursive": true})),
    ] {
        let basis = world.shown(tool, args.clone()).1.basis;
        call_with(&tools, tool, args, basis).unwrap_or_else(|error| panic!("{tool}: {error}"));
    }
    assert_eq!(world.read("w/a"), "newer\n");
    assert!(!world.exists("w/d") && world.exists("w/e/f"));
}

#[test]
fn link_swapped_since_it_was_shown_is_stale() {
    let world =
        World::new().root("w", "w", asking()).put("w/1/a", "same").put("w/2/a", "same").link("1", "w/l");
    let args = json!({"path": "w:l/a", "content": "x"});
    let basis = world.shown("write_file", args.clone()).1.basis;
    std::fs::remove_file(world.path("w/l")).unwrap();
    let world = world.link("2", "w/l");
    let outcome = call_with(&world.tools(), "write_file", args, basis);
    assert!(matches!(outcome, Err(ToolError::Stale(_))), "{outcome:?}");
    assert_eq!(world.read("w/2/a"), "same");
}
