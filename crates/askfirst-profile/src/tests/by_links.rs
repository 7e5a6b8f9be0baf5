//! Tests of symbolic links: in the path of a protected name, with a protected name, and folders that are swapped during a
//! search.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

// invariant: 4
#[test]
fn link_in_the_path_of_a_protected_name_is_quarantined() {
    let mut world = world();
    world.config.main.sandbox.never_write = vec!["deploy/keys/*.pem".to_owned(), "/own/file".to_owned()];
    // Existing links stay, and so do folders with these names.
    fs::create_dir_all(world.path("w/old")).unwrap();
    symlink("../w", world.path("w/old/.cargo")).unwrap();
    fs::create_dir_all(world.path("w/plain/.config")).unwrap();
    let made =
        [".cargo", "a/.config", ".git/info", ".JJ", ".jj-2/.jj/repo", "deploy", "b/deploy/keys", "own"];
    let said = world.after(|| {
        world.write("w/x/config.toml", "x");
        for name in made {
            fs::create_dir_all(world.path("w").join(name).parent().unwrap()).unwrap();
            symlink(world.path("w/x"), world.path("w").join(name)).unwrap();
        }
        for name in ["cargo", "own-2", "c/own", "keys"] {
            fs::create_dir_all(world.path("w").join(name).parent().unwrap()).unwrap();
            symlink("x", world.path("w").join(name)).unwrap();
        }
    });
    assert_eq!(said.len(), made.len(), "{said:#?}");
    assert!(said.iter().any(|line| line.contains("it is a link on the way to `.cargo/config`")), "{said:?}");
    for name in made {
        assert!(!world.path("w").join(name).is_symlink(), "{name}");
    }
    for name in ["old/.cargo", "cargo", "own-2", "c/own", "keys"] {
        assert!(world.path("w").join(name).is_symlink(), "{name}");
    }
}

#[test]
fn new_jj_repo_file_is_quarantined_and_folder_stays() {
    let world = world();
    let said = world.after(|| {
        world.write("w/a/.jj/repo", "../../x");
        world.write("w/b/.jj/repo/store/type", "git");
        world.write("w/c/repo", "x");
    });
    assert!(said.len() == 1 && said[0].contains("`.jj/repo` decides which settings"), "{said:?}");
    assert!(world.path("w/b/.jj/repo/store").exists() && world.path("w/c/repo").exists());
}

// invariant: 4
#[test]
fn target_of_a_protected_link_is_protected_too() {
    let world = world();
    for name in ["envs/dev", "shared/tasks.json", "rc", "src/code", "top/file"] {
        world.write(&format!("w/{name}"), "x");
    }
    symlink("envs/dev", world.path("w/.env")).unwrap();
    symlink("shared", world.path("w/.vscode")).unwrap();
    symlink(world.path("w/rc"), world.path("w/.bashrc")).unwrap();
    symlink("..", world.path("w/top/.idea")).unwrap();
    // HardLinks in a protected folder protect files only.
    fs::create_dir(world.path("w/.claude")).unwrap();
    symlink("../src", world.path("w/.claude/src")).unwrap();
    symlink("../top/file", world.path("w/.claude/file")).unwrap();
    let denied = [
        (".claude", Denial::Write),
        ("envs/dev", Denial::All),
        ("rc", Denial::Write),
        ("shared", Denial::Write),
        ("top/file", Denial::Write),
    ];
    assert_eq!(world.denied(), denied.map(|(name, what)| (name.to_owned(), what)));
    assert_eq!(world.after(|| world.write("w/src/code", "y")), [""; 0]);
}

#[test]
fn never_read_link_target_in_a_protected_folder_is_hidden() {
    let world = world();
    world.write("w/.vscode/env", "x");
    symlink(".vscode/env", world.path("w/.env")).unwrap();
    let denied = [(".vscode", Denial::Write), (".vscode/env", Denial::All)];
    assert_eq!(world.denied(), denied.map(|(name, what)| (name.to_owned(), what)));
}

#[test]
fn targets_of_linked_hooks_and_settings_are_protected() {
    let world = world();
    world.write("w/.git/HEAD", "ref: refs/heads/main\n");
    world.write("w/tools/hooks/commit-msg", "x");
    world.write("w/tools/pre-commit", "x");
    world.write("w/tools/settings", "[core]\n\thooksPath = more\n");
    world.write("w/more/pre-push", "x");
    world.write("w/scripts/pre-push", "x");
    symlink("../tools/hooks", world.path("w/.git/hooks")).unwrap();
    symlink("../pre-commit", world.path("w/tools/hooks/pre-commit")).unwrap();
    symlink("../tools/settings", world.path("w/.git/config")).unwrap();
    symlink("../scripts/pre-push", world.path("w/more/post-merge")).unwrap();
    let names: Vec<String> = world.denied().into_iter().map(|(name, _)| name).collect();
    for name in ["tools/hooks", "tools/settings", "more", "scripts/pre-push"] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
    let said = world.after(|| {
        world.write("w/new", "[core]\n\tfsmonitor = x\n");
        fs::rename(world.path("w/new"), world.path("w/tools/settings")).unwrap();
    });
    assert!(said.iter().any(|line| line.contains("w/tools/settings` appeared")), "{said:?}");
}

#[test]
fn new_target_of_a_dangling_protected_link_is_quarantined() {
    let world = world();
    symlink("later", world.path("w/.bashrc")).unwrap();
    let said = world.after(|| world.write("w/later", "x"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(!world.path("w/later").exists());
}

#[test]
fn user_files_stay_when_a_new_link_points_to_them() {
    let world = world();
    let protected = world.protected();
    let roots = [world.path("w")];
    world.write("w/src/code", "x");
    let before = protected.search(&roots).unwrap();
    let since = QuarantineScope { before: &before, roots: &roots, writable: &roots, read_only: &[] };
    // A running command creates it again each time.
    for filter in [PointerFilter::Existing, PointerFilter::Remaining] {
        symlink("src", world.path("w/.env")).unwrap();
        let after = protected.search_all(&roots, Some(&before), |_| false);
        let QuarantineReport { lines: said, failed, .. } = quarantine_round(&protected, since, after, filter);
        assert!(said.len() == 1 && said[0].contains("w/.env` appeared"), "{said:?} {failed:?}");
    }
    assert!(world.path("w/src/code").exists());
}

#[test]
fn user_files_stay_when_a_retargeted_link_points_to_them() {
    let world = world();
    world.write("w/src/code", "x");
    world.write("w/rc", "x");
    symlink("rc", world.path("w/.bashrc")).unwrap();
    let said = world.after(|| {
        fs::remove_file(world.path("w/.bashrc")).unwrap();
        symlink("src", world.path("w/.bashrc")).unwrap();
    });
    assert!(said.len() == 1 && said[0].contains("w/.bashrc` appeared"), "{said:?}");
    assert!(world.path("w/src/code").exists());
}

// invariant: 4
#[test]
fn folders_swapped_during_a_search_are_not_confused() {
    const COUNT: usize = 200;
    let world = world();
    let protected = world.protected();
    let roots = [world.path("w")];
    let before = protected.search(&roots).unwrap();
    for number in 0..COUNT {
        world.write(&format!("w/p/{number}/.bashrc"), "x");
        fs::create_dir_all(world.path(&format!("w/q/{number}"))).unwrap();
    }
    // Before that, the folder is not cached.
    std::thread::sleep(Duration::from_millis(3_200));
    let (one, other) = (world.path("w/p"), world.path("w/q"));
    let swap = || renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
    let look = || protected.search_all(&roots, Some(&before), |_| false).known.found;
    for _ in 0..40 {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    swap();
                    swap();
                }
            });
            look();
            look();
            over.store(true, Ordering::Relaxed);
        });
        let found = look();
        let missed = (0..COUNT).filter(|it| !found.contains_key(&one.join(it.to_string()).join(".bashrc")));
        assert_eq!(missed.count(), 0);
    }
}

// invariant: 4
#[test]
fn files_that_no_command_could_write_are_never_moved() {
    let mut world = world();
    world.config.main.sandbox.never_read = vec!["secrets".to_owned()];
    for name in ["objects/x", "refs/x", "HEAD"] {
        world.write(&format!("w/bare/{name}"), "x");
    }
    for folder in ["only-read", "secrets", ".vscode", "open"] {
        world.write(&format!("w/{folder}/config"), "x");
        world.write(&format!("w/{folder}/hooks/pre-push"), "x");
    }
    fs::create_dir(world.path("w/to")).unwrap();
    symlink("to", world.path("w/.git")).unwrap();
    let protected = world.protected();
    let roots = [world.path("w"), world.path("w/only-read")];
    let before = protected.search(&roots).unwrap();
    let since =
        QuarantineScope { before: &before, roots: &roots, writable: &roots[..1], read_only: &roots[1..] };
    // Retarget existing pointers: the shared folder of a repository, and a link.
    for folder in ["only-read", "secrets", ".vscode"] {
        world.write("w/bare/commondir", &format!("../{folder}\n"));
        fs::remove_file(world.path("w/.git")).unwrap();
        symlink(folder, world.path("w/.git")).unwrap();
        let QuarantineReport { failed, .. } = quarantine(&protected, since, |_| false);
        assert!(failed.is_empty(), "{failed:?}");
        assert!(!world.path("w/bare/commondir").exists() && !world.path("w/.git").is_symlink());
        assert!(world.path("w").join(folder).join("config").exists(), "{folder}");
        assert!(world.path("w").join(folder).join("hooks/pre-push").exists(), "{folder}");
        symlink("to", world.path("w/.git")).unwrap();
    }
    // A folder that the command could write is quarantined.
    world.write("w/bare/commondir", "../open\n");
    quarantine(&protected, since, |_| false);
    assert!(!world.path("w/open/config").exists() && !world.path("w/open/hooks").exists());
}
