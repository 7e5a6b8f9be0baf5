//! Tests of the question whether a view can be made, on mounts of this test's own.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::runs::sandbox;
use super::setup::{Home, home};
use super::{c, is_root, skip};
use crate::isolation::helper::Program;
use crate::isolation::order::Backend;
use crate::isolation::{Helper, NoView, Sandbox, sys};
use crate::profile::User;

/// A home with a folder for layers.
fn scene() -> Home {
    let home = home();
    fs::create_dir(home.path.join("LAYERS")).unwrap();
    home
}

fn check(sandbox: &Sandbox, home: &Home) -> Result<(), NoView> {
    sandbox.check_view(&home.path.join("A"), &home.path.join("LAYERS"), User::Same)
}

#[test]
fn possible_view_is_found_once_and_leaves_nothing() {
    let home = scene();
    let mut sandbox = sandbox();
    assert_eq!(check(&sandbox, &home), Ok(()));
    assert_eq!(fs::read_dir(home.path.join("LAYERS")).unwrap().count(), 0);
    let broken: OwnedFd = fs::File::open("/dev/null").unwrap().into();
    sandbox.helper = Helper(Program::File(Arc::new(broken)));
    assert_eq!(check(&sandbox, &home), Ok(()), "another test ran");
    fs::rename(home.path.join("A"), home.path.join("A2")).unwrap();
    fs::create_dir(home.path.join("A")).unwrap();
    assert!(matches!(check(&sandbox, &home), Err(NoView::Other(_))), "no test ran for another folder");
}

#[test]
fn backend_without_own_namespaces_has_no_view() {
    let mut weaker = sandbox();
    weaker.backend = Backend::ContentOnly;
    weaker.rejected_backends = vec!["own namespaces: creating the namespaces failed".to_owned()];
    let said = check(&weaker, &scene()).unwrap_err().to_string();
    assert!(said.contains("user namespaces") && said.contains("creating the namespaces failed"), "{said}");
}

/// Calls a function on a thread with mounts of its own.
fn with_own_mounts(test: &str, call: impl FnOnce() + Send) {
    if !is_root() {
        return skip(test, "not root: it mounts file systems");
    }
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: no memory is passed. The call applies to this thread alone.
            assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0);
            sys::keep_mounts_private().unwrap();
            call();
        });
        thread.join().unwrap();
    });
}

fn mount(kind: &str, options: &[(&str, &Path)], at: &Path) {
    let options: Vec<_> = options.iter().map(|(name, value)| (c(name), c(value))).collect();
    let options: Vec<_> = options.iter().map(|(name, value)| (name.as_c_str(), value.as_c_str())).collect();
    let mount = sys::new_mount(&c(kind), &options, 0).unwrap();
    sys::attach(mount.as_fd(), sys::open_path(libc::AT_FDCWD, &c(at)).unwrap().as_fd()).unwrap();
}

/// Mounts an overlay over a folder, with layers in another.
fn mount_overlay(folder: &Path, layers: &Path) {
    let [upper, work] = ["u", "w"].map(|name| layers.join(name));
    for layer in [&upper, &work] {
        fs::create_dir_all(layer).unwrap();
    }
    mount("overlay", &[("lowerdir", folder), ("upperdir", &upper), ("workdir", &work)], folder);
}

#[test]
fn mount_inside_a_folder_prevents_a_view() {
    with_own_mounts("mount_inside_a_folder_prevents_a_view", || {
        let (home, sandbox) = (scene(), sandbox());
        assert_eq!(check(&sandbox, &home), Ok(()));
        let inside = home.path.join("A/a b");
        fs::create_dir(&inside).unwrap();
        mount("tmpfs", &[], &inside);
        assert_eq!(check(&sandbox, &home), Err(NoView::MountInside(inside.to_str().unwrap().to_owned())));
    });
}

#[test]
fn third_overlay_is_named_as_the_reason() {
    with_own_mounts("third_overlay_is_named_as_the_reason", || {
        let home = scene();
        mount("tmpfs", &[], &home.path.join("OUT"));
        mount_overlay(&home.path.join("A"), &home.path.join("OUT/1"));
        assert_eq!(check(&sandbox(), &home), Ok(()), "the second overlay");
        mount_overlay(&home.path.join("A"), &home.path.join("OUT/2"));
        assert_eq!(check(&sandbox(), &home), Err(NoView::TooManyOverlays));
    });
}

#[test]
fn folder_that_cannot_hold_layers_is_named() {
    with_own_mounts("folder_that_cannot_hold_layers_is_named", || {
        let home = scene();
        let layers = home.path.join("LAYERS");
        mount("tmpfs", &[], &home.path.join("OUT"));
        mount_overlay(&layers, &home.path.join("OUT"));
        assert_eq!(check(&sandbox(), &home), Err(NoView::Layers(layers.to_str().unwrap().to_owned())));
    });
}
