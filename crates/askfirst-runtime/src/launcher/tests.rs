//! Tests of the cleanup around a process, however the process ends.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use askfirst::{Approval, Because};
use askfirst_config::{PathApproval, PathConfig, PathMode};

use super::*;

/// Creates a launcher with one root that needs no approval.
fn launcher(root: &std::path::Path) -> SandboxLauncher {
    let mut settings = Settings::default();
    let free = PathApproval { read: Approval::None, write: Approval::None, attach: Approval::None };
    let root = root.canonicalize().unwrap();
    let path = PathConfig {
        root: root.clone(),
        mode: PathMode::Rw,
        suffixes: Vec::new(),
        max_file_bytes: None,
        products: Vec::new(),
        approval: free,
        origin: Because::built_in("sandbox.paths", "a root"),
    };
    settings.sandbox.paths.insert("w".to_owned(), path);
    let launcher = SandboxLauncher::new(Config::alone(settings, &root));
    SandboxLauncher { state: None, ..launcher }
}

// invariant: 4
#[test]
fn new_name_is_quarantined_even_if_the_launch_fails() {
    let held = tempfile::tempdir().unwrap();
    let launcher = launcher(held.path());
    let done = launcher.run_in_sandbox::<()>(Access::Approved, Search::Everything, |_, _| {
        fs::write(held.path().join(".bashrc"), "evil").unwrap();
        Err(LaunchError::NoProgram)
    });
    let said = done.unwrap_err().to_string();
    assert!(said.contains("the program name is empty; `") && said.contains(".bashrc` appeared"), "{said}");
    assert!(!held.path().join(".bashrc").exists());
}

/// Runs two overlapping commands. The first creates `.bashrc`; the second starts; the first renames it and ends; the second
/// renames it back. Returns what was reported.
fn launder(root: &std::path::Path, first: &SandboxLauncher, second: &SandboxLauncher) -> Vec<String> {
    let (bashrc, stash) = (root.join(".bashrc"), root.join("stash"));
    let (made, began) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let one = scope.spawn(|| {
            let done = first.run_in_sandbox(Access::Approved, Search::Everything, |_, _| {
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
        let two = second.run_in_sandbox(Access::Approved, Search::Everything, |_, _| {
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

// invariant: 4
#[test]
fn new_name_is_quarantined_across_overlapping_commands() {
    let held = tempfile::tempdir().unwrap();
    let launcher = launcher(held.path());
    let told = launder(held.path(), &launcher, &launcher);
    assert!(told.iter().any(|line| line.contains(".bashrc` appeared")), "{told:?}");
    assert!(!held.path().join(".bashrc").exists());
    // When no command runs, new names belong to the user again.
    fs::write(held.path().join(".profile"), "mine").unwrap();
    let quiet =
        launcher.run_in_sandbox(Access::Approved, Search::Everything, |_, _| Ok(((), Vec::new()))).unwrap().1;
    assert_eq!(quiet, [""; 0]);
}

// invariant: 4
#[test]
fn new_name_is_quarantined_across_overlapping_processes() {
    let (held, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let with_state = || SandboxLauncher { state: Some(state.path().to_owned()), ..launcher(held.path()) };
    let told = launder(held.path(), &with_state(), &with_state());
    assert!(told.iter().any(|line| line.contains(".bashrc` appeared")), "{told:?}");
    let left: Vec<_> =
        fs::read_dir(state.path().join("walls")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["turn"]);
}

// invariant: 4
#[test]
fn leftovers_of_a_killed_session_are_quarantined() {
    let (held, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let with_state = || SandboxLauncher { state: Some(state.path().to_owned()), ..launcher(held.path()) };
    fs::write(held.path().join(".profile"), "mine").unwrap();
    let killed = with_state();
    let tracker = killed.tracker().unwrap();
    let guard = tracker.register().unwrap();
    let (derived, _) = killed.derive(Access::Approved, tracker).unwrap();
    tracker.baseline(&derived.before, &killed.roots()).unwrap();
    fs::write(held.path().join(".bashrc"), "evil").unwrap();
    // Like after a kill: the locks are gone, the files stay.
    let kept = fs::read_dir(state.path().join("walls")).unwrap().map(|it| it.unwrap().path());
    let kept: Vec<(PathBuf, Vec<u8>)> = kept.map(|path| (path.clone(), fs::read(&path).unwrap())).collect();
    drop(guard);
    kept.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    let next = with_state();
    let told = next
        .run_in_sandbox(Access::WithoutAsking, Search::Everything, |_, _| Ok(((), Vec::new())))
        .unwrap()
        .1;
    assert!(told.len() == 1 && told[0].contains(".bashrc` appeared"), "{told:?}");
    assert!(held.path().join(".profile").exists());
    let told = next
        .run_in_sandbox(Access::WithoutAsking, Search::Everything, |_, _| Ok(((), Vec::new())))
        .unwrap()
        .1;
    assert_eq!(told, [""; 0]);
}

#[test]
fn hooks_named_during_a_command_are_quarantined() {
    let held = tempfile::tempdir().unwrap();
    let root = held.path().join("above/root");
    fs::create_dir_all(&root).unwrap();
    let launcher = launcher(&root);
    let settings = held.path().join("above/.git/config");
    let told = launcher.run_in_sandbox(Access::Approved, Search::Everything, |_, _| {
        fs::create_dir(settings.parent().unwrap()).unwrap();
        fs::write(&settings, "[core]\n\thooksPath = root/hooks\n").unwrap();
        let inner = launcher.run_in_sandbox(Access::Approved, Search::Everything, |_, _| {
            fs::create_dir(root.join("hooks")).unwrap();
            fs::write(root.join("hooks/pre-commit"), "evil").unwrap();
            Ok(((), Vec::new()))
        });
        Ok((inner.unwrap().1, Vec::new()))
    });
    let told = told.unwrap().0;
    assert!(told.iter().any(|line| line.contains("hooks` appeared")), "{told:?}");
}

// invariant: 4
#[test]
fn toolchain_replaced_before_the_start_is_left_out() {
    let held = tempfile::tempdir().unwrap();
    let base = held.path().canonicalize().unwrap();
    for folder in ["root", "bin", "private"] {
        fs::create_dir(base.join(folder)).unwrap();
        fs::copy("/bin/true", base.join(folder).join("true")).unwrap();
    }
    let start = StartEnvironment { path: vec![base.join("bin")], ..StartEnvironment::read() };
    let launcher = SandboxLauncher { start, ..launcher(&base.join("root")) };
    let mut readable = Vec::new();
    let done = launcher.run_in_sandbox(Access::Approved, Search::Everything, |derived, _| {
        readable.push(derived.profile.readable.iter().map(|grant| grant.path.clone()).collect::<Vec<_>>());
        if readable.len() > 1 {
            return Ok(((), Vec::new()));
        }
        fs::rename(base.join("bin"), base.join("old")).unwrap();
        std::os::unix::fs::symlink("/nowhere", base.join("bin")).unwrap();
        Err(LaunchError::Sandbox { step: "mounting".to_owned(), cause: rustix::io::Errno::STALE.into() })
    });
    assert!(done.is_ok());
    assert_eq!(readable, [vec![base.join("bin")], Vec::new()]);
}
