//! Tests of git pointers: files, folders and settings of a repository.

use super::*;

/// Creates a repository `it` with a worktree `wt`, without running git.
fn worktree(world: &World) {
    world.write("w/it/HEAD", "ref: refs/heads/main\n");
    world.write("w/it/worktrees/w/HEAD", "ref: refs/heads/main\n");
    world.write("w/it/worktrees/w/commondir", "../..\n");
    world.write("w/wt/.git", &format!("gitdir: {}\n", world.path("w/it/worktrees/w").display()));
}

// invariant: 4
#[test]
fn shared_worktree_files_without_head_are_quarantined() {
    let world = world();
    assert_eq!(world.after(|| worktree(&world)), [""; 0]);
    let said = world.after(|| {
        fs::remove_file(world.path("w/it/HEAD")).unwrap();
        world.write("w/it/config", EVIL);
        world.write("w/it/hooks/pre-commit", "x");
        world.write("w/it/info/attributes", "* diff=x\n");
    });
    assert_eq!(said.len(), 3, "{said:?}");
    for name in ["config", "hooks", "info/attributes"] {
        assert!(!world.path("w/it").join(name).exists(), "{name}");
    }
}

#[test]
fn shared_worktree_settings_without_head_are_protected() {
    let world = world();
    worktree(&world);
    fs::remove_file(world.path("w/it/HEAD")).unwrap();
    world.write("w/it/config", "");
    assert!(world.denied().contains(&("it/config".to_owned(), Denial::Write)), "{:?}", world.denied());
    // Also if only the folder of the worktree points there.
    fs::remove_file(world.path("w/wt/.git")).unwrap();
    assert!(world.denied().contains(&("it/config".to_owned(), Denial::Write)), "{:?}", world.denied());
}

#[test]
fn hooks_and_includes_named_by_settings_are_protected() {
    let world = world();
    world.write(
        "w/.git/config",
        "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../tools/gitconfig\n[includeIf \"gitdir:x\"] path = none\n",
    );
    world.write("w/tools/hooks/pre-commit", "x");
    world.write("w/tools/gitconfig", "[include]\n\tpath = more\n");
    world.write("w/tools/more", "");
    let denied = world.denied();
    for name in ["tools/gitconfig", "tools/hooks", "tools/more"] {
        assert!(denied.contains(&(name.to_owned(), Denial::Write)), "{denied:?}");
    }
    assert!(!denied.iter().any(|(name, _)| name == "tools"), "{denied:?}");
}

#[test]
fn new_hooks_named_by_settings_are_quarantined() {
    let world = world();
    world.write("w/.git/config", "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ../extra\n");
    let said = world.after(|| {
        world.write("w/tools/hooks/pre-commit", "x");
        world.write("w/extra", EVIL);
    });
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(!world.path("w/tools/hooks").exists() && !world.path("w/extra").exists());
}

#[test]
fn tree_that_is_its_own_hooks_folder_stays_open() {
    let world = world();
    world.write("w/sub/.git/config", "[core]\n\thooksPath = .\n");
    assert_eq!(world.denied(), [("sub/.git/config".to_owned(), Denial::Write)]);
}

#[test]
fn settings_that_become_a_pipe_do_not_block() {
    let world = world();
    world.write("w/new/.git/HEAD", "x");
    let protected = world.protected();
    let roots = [world.path("w")];
    let before = protected.search(&roots).unwrap();
    world.write("w/new/.git/config", "[core]\n\tbare = false\n");
    let after = protected.search_all(&roots, Some(&before), |_| false);
    let config = world.path("w/new/.git/config");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let pipe = world.path("w/pipe");
                let mode = Mode::from_raw_mode(0o600);
                rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
                let _ = fs::rename(&pipe, &config);
                world.write("w/plain", "[core]\n\tbare = false\n");
                let _ = fs::rename(world.path("w/plain"), &config);
            }
        });
        for _ in 0..2000 {
            let known = after.known.clone();
            let after = super::super::SearchResult { known, failed: Vec::new(), unreadable: Vec::new() };
            let since = QuarantineScope { before: &before, roots: &roots, writable: &roots, read_only: &[] };
            quarantine_round(&protected, since, after, PointerFilter::Existing);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn recreated_git_link_still_protects_its_target() {
    let world = world();
    world.write("w/store/config", "");
    symlink("store", world.path("w/.git")).unwrap();
    let said = world.after(|| {
        fs::remove_file(world.path("w/.git")).unwrap();
        world.write("w/between", "x");
        symlink("store", world.path("w/.git")).unwrap();
        world.write("w/store/hooks/pre-commit", "x");
    });
    assert!(!world.path("w/store/hooks").exists(), "{said:?}");
}

#[test]
fn user_folder_stays_when_settings_name_it_later() {
    let world = world();
    world.write("w/.git/config", "[core]\n\tbare = false\n");
    world.write("w/tools/hooks/pre-commit", "x");
    world.after(|| {
        // Like git does: a new file with the old name.
        world.write("w/.git/config.lock", "[core]\n\thooksPath = tools/hooks\n");
        fs::rename(world.path("w/.git/config.lock"), world.path("w/.git/config")).unwrap();
    });
    assert!(world.path("w/tools/hooks/pre-commit").exists());
}

#[test]
fn settings_with_invalid_utf8_or_large_size_are_followed() {
    for more in [&b"[user]\n\tname = Jos\xe9\n"[..], &b"# x\n".repeat(100_000)] {
        let world = world();
        world.write("w/.git/config", "[core]\n\t# C:\\x\\\n\thooksPath = tools/hooks\n");
        let mut text = fs::read(world.path("w/.git/config")).unwrap();
        text.extend(more);
        fs::write(world.path("w/.git/config"), text).unwrap();
        world.write("w/tools/hooks/pre-commit", "x");
        assert!(world.denied().contains(&("tools/hooks".to_owned(), Denial::Write)), "{:?}", world.denied());
    }
}

// invariant: 4
#[test]
fn unreadable_settings_are_an_error() {
    let many: String = (0..70).map(|it| format!("[include]\n\tpath = i{it}\n")).collect();
    for text in ["# x\n".repeat(300_000), many] {
        let world = world();
        world.write("w/.git/config", &text);
        let links = HardLinks::search(&[world.path("w")]).unwrap();
        let derived =
            derive_os_sandbox_profile(&world.config, Access::WithoutAsking, &world.protected(), &links);
        let error = derived.unwrap_err().to_string();
        assert!(error.contains("so it is unknown which other files git would use"), "{error}");
        assert!(error.starts_with("cannot read `") && error.contains("/w/.git/"), "{error}");
    }
}

#[test]
fn settings_that_are_a_pipe_are_an_error() {
    let world = world();
    world.write("w/.git/config", "[core]\n\thooksPath = tools/hooks\n");
    let pipe = world.path("w/.git/config.worktree");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .unwrap();
    let found = world.protected().search(&[world.path("w")]);
    assert!(matches!(found, Err(SandboxError::GitSettings { path, .. }) if path == pipe));
}

#[test]
fn repository_inside_git_with_invalid_utf8_name_is_found() {
    use std::os::unix::ffi::OsStrExt;
    let world = world();
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    world.write("w/.git/HEAD", "x");
    world.after(|| {
        for name in ["HEAD", "objects/x", "refs/x"] {
            let path = world.path("w/.git").join(odd).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        fs::write(world.path("w/.git").join(odd).join("config"), EVIL).unwrap();
    });
    assert!(!world.path("w/.git").join(odd).join("HEAD").exists());
}
