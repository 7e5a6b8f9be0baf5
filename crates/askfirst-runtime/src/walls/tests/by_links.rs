//! Links: those that a program makes on the way to a protected name, those that have such a name, and folders that are
//! put in each other's place while they are searched.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

#[test]
fn a_link_on_the_way_to_a_protected_name_is_moved_aside() {
    let mut world = world();
    world.config.main.sandbox.never_write = vec!["deploy/keys/*.pem".to_owned(), "/own/file".to_owned()];
    // Links that were there stay, and so does what is none.
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
fn a_file_that_leads_to_settings_elsewhere_is_moved_aside_and_a_folder_of_its_name_stays() {
    let world = world();
    let said = world.after(|| {
        world.write("w/a/.jj/repo", "../../x");
        world.write("w/b/.jj/repo/store/type", "git");
        world.write("w/c/repo", "x");
    });
    assert!(said.len() == 1 && said[0].contains("`.jj/repo` decides which settings"), "{said:?}");
    assert!(world.path("w/b/.jj/repo/store").exists() && world.path("w/c/repo").exists());
}

#[test]
fn what_a_protected_link_leads_to_is_protected_as_the_link_is() {
    let world = world();
    for name in ["envs/dev", "shared/tasks.json", "rc", "src/code", "top/file"] {
        world.write(&format!("w/{name}"), "x");
    }
    symlink("envs/dev", world.path("w/.env")).unwrap();
    symlink("shared", world.path("w/.vscode")).unwrap();
    symlink(world.path("w/rc"), world.path("w/.bashrc")).unwrap();
    symlink("..", world.path("w/top/.idea")).unwrap();
    // What lies in a protected folder leads to files only.
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
fn what_is_never_read_is_not_read_where_a_link_leads_to_it_in_something_protected() {
    let world = world();
    world.write("w/.vscode/env", "x");
    symlink(".vscode/env", world.path("w/.env")).unwrap();
    let denied = [(".vscode", Denial::Write), (".vscode/env", Denial::All)];
    assert_eq!(world.denied(), denied.map(|(name, what)| (name.to_owned(), what)));
}

#[test]
fn hooks_and_settings_that_are_links_are_protected_where_they_lead() {
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
fn what_appears_where_a_protected_link_led_to_nothing_is_moved_aside() {
    let world = world();
    symlink("later", world.path("w/.bashrc")).unwrap();
    let said = world.after(|| world.write("w/later", "x"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(!world.path("w/later").exists());
}

#[test]
fn what_is_the_owners_is_not_moved_because_a_link_that_appeared_leads_to_it() {
    let world = world();
    let protected = world.protected();
    let roots = [world.path("w")];
    world.write("w/src/code", "x");
    let before = protected.search(&roots).unwrap();
    let since = Since { before: &before, roots: &roots, writable: &roots, held: &[] };
    // A command that still runs makes it anew as often as it is moved.
    for counting in [Counting::Old, Counting::Staying] {
        symlink("src", world.path("w/.env")).unwrap();
        let after = protected.search_all(&roots, Some(&before), |_| false);
        let Moved { said, failed, .. } = one_round(&protected, since, after, counting);
        assert!(said.len() == 1 && said[0].contains("w/.env` appeared"), "{said:?} {failed:?}");
    }
    assert!(world.path("w/src/code").exists());
}

#[test]
fn nor_because_one_that_was_there_leads_to_it_now() {
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

#[test]
fn folders_that_change_places_while_they_are_searched_are_not_taken_for_each_other() {
    const COUNT: usize = 200;
    let world = world();
    let protected = world.protected();
    let roots = [world.path("w")];
    let before = protected.search(&roots).unwrap();
    for number in 0..COUNT {
        world.write(&format!("w/p/{number}/.bashrc"), "x");
        fs::create_dir_all(world.path(&format!("w/q/{number}"))).unwrap();
    }
    // Until then nothing is kept of a folder.
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

#[test]
fn what_no_command_could_write_is_never_moved_aside() {
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
    let since = Since { before: &before, roots: &roots, writable: &roots[..1], held: &roots[1..] };
    // What was there leads elsewhere: the folder that a repository shares, and a link.
    for folder in ["only-read", "secrets", ".vscode"] {
        world.write("w/bare/commondir", &format!("../{folder}\n"));
        fs::remove_file(world.path("w/.git")).unwrap();
        symlink(folder, world.path("w/.git")).unwrap();
        let Moved { failed, .. } = quarantine(&protected, since, |_| false);
        assert!(failed.is_empty(), "{failed:?}");
        assert!(!world.path("w/bare/commondir").exists() && !world.path("w/.git").is_symlink());
        assert!(world.path("w").join(folder).join("config").exists(), "{folder}");
        assert!(world.path("w").join(folder).join("hooks/pre-push").exists(), "{folder}");
        symlink("to", world.path("w/.git")).unwrap();
    }
    // What a command could write is.
    world.write("w/bare/commondir", "../open\n");
    quarantine(&protected, since, |_| false);
    assert!(!world.path("w/open/config").exists() && !world.path("w/open/hooks").exists());
}
