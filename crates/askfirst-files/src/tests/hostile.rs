//! Tests of hostile file names and special files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use super::*;

#[test]
fn hostile_file_names_are_literal_or_blocked() {
    let world = World::with_w();
    for name in
        ["a\nb", "a\u{1b}[2Jb", "-rf", " ", "~", "$(x)", "ä\u{308}", "\u{202e}txt", "con", "a\\b", "*"]
    {
        let path = format!("w:{name}");
        world.call("write_file", json!({"path": path, "content": name})).unwrap();
        assert_eq!(world.call("read_file", json!({"path": path})).unwrap()["content"], name);
        assert_eq!(world.read(&format!("w/{name}")), name);
    }
    for path in ["", "w:a\0b", "\0"] {
        let why = world.blocked("write_file", json!({"path": path, "content": "x"}));
        assert_eq!(why, "a path must not be empty or contain a NUL byte");
    }
    world.blocked("write_file", json!({"path": format!("w:{}", "x".repeat(256)), "content": ""}));
    world.blocked("write_file", json!({"path": format!("w:{}x", "x/".repeat(5_000)), "content": ""}));
    world.call("write_file", json!({"path": "./w/x:y", "content": ""})).unwrap();
    assert!(world.exists("w/x:y"));
}

#[test]
fn non_utf8_names_are_listed_and_marked() {
    let world = World::with_w();
    for name in [b"\xff".as_slice(), b"\xfe"] {
        std::fs::write(world.path("w").join(OsStr::from_bytes(name)), "x").unwrap();
    }
    std::os::unix::fs::symlink(OsStr::from_bytes(b"\xff"), world.path("w/link")).unwrap();
    let list = world.call("list_files", json!({"path": "w:", "glob": "?"})).unwrap();
    assert!(!list["files"].as_array().unwrap().is_empty() && list["not_utf8"] == list["files"], "{list}");
    world.blocked("read_file", json!({"path": "w:link"}));
    world.call("read_file", json!({"path": "w:\u{fffd}"})).unwrap_err();
}

#[test]
fn special_files_are_blocked_without_waiting() {
    let world = World::with_w();
    let status = std::process::Command::new("mkfifo").arg(world.path("w/pipe")).status().unwrap();
    assert!(status.success());
    let _socket = std::os::unix::net::UnixListener::bind(world.path("w/socket")).unwrap();
    let mut things = vec!["pipe", "socket"];
    let made = std::process::Command::new("mknod").arg(world.path("w/device")).args(["c", "1", "5"]).status();
    if made.is_ok_and(|status| status.success()) {
        things.push("device");
    }
    for object in things {
        let path = format!("w:{object}");
        let why = world.blocked("read_file", json!({"path": path}));
        assert_eq!(why, format!("`{path}` is a {object}, not a file"));
        world.blocked("write_file", json!({"path": path, "content": "x"}));
        world.blocked("copy_file", json!({"path": path, "to": "w:z"}));
        assert_eq!(world.call("stat_file", json!({"path": path})).unwrap()["kind"], object);
    }
    assert_eq!(
        world.call("find_in_files", json!({"path": "w:", "pattern": "x"})).unwrap()["files_searched"],
        0
    );
    let root = World::new().root("dev", "dev", free()).link("/dev/zero", "dev/zero");
    root.blocked("read_file", json!({"path": "dev:zero"}));
}

#[test]
fn broken_or_circular_links_are_blocked() {
    let world =
        World::with_w().link("nowhere", "w/dangling").link("b", "w/a").link("a", "w/b").link("l", "w/l");
    for path in ["w:dangling", "w:dangling/x", "w:a", "w:a/x", "w:l"] {
        for (tool, args) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("make_folder", json!({"path": path})),
        ] {
            world.blocked(tool, args);
        }
    }
    assert!(!world.exists("w/nowhere"));
}

#[test]
fn very_deep_tree_reports_skipped_folders() {
    let world = World::with_w();
    let mut folder = rustix::fs::open(
        world.path("w"),
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    for _ in 0..300 {
        rustix::fs::mkdirat(&folder, "d", rustix::fs::Mode::from_raw_mode(0o700)).unwrap();
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
        folder = rustix::fs::openat(&folder, "d", flags, rustix::fs::Mode::empty()).unwrap();
    }
    let list = world.call("list_files", json!({"path": "w:", "depth": 1000})).unwrap();
    assert_eq!(list["folders"].as_array().unwrap().len(), 256);
    assert_eq!(list["folders_not_entered"], 1);
    world.blocked("delete_file", json!({"path": "w:d", "recursive": true}));
}

#[test]
fn blocked_pipe_is_never_opened() {
    let world = World::with_w();
    std::fs::create_dir(world.path("w/d")).unwrap();
    for path in ["pipe", "d/pipe"] {
        let real = world.path("w").join(path);
        assert!(std::process::Command::new("mkfifo").arg(&real).status().unwrap().success());
        let writer = std::thread::spawn({
            let real = real.clone();
            move || std::fs::OpenOptions::new().write(true).open(real).unwrap()
        });
        for _ in 0..50 {
            world.blocked("read_file", json!({"path": format!("w:{path}")}));
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(!writer.is_finished(), "{path}");
        let _reader = std::fs::File::open(real).unwrap();
        drop(writer.join().unwrap());
    }
}
