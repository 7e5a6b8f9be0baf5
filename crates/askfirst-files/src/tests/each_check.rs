//! Tests of each single check: a call that would get through without it, even with all other checks.

use serde_json::json;

use super::super::NarrowerRoot;
use super::super::error::CallError;
use super::super::place::RootView;
use super::between::with;
use super::*;

fn is_stale(outcome: &Result<Value, CallError>) -> bool {
    matches!(outcome, Err(CallError::Stale(_)))
}

#[test]
fn denied_root_access_does_not_run_unjudged() {
    let none = PathApproval { read: Approval::None, write: Approval::None, attach: Approval::None };
    for (approval, tool, args) in [
        (PathApproval { read: Approval::Deny, ..none }, "read_file", json!({"path": "w:a"})),
        (PathApproval { write: Approval::Deny, ..none }, "write_file", json!({"path": "w:a", "content": ""})),
        (
            PathApproval { attach: Approval::Deny, ..none },
            "attach_file",
            json!({"path": "w:a", "receiver": "x"}),
        ),
        // Moving or copying the file to a readable root is denied too.
        (PathApproval { read: Approval::Deny, ..none }, "move_file", json!({"path": "w:a", "to": "open:a"})),
        (PathApproval { read: Approval::Deny, ..none }, "copy_file", json!({"path": "w:a", "to": "open:a"})),
    ] {
        let world = World::new()
            .root("w", "w", PathConfig { approval, ..free() })
            .root("open", "open", free())
            .put("w/a", "1");
        let why = world.blocked(tool, args);
        assert_eq!(why, "the approval of the root `w` is `deny`", "{tool}");
        assert_eq!((world.read("w/a"), world.exists("open/a")), ("1".to_owned(), false), "{tool}");
    }
}

#[test]
fn move_or_copy_onto_a_folder_or_into_itself_fails() {
    let world =
        World::new().root("all", ".", free()).root("inner", "inner", free()).put("a", "1").put("d/e/b", "2");
    let both = |from: &str, to: &str| json!({"path": from, "to": to, "overwrite": true});
    let why = world.blocked("move_file", both("all:a", "inner:"));
    assert_eq!(why, "`inner:` is a root, or contains one");
    assert_eq!(world.blocked("copy_file", both("all:a", "all:d")), "`all:d` is a folder, not a file");
    for (from, to, why) in [
        ("all:a", "all:d", "`all:d` already exists and is not a file"),
        ("all:d", "all:d/e/f", "`all:d/e/f` is inside `all:d`"),
    ] {
        let error = world.call("move_file", both(from, to)).unwrap_err();
        assert_eq!(error, ToolError::Failed(why.to_owned()));
    }
    let error = world.call("make_folder", json!({"path": "all:a"})).unwrap_err();
    let why = "cannot create the folder `all:a`: it already exists";
    assert_eq!(error, ToolError::Failed(why.to_owned()));
}

#[test]
fn folder_with_stricter_content_stays_in_place() {
    let none = free().approval;
    for (what, rules) in [
        ("read-only", read_only()),
        (
            "writing needs approval",
            PathConfig { approval: PathApproval { write: Approval::Required, ..none }, ..free() },
        ),
        (
            "reading needs approval",
            PathConfig { approval: PathApproval { read: Approval::Required, ..none }, ..free() },
        ),
        ("another suffix", PathConfig { suffixes: vec![".md".to_owned()], ..free() }),
    ] {
        let world = World::with_w().put("w/d/f/a.txt", "1").floor("w/d/f", rules);
        for (tool, args) in [
            ("delete_file", json!({"path": "w:d", "recursive": true})),
            ("move_file", json!({"path": "w:d", "to": "w:e"})),
        ] {
            let why = world.blocked(tool, args);
            assert!(why.ends_with("has its own rules; hint: use a separate call for it"), "{what}: {why}");
        }
        assert_eq!(world.read("w/d/f/a.txt"), "1");
    }
    let text = PathConfig { suffixes: vec![".txt".to_owned()], ..free() };
    let world = World::with_w().root("text", "text", text).put("w/d/a.sh", "1");
    let why = world.blocked("move_file", json!({"path": "w:d", "to": "text:d"}));
    assert_eq!(why, "the suffix or size of `w:d/a.sh` is not allowed in `text:d`");
}

#[test]
fn folder_with_too_many_entries_is_not_deleted() {
    let world = World::with_w().put("w/d/0", "");
    for n in 1..=10_000 {
        std::fs::hard_link(world.path("w/d/0"), world.path(&format!("w/d/{n}"))).unwrap();
    }
    let why = world.blocked("delete_file", json!({"path": "w:d", "recursive": true}));
    assert_eq!(
        why,
        "`w:d` contains more than 10000 files and folders; hint: use a separate call for each part"
    );
}

#[test]
fn smaller_size_limit_of_two_layers_applies() {
    let most = |bytes: Option<u64>| PathConfig { max_file_bytes: bytes, ..free() };
    for (own, floor) in [(None, Some(4)), (Some(8), Some(4)), (Some(4), Some(8)), (Some(4), None)] {
        let world = World::new().root("w", "w", most(own)).floor("w", most(floor));
        assert_eq!(
            world.blocked("write_file", json!({"path": "w:a", "content": "12345"})),
            "`w:a` is too large: 5 bytes, at most 4 are allowed"
        );
        world.call("write_file", json!({"path": "w:a", "content": "1234"})).unwrap();
    }
}

#[test]
fn moved_folder_keeps_the_rules_of_its_floor() {
    let world = World::with_w().put("w/f/a", "1").floor("w/f", read_only());
    let tools = world.tools();
    std::fs::rename(world.path("w/f"), world.path("w/g")).unwrap();
    let write = |path: &str| needs(&tools, "write_file", json!({"path": path, "content": ""}));
    assert_eq!((write("w:g/a"), write("w:h")), (Approval::Deny, Approval::None));
}

#[test]
fn derived_roots_keep_the_rules_of_a_moved_root() {
    let world = World::new().root("all", "all", free()).root("private", "all/private", asking());
    let part = NarrowerRoot { of: "all".to_owned(), ..NarrowerRoot::default() };
    let derived = world.tools().derive(&BTreeMap::from([("part".to_owned(), part)])).unwrap();
    std::fs::rename(world.path("all/private"), world.path("all/moved")).unwrap();
    let write = |path: &str| needs(&derived, "write_file", json!({"path": path, "content": ""}));
    assert_eq!((write("part:moved/a"), write("part:b")), (Approval::Required, Approval::None));
}

#[test]
fn inner_rules_are_detected_inside_a_root() {
    let inner = |world: &World| RootView::new(&world.tools().roots).has_inner_rules(0);
    assert!(!inner(&World::with_w()));
    assert!(!inner(&World::with_w().root("x", "x", free())));
    assert!(inner(&World::with_w().root("x", "w/x", free())));
    assert!(inner(&World::with_w().put("w/x/a", "").floor("w/x", read_only())));
    // A floor for a folder that does not exist yet counts too.
    assert!(inner(&World::with_w().floor("w/later", read_only())));
}

#[test]
fn deleted_root_is_an_error_instead_of_empty() {
    for world in [World::with_w(), World::with_w().root("x", "x", free())] {
        let tools = world.tools();
        std::fs::remove_dir(world.path("w")).unwrap();
        for (tool, path) in [
            ("stat_file", "w:a"),
            ("stat_file", "w:"),
            ("read_file", "w:a"),
            ("list_files", "w:"),
            ("make_folder", "w:d/e"),
        ] {
            let error = call(&tools, tool, json!({"path": path})).unwrap_err().to_string();
            assert!(error.contains("cannot resolve"), "{tool} {path}: {error}");
        }
    }
}

#[test]
fn name_ending_in_deleted_marker_is_read_normally() {
    let world = World::with_w().put("w/d (deleted)/a (deleted)", "1").link("d (deleted)", "w/link");
    let read = world.call("read_file", json!({"path": "w:link/a (deleted)"})).unwrap();
    assert_eq!((&read["content"], &read["path"]), (&json!("1"), &json!("w:d (deleted)/a (deleted)")));
}

#[test]
fn root_moved_before_the_act_is_stale() {
    for (tool, args) in [
        ("list_files", json!({"path": "w:d"})),
        ("find_in_files", json!({"path": "w:d", "pattern": "a"})),
        ("write_file", json!({"path": "w:d/a", "content": "mine"})),
        ("delete_file", json!({"path": "w:d/a"})),
        ("delete_file", json!({"path": "w:d", "recursive": true})),
        ("move_file", json!({"path": "w:d/a", "to": "w:b"})),
        ("copy_file", json!({"path": "w:d/a", "to": "w:b"})),
    ] {
        // The rule depends on the path of the root.
        let world = World::with_w().never_read("/w/secret").put("w/d/a", "a");
        let outcome = with(&world, tool, args, || {
            std::fs::rename(world.path("w"), world.path("moved")).unwrap();
        });
        assert!(is_stale(&outcome), "{tool}: {outcome:?}");
        assert_eq!(world.all().keys().collect::<Vec<_>>(), ["moved", "moved/d", "moved/d/a"], "{tool}");
    }
}

#[test]
fn folder_swapped_before_the_act_is_stale() {
    for (tool, args) in [
        ("list_files", json!({"path": "w:d"})),
        ("find_in_files", json!({"path": "w:d", "pattern": "a"})),
        ("delete_file", json!({"path": "w:d", "recursive": true})),
        ("move_file", json!({"path": "w:d", "to": "w:x"})),
    ] {
        let world = World::with_w().put("w/d/a", "a").put("w/e/b", "b");
        let outcome = with(&world, tool, args, || {
            std::fs::rename(world.path("w/d"), world.path("w/was")).unwrap();
            std::fs::rename(world.path("w/e"), world.path("w/d")).unwrap();
        });
        assert!(is_stale(&outcome), "{tool}: {outcome:?}");
        assert_eq!(world.read("w/d/b"), "b");
    }
}

#[test]
fn recreated_file_with_reused_inode_is_stale() {
    for (tool, args) in [
        ("delete_file", json!({"path": "w:a"})),
        ("move_file", json!({"path": "w:a", "to": "w:b"})),
        ("write_file", json!({"path": "w:a", "content": "mine"})),
        ("copy_file", json!({"path": "w:a", "to": "w:b"})),
        ("attach_file", json!({"path": "w:a", "receiver": "x"})),
    ] {
        let world = World::with_w().put("w/a", "a");
        let outcome = with(&world, tool, args, || {
            std::fs::remove_file(world.path("w/a")).unwrap();
            world.write("w/a", "b");
        });
        assert!(is_stale(&outcome), "{tool}: {outcome:?}");
        assert_eq!(world.all().keys().collect::<Vec<_>>(), ["w", "w/a"], "{tool}");
        assert_eq!(world.read("w/a"), "b");
    }
}

#[test]
fn pipe_in_place_of_a_file_is_not_read() {
    for _ in 0..5 {
        let world = World::with_w().put("w/a", "a");
        let outcome = with(&world, "read_file", json!({"path": "w:a"}), || {
            std::fs::remove_file(world.path("w/a")).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(world.path("w/a")).status().unwrap().success());
        });
        assert!(is_stale(&outcome), "{outcome:?}");
    }
}

#[test]
fn target_created_before_the_act_is_kept() {
    let world = World::with_w().put("w/a", "a").put("w/b", "b").put("w/other", "other");
    let args = json!({"path": "w:a", "to": "w:b", "overwrite": true});
    let outcome = with(&world, "move_file", args, || {
        std::fs::rename(world.path("w/other"), world.path("w/b")).unwrap();
    });
    assert!(is_stale(&outcome), "{outcome:?}");
    assert_eq!((world.read("w/a"), world.read("w/b")), ("a".to_owned(), "other".to_owned()));

    let outcome = with(&world, "make_folder", json!({"path": "w:d"}), || world.write("w/d", "a file"));
    assert!(outcome.is_err(), "{outcome:?}");
    assert_eq!(world.read("w/d"), "a file");

    let world = World::with_w().put("w/d/a", "a");
    let hook = "w/d/.git/hooks/pre-commit";
    let outcome = with(&world, "delete_file", json!({"path": "w:d", "recursive": true}), || {
        world.write(hook, "mine");
    });
    assert!(matches!(outcome, Err(CallError::Blocked(_))), "{outcome:?}");
    assert_eq!(world.read(hook), "mine");
}

#[test]
fn copy_of_a_growing_file_stops_at_the_size_limit() {
    let small = PathConfig { max_file_bytes: Some(4), ..free() };
    let world = World::with_w().root("small", "small", small).put("w/a", "1234");
    let args = json!({"path": "w:a", "to": "small:a"});
    let outcome = with(&world, "copy_file", args, || world.write("w/a", "12345"));
    assert!(outcome.is_err(), "{outcome:?}");
    assert_eq!(std::fs::read_dir(world.path("small")).unwrap().count(), 0);
}

#[test]
fn approved_search_skips_files_with_stricter_approval() {
    let asks = |read: Approval| PathConfig { approval: PathApproval { read, ..free().approval }, ..free() };
    let world = World::new()
        .root("all", "all", asks(Approval::Required))
        .root("inner", "all/inner", asks(Approval::Required))
        .put("all/a", "word")
        .put("all/inner/b", "word")
        .put("all/f/c", "word")
        .floor("all/f", asks(Approval::Human));
    let found = world.call("find_in_files", json!({"path": "all:", "pattern": "word"})).unwrap();
    assert_eq!(found["lines"], json!([{"path": "all:a", "line": 1, "text": "word"}]));
    assert_eq!(found["files_skipped"], 2);
}

#[test]
fn never_write_rule_still_allows_reading() {
    let mut world = World::with_w().put("w/d/keep.txt", "1");
    world.main.sandbox.never_write.push("keep.txt".to_owned());
    world.call("read_file", json!({"path": "w:d/keep.txt"})).unwrap();
    for (tool, args) in [
        ("write_file", json!({"path": "w:d/keep.txt", "content": ""})),
        ("delete_file", json!({"path": "w:d/keep.txt"})),
        ("delete_file", json!({"path": "w:d", "recursive": true})),
        ("move_file", json!({"path": "w:d/keep.txt", "to": "w:b"})),
    ] {
        let why = world.blocked(tool, args);
        assert_eq!(why, "`w:d/keep.txt` is never written: `sandbox.never_write` has `keep.txt`");
    }
}

#[test]
fn file_too_large_to_attach_is_not_read() {
    let world = World::with_w().put("w/a", "");
    std::fs::OpenOptions::new().write(true).open(world.path("w/a")).unwrap().set_len((16 << 20) + 1).unwrap();
    let error = world.call("attach_file", json!({"path": "w:a", "receiver": "x"})).unwrap_err();
    assert_eq!(error, ToolError::Failed("`w:a` is too large to attach: 16777217 bytes".to_owned()));
}

#[test]
fn oversized_file_can_be_made_smaller() {
    let small = PathConfig { max_file_bytes: Some(4), ..asking() };
    let world = World::new().root("w", "w", small).put("w/a", "12345");
    let args = json!({"path": "w:a", "content": "1234"});
    let shown = world.shown("write_file", args.clone()).1;
    assert_eq!(shown.presentation.unwrap().kind, askfirst::PresentationKind::Diff);
    call_with(&world.tools(), "write_file", args, shown.basis).unwrap();
    assert_eq!(world.read("w/a"), "1234");
}
