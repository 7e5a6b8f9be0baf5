//! Tests of missing permissions. Root has all permissions, so root runs these tests as another user.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use serde_json::json;

use super::*;

const NOBODY: u32 = 60_001;

/// Returns true if the test can run in this process. Root runs a copy of the test binary as another user instead.
fn as_a_plain_user(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let folder = tempfile::tempdir().unwrap();
    let open =
        |path: &std::path::Path| std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    open(folder.path());
    let program = folder.path().join("tests");
    // Copies the binary in another process. A child of another thread could otherwise keep the copy open for writing.
    let own = std::env::current_exe().unwrap();
    assert!(std::process::Command::new("cp").arg(own).arg(&program).status().unwrap().success());
    open(&program);
    let output = std::process::Command::new(program)
        .args(["--exact", &format!("{}::{test}", module_path!().split_once("::").unwrap().1)])
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    false
}

fn mode(world: &World, path: &str, mode: u32) {
    std::fs::set_permissions(world.path(path), PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn folder_without_permission_is_blocked() {
    if !as_a_plain_user("folder_without_permission_is_blocked") {
        return;
    }
    let world = World::with_w().put("w/closed/a", "x");
    mode(&world, "w/closed", 0o000);
    let why = world.blocked("read_file", json!({"path": "w:closed/a"}));
    let list = world.call("list_files", json!({"path": "w:", "depth": 2})).unwrap();
    world.blocked("delete_file", json!({"path": "w:closed", "recursive": true}));
    mode(&world, "w/closed", 0o700);
    assert_eq!(why, "cannot resolve `w:closed/a`: permission denied");
    assert_eq!(list["folders_not_entered"], 1);
    assert_eq!(world.read("w/closed/a"), "x");
}

#[test]
fn file_without_read_permission_fails_clearly() {
    if !as_a_plain_user("file_without_read_permission_fails_clearly") {
        return;
    }
    let world = World::with_w().put("w/a", "x");
    mode(&world, "w/a", 0o200);
    let error = world.call("read_file", json!({"path": "w:a"})).unwrap_err().to_string();
    assert_eq!(error, "cannot open `w:a`: permission denied");
    assert_eq!(
        world.call("find_in_files", json!({"path": "w:", "pattern": "x"})).unwrap()["files_skipped"],
        1
    );
}

#[test]
fn folder_without_write_permission_is_unchanged() {
    if !as_a_plain_user("folder_without_write_permission_is_unchanged") {
        return;
    }
    let world = World::with_w().put("w/d/a", "x");
    mode(&world, "w/d", 0o500);
    for (tool, args) in [
        ("write_file", json!({"path": "w:d/a", "content": "y"})),
        ("write_file", json!({"path": "w:d/b", "content": "y"})),
        ("edit_file", json!({"path": "w:d/a", "old": "x", "new": "y"})),
        ("move_file", json!({"path": "w:d/a", "to": "w:b"})),
        ("delete_file", json!({"path": "w:d/a"})),
        ("make_folder", json!({"path": "w:d/e"})),
    ] {
        let error = world.call(tool, args).unwrap_err().to_string();
        assert!(error.ends_with("permission denied"), "{tool}: {error}");
    }
    mode(&world, "w/d", 0o700);
    assert_eq!(world.all().keys().collect::<Vec<_>>(), ["w", "w/d", "w/d/a"]);
    assert_eq!(world.read("w/d/a"), "x");
}

#[test]
fn home_rule_without_a_home_folder_is_an_error() {
    let module = module_path!().split_once("::").unwrap().1;
    let name = format!("{module}::home_rule_without_a_home_folder_is_an_error");
    if std::env::var_os("HOME").is_some() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let output =
            again.args([name.as_str(), "--exact", "--nocapture"]).env_remove("HOME").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        return;
    }
    let world = World::with_w().never_read("~/.secrets");
    let error = open(&Config::alone(world.main.clone(), world.path("")));
    let why = "invalid path rule `~/.secrets`: the home folder is unknown";
    assert_eq!(error.err().unwrap().to_string(), why);
}
