//! Tests of moving, copying and deleting.

use serde_json::json;

use super::*;

#[test]
fn move_keeps_existing_target_without_overwrite() {
    let world = World::with_w().put("w/a", "a").put("w/b", "b").put("w/d/x", "x");
    let error = world.call("move_file", json!({"path": "w:a", "to": "w:b"})).unwrap_err().to_string();
    assert_eq!(error, "`w:b` already exists; hint: set `overwrite` to replace it");
    world.call("move_file", json!({"path": "w:a", "to": "w:d", "overwrite": true})).unwrap_err();
    world.call("move_file", json!({"path": "w:d", "to": "w:d/e"})).unwrap_err();
    world.call("move_file", json!({"path": "w:a", "to": "w:b", "overwrite": true})).unwrap();
    assert_eq!(world.read("w/b"), "a");
    assert!(!world.exists("w/a"));
    world.call("move_file", json!({"path": "w:d", "to": "w:e"})).unwrap();
    assert_eq!(world.read("w/e/x"), "x");
    world.call("move_file", json!({"path": "w:no", "to": "w:z"})).unwrap_err();
}

#[test]
fn file_moves_across_file_systems_but_folder_does_not() {
    use std::os::unix::fs::MetadataExt;
    // Without a memory file system, this tests a move within one file system.
    let far = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let folder = far.path().canonicalize().unwrap();
    let world =
        World::with_w().root("far", folder.to_str().unwrap(), free()).put("w/a", "a").put("w/d/x", "x");
    world.call("move_file", json!({"path": "w:a", "to": "far:a"})).unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("a")).unwrap(), "a");
    assert!(!world.exists("w/a"));
    let is_other_device = folder.metadata().unwrap().dev() != world.path("w").metadata().unwrap().dev();
    let moved = world.call("move_file", json!({"path": "w:d", "to": "far:d"}));
    assert_eq!(moved.is_err(), is_other_device);
    assert_eq!(world.exists("w/d/x"), is_other_device);
    let back = world.call("move_file", json!({"path": "far:a", "to": "w:b"})).unwrap();
    assert_eq!(back, json!({"path": "far:a", "to": "w:b", "replaced": false}));
    assert!(world.read("w/b") == "a" && !folder.join("a").exists());
}

#[test]
fn link_is_moved_and_deleted_without_its_target() {
    let world = World::with_w().put("out", "keep").put("w/a", "a").link("../out", "w/l").link("a", "w/m");
    world.call("move_file", json!({"path": "w:l", "to": "w:k"})).unwrap();
    world.call("delete_file", json!({"path": "w:k"})).unwrap();
    world.call("delete_file", json!({"path": "w:m"})).unwrap();
    assert_eq!((world.read("out"), world.read("w/a")), ("keep".to_owned(), "a".to_owned()));
    assert!(!world.exists("w/k") && !world.exists("w/m"));
}

#[test]
fn copied_file_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::with_w().root("r", "r", read_only()).put("r/a.sh", "a");
    std::fs::set_permissions(world.path("r/a.sh"), PermissionsExt::from_mode(0o750)).unwrap();
    let done = world.call("copy_file", json!({"path": "r:a.sh", "to": "w:a.sh"})).unwrap();
    assert_eq!(done, json!({"path": "r:a.sh", "to": "w:a.sh", "bytes": 1, "replaced": false}));
    let mode = std::fs::metadata(world.path("w/a.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    world.call("copy_file", json!({"path": "r:a.sh", "to": "w:a.sh"})).unwrap_err();
    world.call("copy_file", json!({"path": "w:a.sh", "to": "w:a.sh", "overwrite": true})).unwrap_err();
    world.blocked("copy_file", json!({"path": "w:a.sh", "to": "r:b"}));
    world.blocked("move_file", json!({"path": "r:a.sh", "to": "w:c"}));
}

#[test]
fn folder_with_content_is_deleted_only_with_recursive() {
    let world = World::with_w().put("w/d/e/x", "x").put("out/y", "y").link("../../out", "w/d/out");
    let error = world.call("delete_file", json!({"path": "w:d"})).unwrap_err().to_string();
    assert_eq!(error, "`w:d` is not empty; hint: set `recursive` to delete its content too");
    assert_eq!(world.call("delete_file", json!({"path": "w:d", "recursive": true})).unwrap()["deleted"], 4);
    assert!(!world.exists("w/d"));
    assert_eq!(world.read("out/y"), "y");
}

#[test]
fn folder_with_protected_content_stays_in_place() {
    let world = World::with_w()
        .never_read(".env")
        .put("w/.git/hooks/pre-commit", "x")
        .put("w/d/.env", "x")
        .put("w/x/autostart/evil.desktop", "evil");
    let before = world.all();
    world.blocked("move_file", json!({"path": "w:.git", "to": "w:git"}));
    world.blocked("delete_file", json!({"path": "w:.git", "recursive": true}));
    world.blocked("delete_file", json!({"path": "w:d", "recursive": true}));
    world.blocked("move_file", json!({"path": "w:d", "to": "w:e"}));
    world.blocked("move_file", json!({"path": "w:.git/hooks", "to": "w:old"}));
    assert_eq!(world.all(), before);
    let why = world.blocked("move_file", json!({"path": "w:x", "to": "w:.config"}));
    assert_eq!(why, "`w:x/autostart` is never written: the built-in list has `.config/autostart`");
}

#[test]
fn move_needs_the_stricter_approval_of_both_roots() {
    let secret = PathApproval { read: Approval::Human, ..free().approval };
    let world = World::new()
        .root("free", "free", free())
        .root("ask", "ask", asking())
        .root("secret", "secret", PathConfig { approval: secret, ..free() })
        .root(
            "text",
            "text",
            PathConfig { suffixes: vec![".txt".to_owned()], max_file_bytes: Some(3), ..free() },
        )
        .put("free/a", "long enough")
        .put("free/b.txt", "long enough")
        .put("free/d/c.txt", "long enough")
        .put("ask/a", "")
        .put("secret/a", "");
    let needs = |path: &str, to: &str| world.needs("move_file", json!({"path": path, "to": to}));
    assert_eq!(needs("free:a", "free:z"), Approval::None);
    assert_eq!(needs("free:a", "ask:z"), Approval::Required);
    assert_eq!(needs("ask:a", "free:z"), Approval::Required);
    assert_eq!(needs("secret:a", "free:z"), Approval::Human);
    assert_eq!(needs("secret:a", "secret:z"), Approval::None);
    assert_eq!(needs("free:a", "text:a"), Approval::Deny);
    assert_eq!(needs("free:b.txt", "text:b.txt"), Approval::Deny);
    assert_eq!(needs("free:d", "text:d"), Approval::Deny);
    assert_eq!(world.needs("copy_file", json!({"path": "secret:a", "to": "free:z"})), Approval::Human);
    assert_eq!(world.needs("copy_file", json!({"path": "free:b.txt", "to": "text:b.txt"})), Approval::Deny);
}

#[test]
fn copying_a_folder_is_blocked_with_a_hint() {
    let world = World::with_w().put("w/d/a", "1");
    let why = world.blocked("copy_file", json!({"path": "w:d", "to": "w:e"}));
    assert!(why.contains("copy_file copies a single file; hint: list it with list_files"), "{why}");
    assert!(!world.exists("w/e"));
}
