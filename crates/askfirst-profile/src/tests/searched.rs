//! Tests of entries that are too deep, too long or gone: everything else is quarantined all the same.

use super::*;

/// Creates nested folders below `w/deep`, step by step, since no path is long enough.
fn deep(world: &World, name: &str, levels: usize) {
    let folder =
        |path: &Path| rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    fs::create_dir(world.path("w/deep")).unwrap();
    let mut at = folder(&world.path("w/deep"));
    for _ in 0..levels {
        rustix::fs::mkdirat(&at, name, Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let flags = OFlags::CREATE | OFlags::WRONLY;
    rustix::fs::openat(&at, ".envrc", flags, Mode::RUSR).unwrap();
}

// invariant: 4
#[test]
fn too_deep_folder_does_not_block_other_quarantines() {
    // Beyond the longest path; just below it, without space for the new name; and many short names.
    for (name, levels) in [("d".repeat(100), 60), ("d".repeat(199), 20), ("d".to_owned(), 900)] {
        let world = world();
        let said = world.after(|| {
            world.write("w/.bashrc", "x");
            world.write("w/z/.vscode/tasks.json", "x");
            deep(&world, &name, levels);
        });
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(
            said.iter().any(|line| line.contains("contains paths that are too long to search")),
            "{said:?}"
        );
        assert!(!world.path("w/.bashrc").exists() && !world.path("w/z/.vscode").exists());
        // The next session can search all that is left.
        assert!(world.denied().iter().any(|(name, _)| name.contains("/d") && name.ends_with("-askfirst")));
    }
}

#[test]
fn failed_rename_does_not_block_other_quarantines() {
    let world = world();
    let protected = world.protected();
    let roots = [world.path("w")];
    let before = protected.search(&roots).unwrap();
    for name in ["w/a/.bashrc", "w/b/.bashrc", "w/c/.bashrc"] {
        world.write(name, "x");
    }
    let mut after = protected.search_all(&roots, Some(&before), |_| false);
    after.failed.push((world.path("w/unread"), std::io::ErrorKind::Other.into()));
    // Removed since the search, as if another session had quarantined it.
    fs::remove_file(world.path("w/b/.bashrc")).unwrap();
    // A link where the folder was.
    fs::remove_dir_all(world.path("w/a")).unwrap();
    symlink("c", world.path("w/a")).unwrap();
    let since = QuarantineScope { before: &before, roots: &roots, writable: &roots, read_only: &[] };
    let QuarantineReport { lines: said, failed, .. } =
        quarantine_round(&protected, since, after, PointerFilter::Existing);
    assert_eq!(said.len(), 1, "{said:?}");
    let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(
        failed.iter().any(|line| line.contains("cannot search `") && line.contains("w/unread`")),
        "{failed:?}"
    );
    assert!(failed.iter().any(|line| line.contains("w/a/.bashrc` appeared and could not")), "{failed:?}");
}

#[test]
fn names_quarantined_by_another_session_stay() {
    let world = world();
    let said = world.after(|| {
        world.write("w/.bashrc.quarantined-by-askfirst", "x");
        world.write("w/.bashrc.quarantined-by-askfirst-0123456789abcdef", "x");
        world.write("w/x.quarantined-by-askfirst.code-workspace", "x");
    });
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(world.path("w/.bashrc.quarantined-by-askfirst").exists());
    assert!(!world.path("w/x.quarantined-by-askfirst.code-workspace").exists());
}

// invariant: 4
#[test]
fn folder_with_a_quarantine_name_is_searched_anyway() {
    let world = world();
    let said = world.after(|| {
        world.write("w/x.quarantined-by-askfirst/.git/config", EVIL);
        world.write("w/x.quarantined-by-askfirst/a/.vscode/tasks.json", "x");
        world.write("w/x.quarantined-by-askfirst/plain", "x");
    });
    assert_eq!(said.len(), 2, "{said:?}");
    let inside = |name: &str| world.path("w/x.quarantined-by-askfirst").join(name).exists();
    assert!(!inside(".git/config") && !inside("a/.vscode") && inside("plain"));
    assert_eq!(world.denied(), [("x.quarantined-by-askfirst".to_owned(), Denial::All)]);
}

#[test]
fn active_content_of_a_quarantined_folder_is_quarantined() {
    let world = world();
    let said = world.after(|| {
        world.write("w/.vscode/tasks.json", "x");
        world.write("w/.vscode/.git/config", EVIL);
        world.write("w/.vscode/.vscode/a/.git/hooks/pre-commit", "x");
        // Never read as a whole, so it was not searched before.
        world.write("w/.env/.git/config", EVIL);
        symlink(".env.quarantined-by-askfirst", world.path("w/sub")).unwrap();
    });
    let aside = world.path("w/.vscode.quarantined-by-askfirst");
    assert!(aside.join("tasks.json").exists(), "{said:?}");
    assert!(!aside.join(".git/config").exists() && !aside.join(".vscode").exists(), "{said:?}");
    let inner = aside.join(".vscode.quarantined-by-askfirst/a/.git");
    assert!(inner.exists() && !inner.join("hooks").exists(), "{said:?}");
    assert!(world.path("w/sub/.git").exists() && !world.path("w/sub/.git/config").exists(), "{said:?}");
}

// invariant: 4
#[test]
fn worktree_pointing_into_quarantine_is_quarantined() {
    for name in ["x.quarantined-by-askfirst", ".vscode"] {
        let world = world();
        let said = world.after(|| {
            world.write(&format!("w/{name}/.git/HEAD"), "ref: refs/heads/m\n");
            world.write(&format!("w/{name}/.git/config"), EVIL);
            world.write(&format!("w/{name}/.git/worktrees/t/commondir"), "../..\n");
            let to = world.path("w").join(name.replace(".vscode", ".vscode.quarantined-by-askfirst"));
            world.write("w/z/.git", &format!("gitdir: {}/.git/worktrees/t\n", to.display()));
        });
        assert!(!world.path("w/z/.git").exists(), "{said:?}");
        assert!(!world.path(&format!("w/{name}/.git/config")).exists(), "{said:?}");
    }
}

// invariant: 4
#[test]
fn targets_of_new_pointers_that_stay_are_checked() {
    let world = world();
    world.write("w/.git/HEAD", "ref: refs/heads/m\n");
    let said = world.after(|| {
        world.write("w/.git/worktrees/t/commondir", "../..\n");
        world.write("w/.git/worktrees/t/HEAD", "ref: refs/heads/m\n");
        let to = world.path("w/.git/worktrees/t");
        world.write("w/t/.git", &format!("gitdir: {}\n", to.display()));
        world.write("w/.git/config", EVIL);
        world.write("w/b/HEAD", "x");
        world.write("w/b/objects/x", "x");
        world.write("w/b/refs/x", "x");
        world.write("w/b/config", "[core]\n\tbare = true\n");
    });
    assert!(world.path("w/t/.git").exists() && !world.path("w/.git/config").exists(), "{said:?}");
    assert!(world.path("w/b/HEAD").exists() && world.path("w/b/config").exists(), "{said:?}");
}

#[test]
fn wildcard_rule_quarantines_a_name_once() {
    let mut world = world();
    world.config.main.sandbox.never_read = vec![".env*".to_owned()];
    let said = world.after(|| world.write("w/.env.local", "x"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(world.path("w/.env.local.quarantined-by-askfirst").exists());
}

#[test]
fn hard_links_in_quarantine_names_are_not_elsewhere() {
    let world = world();
    fs::create_dir(world.path("w/x.quarantined-by-askfirst")).unwrap();
    for number in 0..70 {
        world.write(&format!("w/{number}"), "x");
        let other = world.path(&format!("w/x.quarantined-by-askfirst/{number}"));
        fs::hard_link(world.path(&format!("w/{number}")), other).unwrap();
    }
    assert!(!world.denied().is_empty());
}
