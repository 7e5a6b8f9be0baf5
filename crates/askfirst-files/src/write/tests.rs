//! Tests that a failed write changes nothing.

use serde_json::json;
use std::io::Write;

use super::super::handle::LinkPolicy;
use super::super::location::HandlePolicy;
use super::super::tests::{World, call};
use super::*;

#[test]
fn write_that_fails_halfway_changes_nothing() {
    let world = World::with_w().put("w/a", "old");
    let tools = world.tools();
    let view = RootView::new(&tools.roots);
    let before = world.all();
    for path in ["w:a", "w:new"] {
        let location = view.locate(path, LinkPolicy::Follow, HandlePolicy::KeepOpen).unwrap();
        let full = |file: &mut File| {
            file.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        let error = Target::new(&view, &location).unwrap().replace(full).unwrap_err();
        assert!(matches!(error, CallError::Failed(_)), "{error:?}");
        assert_eq!(world.all(), before);
    }
}

#[test]
fn file_changed_during_a_write_is_not_overwritten() {
    let world = World::with_w().put("w/a", "old");
    let tools = world.tools();
    let view = RootView::new(&tools.roots);
    for path in ["a", "new"] {
        let location = view.locate(&format!("w:{path}"), LinkPolicy::Follow, HandlePolicy::KeepOpen).unwrap();
        let target = Target::new(&view, &location).unwrap();
        let outcome = target.replace(|file| {
            world.write(&format!("w/{path}"), "theirs, and longer");
            file.write_all(b"mine")
        });
        assert!(matches!(outcome, Err(CallError::Stale(_))), "{outcome:?}");
        assert_eq!(world.read(&format!("w/{path}")), "theirs, and longer");
    }
    assert_eq!(std::fs::read_dir(world.path("w")).unwrap().count(), 2);
}

#[test]
fn folder_moved_during_a_write_is_not_written() {
    let world = World::with_w().put("w/d/a", "old");
    let tools = world.tools();
    let view = RootView::new(&tools.roots);
    let location = view.locate("w:d/a", LinkPolicy::Follow, HandlePolicy::KeepOpen).unwrap();
    let outcome = Target::new(&view, &location).unwrap().replace(|file| {
        std::fs::rename(world.path("w/d"), world.path("out")).unwrap();
        file.write_all(b"mine")
    });
    assert!(matches!(outcome, Err(CallError::Stale(_))), "{outcome:?}");
    assert_eq!(world.read("out/a"), "old");
    assert_eq!(std::fs::read_dir(world.path("out")).unwrap().count(), 1);
}

#[test]
fn full_disk_changes_nothing() {
    let world = World::with_w().put("w/a", "old");
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16k", "none"])
        .arg(world.path("w"))
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        crate::skip::skip("full_disk_changes_nothing", "a small disk cannot be mounted");
        return;
    }
    world.write("w/a", "old");
    let outcome = call(&world.tools(), "write_file", json!({"path": "w:a", "content": "x".repeat(64 << 10)}));
    let after = world.all();
    let unmounted = std::process::Command::new("umount").arg("-l").arg(world.path("w")).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(outcome.unwrap_err().to_string(), "cannot write `w:a`: no space left on disk");
    assert_eq!(after.get("w/a"), Some(&Some("old".to_owned())));
    assert_eq!(after.len(), 2, "{after:?}");
}

// invariant: 3
#[test]
fn write_replaces_only_the_shown_content() {
    let world = World::with_w().put("w/a", "old");
    let tools = world.tools();
    let view = RootView::new(&tools.roots);
    let location = view.locate("w:a", LinkPolicy::Follow, HandlePolicy::KeepOpen).unwrap();
    let write = |shown: &str| {
        let shown = askfirst::Digest::of(shown).to_string();
        let target = Target::new(&view, &location).unwrap().expecting(Some(shown));
        target.replace(|file| file.write_all(b"new"))
    };
    let outcome = write("other");
    assert!(matches!(outcome, Err(CallError::Stale(_))), "{outcome:?}");
    assert_eq!(world.read("w/a"), "old");
    assert_eq!(std::fs::read_dir(world.path("w")).unwrap().count(), 1);
    write("old").unwrap();
    assert_eq!(world.read("w/a"), "new");
}

#[test]
fn temporary_file_is_readable_by_the_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::with_w().put("w/a", "secret");
    let tools = world.tools();
    let view = RootView::new(&tools.roots);
    let location = view.locate("w:a", LinkPolicy::Follow, HandlePolicy::KeepOpen).unwrap();
    let mut mode = 0o777;
    Target::new(&view, &location)
        .unwrap()
        .replace(|file| {
            mode = file.metadata()?.permissions().mode() & 0o777;
            file.write_all(b"secret still")
        })
        .unwrap();
    assert_eq!(mode, 0o600);
}
