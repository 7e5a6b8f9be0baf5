//! Where git is led by files, folders and settings of a repository.

use super::*;

/// A repository `it` with a worktree `wt`, made by hand.
fn worktree(world: &World) {
    world.write("w/it/HEAD", "ref: refs/heads/main\n");
    world.write("w/it/worktrees/w/HEAD", "ref: refs/heads/main\n");
    world.write("w/it/worktrees/w/commondir", "../..\n");
    world.write("w/wt/.git", &format!("gitdir: {}\n", world.path("w/it/worktrees/w").display()));
}

#[test]
fn what_worktrees_share_is_protected_without_a_head_too() {
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
fn settings_that_worktrees_share_are_covered_without_a_head_too() {
    let world = world();
    worktree(&world);
    fs::remove_file(world.path("w/it/HEAD")).unwrap();
    world.write("w/it/config", "");
    assert!(world.denied().contains(&("it/config".to_owned(), Denial::Write)), "{:?}", world.denied());
    // Also if only the worktree's own folder leads there.
    fs::remove_file(world.path("w/wt/.git")).unwrap();
    assert!(world.denied().contains(&("it/config".to_owned(), Denial::Write)), "{:?}", world.denied());
}

#[test]
fn hooks_and_settings_that_settings_lead_to_are_protected() {
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
fn hooks_that_appear_where_settings_lead_are_moved_aside() {
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
fn a_repository_whose_own_folder_has_its_hooks_stays_open() {
    let world = world();
    world.write("w/sub/.git/config", "[core]\n\thooksPath = .\n");
    assert_eq!(world.denied(), [("sub/.git/config".to_owned(), Denial::Write)]);
}

#[test]
fn settings_that_turn_into_a_pipe_are_not_waited_for() {
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
            let after = super::super::Searched { known, failed: Vec::new(), unreadable: Vec::new() };
            let since = Since { before: &before, roots: &roots, writable: &roots, held: &[] };
            one_round(&protected, since, after, Counting::Old);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_link_that_is_made_anew_frees_nothing_where_it_leads() {
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
fn a_folder_of_the_owner_is_not_moved_because_settings_name_it_since() {
    let world = world();
    world.write("w/.git/config", "[core]\n\tbare = false\n");
    world.write("w/tools/hooks/pre-commit", "x");
    world.after(|| {
        // As git does it: a new file under the old name.
        world.write("w/.git/config.lock", "[core]\n\thooksPath = tools/hooks\n");
        fs::rename(world.path("w/.git/config.lock"), world.path("w/.git/config")).unwrap();
    });
    assert!(world.path("w/tools/hooks/pre-commit").exists());
}

#[test]
fn settings_that_are_no_text_or_long_lead_where_they_lead() {
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

#[test]
fn where_nobody_knows_what_settings_say_nothing_starts() {
    let many: String = (0..70).map(|it| format!("[include]\n\tpath = i{it}\n")).collect();
    for text in ["# x\n".repeat(300_000), many] {
        let world = world();
        world.write("w/.git/config", &text);
        let links = Links::search(&[world.path("w")]).unwrap();
        let derived = derive_os_sandbox_profile(&world.config, Access::Unasked, &world.protected(), &links);
        let said = derived.unwrap_err().to_string();
        assert!(said.contains("cannot be read, so nobody knows where it leads git"), "{said}");
        assert!(said.contains("/w/.git/"), "{said}");
    }
}

#[test]
fn settings_that_are_no_file_start_nothing() {
    let world = world();
    world.write("w/.git/config", "[core]\n\thooksPath = tools/hooks\n");
    let pipe = world.path("w/.git/config.worktree");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0)
        .unwrap();
    let found = world.protected().search(&[world.path("w")]);
    assert!(matches!(found, Err(WallsError::Settings { path, .. }) if path == pipe));
}

#[test]
fn a_repository_in_git_is_found_under_a_name_that_is_no_text_too() {
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
