//! Checks who owns the folder, the secret and the socket.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn watch_files_are_private_and_the_secret_stays_the_same() {
    let state = tempfile::tempdir().unwrap();
    let desk = Desk::open(state.path()).unwrap();
    let watch = state.path().join("watch");
    let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&watch), 0o700);
    assert_eq!(mode(desk.socket()), 0o600);
    assert_eq!(mode(&watch.join("secret")), 0o600);
    let secret = std::fs::read(watch.join("secret")).unwrap();
    assert_eq!(secret.len(), 32);
    drop(desk);
    let _desk = Desk::open(state.path()).unwrap();
    assert_eq!(std::fs::read(watch.join("secret")).unwrap(), secret);
    let left: Vec<_> = std::fs::read_dir(&watch).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "secret, lock and socket: {left:?}");
}

#[test]
fn folder_or_secret_open_to_other_users_is_refused() {
    let state = tempfile::tempdir().unwrap();
    drop(Desk::open(state.path()).unwrap());
    let watch = state.path().join("watch");
    let secret = watch.join("secret");
    let refused = |what: &str| {
        let opened = Desk::open(state.path());
        assert!(matches!(opened, Err(WatchError::NotOurs(_) | WatchError::Io(..))), "{what}");
        assert_eq!(cause(&ask(&session(state.path(), "s1"), question(1))), Cause::NoOneToAsk, "{what}");
    };
    set_mode(&watch, 0o755);
    refused("a folder that others see into");
    set_mode(&watch, 0o700);
    set_mode(&secret, 0o640);
    refused("a secret that others read");
    set_mode(&secret, 0o600);
    std::fs::write(&secret, b"short").unwrap();
    refused("a secret that is none");
    let elsewhere = state.path().join("elsewhere");
    std::fs::write(&elsewhere, [7; 32]).unwrap();
    set_mode(&elsewhere, 0o600);
    std::fs::remove_file(&secret).unwrap();
    symlink(&elsewhere, &secret).unwrap();
    refused("a secret that leads elsewhere");
    std::fs::remove_file(&secret).unwrap();
    drop(Desk::open(state.path()).unwrap());
    std::fs::rename(&watch, state.path().join("moved")).unwrap();
    symlink(state.path().join("moved"), &watch).unwrap();
    refused("a folder that leads elsewhere");
}

#[test]
fn second_watcher_starts_only_after_the_first_ends() {
    let state = tempfile::tempdir().unwrap();
    let first = Desk::open(state.path()).unwrap();
    assert!(matches!(Desk::open(state.path()), Err(WatchError::Busy)));
    assert!(first.socket().exists(), "the second did not take the socket away");
    drop(first);
    drop(Desk::open(state.path()).unwrap());
}
