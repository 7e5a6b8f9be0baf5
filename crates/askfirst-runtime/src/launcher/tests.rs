//! What is done around a process, whatever becomes of it.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use askfirst::{Approval, Because};

use super::*;
use askfirst_config::{PathApproval, PathConfig, PathMode};

/// A launcher with one free root, the folder that is given.
fn launcher(root: &std::path::Path) -> WalledLauncher {
    let mut settings = Settings::default();
    let free = PathApproval { read: Approval::None, write: Approval::None, attach: Approval::None };
    let root = root.canonicalize().unwrap();
    let path = PathConfig {
        root: root.clone(),
        mode: PathMode::Rw,
        suffixes: Vec::new(),
        max_file_bytes: None,
        approval: free,
        origin: Because::built_in("sandbox.paths", "a root"),
    };
    settings.sandbox.paths.insert("w".to_owned(), path);
    let launcher = WalledLauncher::new(Config::alone(settings, &root));
    WalledLauncher { state: None, ..launcher }
}

#[test]
fn what_appeared_is_moved_aside_also_if_nobody_knows_how_the_command_ended() {
    let held = tempfile::tempdir().unwrap();
    let launcher = launcher(held.path());
    let done = launcher.behind::<()>(Access::Approved, |_, _| {
        fs::write(held.path().join(".bashrc"), "evil").unwrap();
        Err(LaunchError::NoProgram)
    });
    let said = done.unwrap_err().to_string();
    assert!(said.contains("the program name is empty; `") && said.contains(".bashrc` appeared"), "{said}");
    assert!(!held.path().join(".bashrc").exists());
}

/// Two commands at once: the first makes `.bashrc`, the second begins, the first gives it another name and ends, the
/// second gives it back. Says what they were told.
fn launder(root: &std::path::Path, first: &WalledLauncher, second: &WalledLauncher) -> Vec<String> {
    let (bashrc, stash) = (root.join(".bashrc"), root.join("stash"));
    let (made, began) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let one = scope.spawn(|| {
            let done = first.behind(Access::Approved, |_, _| {
                fs::write(&bashrc, "evil").unwrap();
                made.wait();
                began.wait();
                fs::rename(&bashrc, &stash).unwrap();
                Ok(((), Vec::new()))
            });
            over.store(true, Ordering::SeqCst);
            done
        });
        made.wait();
        let two = second.behind(Access::Approved, |_, _| {
            began.wait();
            while !over.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            fs::rename(&stash, &bashrc).unwrap();
            Ok(((), Vec::new()))
        });
        [one.join().unwrap().unwrap().1, two.unwrap().1].concat()
    })
}

#[test]
fn what_appears_during_a_command_is_nobodys_for_those_that_overlap() {
    let held = tempfile::tempdir().unwrap();
    let launcher = launcher(held.path());
    let told = launder(held.path(), &launcher, &launcher);
    assert!(told.iter().any(|line| line.contains(".bashrc` appeared")), "{told:?}");
    assert!(!held.path().join(".bashrc").exists());
    // When all are over, what is there is the owner's again.
    fs::write(held.path().join(".profile"), "mine").unwrap();
    let quiet = launcher.behind(Access::Approved, |_, _| Ok(((), Vec::new()))).unwrap().1;
    assert_eq!(quiet, [""; 0]);
}

#[test]
fn nor_is_it_anybodys_in_another_process() {
    let (held, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let with_state = || WalledLauncher { state: Some(state.path().to_owned()), ..launcher(held.path()) };
    let told = launder(held.path(), &with_state(), &with_state());
    assert!(told.iter().any(|line| line.contains(".bashrc` appeared")), "{told:?}");
    let left: Vec<_> =
        fs::read_dir(state.path().join("walls")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["turn"]);
}

#[test]
fn what_a_session_made_that_was_killed_is_moved_aside_by_the_next() {
    let (held, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let with_state = || WalledLauncher { state: Some(state.path().to_owned()), ..launcher(held.path()) };
    fs::write(held.path().join(".profile"), "mine").unwrap();
    let killed = with_state();
    let ground = killed.ground().unwrap();
    let aboard = ground.enter().unwrap();
    let (derived, _) = killed.derive(Access::Approved, ground).unwrap();
    ground.since(&derived.before, &killed.roots()).unwrap();
    fs::write(held.path().join(".bashrc"), "evil").unwrap();
    // As the system does it: locks go, files stay.
    let kept = fs::read_dir(state.path().join("walls")).unwrap().map(|it| it.unwrap().path());
    let kept: Vec<(PathBuf, Vec<u8>)> = kept.map(|path| (path.clone(), fs::read(&path).unwrap())).collect();
    drop(aboard);
    kept.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    let next = with_state();
    let told = next.behind(Access::Unasked, |_, _| Ok(((), Vec::new()))).unwrap().1;
    assert!(told.len() == 1 && told[0].contains(".bashrc` appeared"), "{told:?}");
    assert!(held.path().join(".profile").exists());
    let told = next.behind(Access::Unasked, |_, _| Ok(((), Vec::new()))).unwrap().1;
    assert_eq!(told, [""; 0]);
}

#[test]
fn where_the_owner_leads_git_while_a_command_runs_the_next_can_put_nothing() {
    let held = tempfile::tempdir().unwrap();
    let root = held.path().join("above/root");
    fs::create_dir_all(&root).unwrap();
    let launcher = launcher(&root);
    let settings = held.path().join("above/.git/config");
    let told = launcher.behind(Access::Approved, |_, _| {
        fs::create_dir(settings.parent().unwrap()).unwrap();
        fs::write(&settings, "[core]\n\thooksPath = root/hooks\n").unwrap();
        let inner = launcher.behind(Access::Approved, |_, _| {
            fs::create_dir(root.join("hooks")).unwrap();
            fs::write(root.join("hooks/pre-commit"), "evil").unwrap();
            Ok(((), Vec::new()))
        });
        Ok((inner.unwrap().1, Vec::new()))
    });
    let told = told.unwrap().0;
    assert!(told.iter().any(|line| line.contains("hooks` appeared")), "{told:?}");
}
