//! What is too deep, too long or gone: the rest is moved aside all the same.

use super::*;

/// Folders in each other below `w/deep`, made step by step since no path is long enough.
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

#[test]
fn what_is_too_deep_to_be_searched_keeps_nothing_else_from_being_moved_aside() {
    // Past the longest path; just short of it, where the new name has no room; and many short names.
    for (name, levels) in [("d".repeat(100), 60), ("d".repeat(199), 20), ("d".to_owned(), 900)] {
        let world = world();
        let said = world.after(|| {
            world.write("w/.bashrc", "x");
            world.write("w/z/.vscode/tasks.json", "x");
            deep(&world, &name, levels);
        });
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said.iter().any(|line| line.contains("holds paths too long to be searched")), "{said:?}");
        assert!(!world.path("w/.bashrc").exists() && !world.path("w/z/.vscode").exists());
        // The next session can look at all that is left.
        assert!(world.denied().iter().any(|(name, _)| name.contains("/d") && name.ends_with("-askfirst")));
    }
}

#[test]
fn one_thing_that_cannot_be_moved_keeps_no_other_from_being_moved() {
    let world = world();
    let protected = world.protected();
    let roots = [world.path("w")];
    let before = protected.search(&roots).unwrap();
    for name in ["w/a/.bashrc", "w/b/.bashrc", "w/c/.bashrc"] {
        world.write(name, "x");
    }
    let mut after = protected.search_all(&roots, |_| false);
    after.failed.push((world.path("w/unread"), std::io::ErrorKind::Other.into()));
    // Gone since it was seen: another session was faster.
    fs::remove_file(world.path("w/b/.bashrc")).unwrap();
    // A file where the folder was.
    fs::remove_dir_all(world.path("w/a")).unwrap();
    symlink("c", world.path("w/a")).unwrap();
    let Moved { said, failed } = quarantine(&before, after, &roots);
    assert_eq!(said.len(), 1, "{said:?}");
    let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(failed.iter().any(|line| line.contains("w/unread` cannot be searched")), "{failed:?}");
    assert!(failed.iter().any(|line| line.contains("w/a/.bashrc` appeared and could not")), "{failed:?}");
}

#[test]
fn what_another_session_moved_aside_is_left_as_it_is() {
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
