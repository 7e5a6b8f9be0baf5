//! Tests that leftovers that cannot be searched block the next command until they are gone.

use std::fs;

use askfirst::ports::Access;
use askfirst::{Approval, Because};
use askfirst_config::{PathApproval, PathConfig, PathMode, Settings};
use rustix::fs::{Mode, OFlags};

use super::*;
use crate::sandbox::derive_os_sandbox_profile;

/// Creates a root whose own path is so long that nothing in it can be quarantined as a whole.
fn config(held: &Path) -> (Config, PathBuf) {
    let root = held.canonicalize().unwrap().join(vec!["r".repeat(200); 12].join("/"));
    fs::create_dir_all(&root).unwrap();
    let mut settings = Settings::default();
    let free = PathApproval { read: Approval::None, write: Approval::None, attach: Approval::None };
    settings.sandbox.paths.insert(
        "w".to_owned(),
        PathConfig {
            root: root.clone(),
            mode: PathMode::Rw,
            suffixes: Vec::new(),
            max_file_bytes: None,
            products: Vec::new(),
            approval: free,
            origin: Because::built_in("sandbox.paths", "a root"),
        },
    );
    (Config::alone(settings, held), root)
}

/// Creates a folder that is nested too deeply to be searched.
fn make_deep(root: &Path) {
    fs::create_dir(root.join("deep")).unwrap();
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut at = rustix::fs::open(root.join("deep"), flags, Mode::empty()).unwrap();
    for _ in 0..12 {
        rustix::fs::mkdirat(&at, "d".repeat(200), Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, "d".repeat(200), flags, Mode::empty()).unwrap();
    }
}

#[test]
fn unsearchable_leftovers_block_the_next_command() {
    let held = tempfile::tempdir().unwrap();
    let (config, root) = config(held.path());
    let tracker = CommandTracker::new(&config, None).unwrap();
    let derived =
        derive_os_sandbox_profile(&config, Access::WithoutAsking, &tracker.protected, &tracker.links)
            .unwrap();
    let roots = [root.clone()];

    fs::write(root.join(".bashrc"), "evil").unwrap();
    make_deep(&root);
    let told = tracker.clean_up(&derived.before, &derived, &roots);
    assert!(told.iter().any(|line| line.contains(".bashrc` appeared")), "{told:?}");
    let searched = |line: &String| line.contains("cannot search `") && line.contains("for protected names");
    assert!(told.iter().any(searched), "{told:?}");
    assert!(told.iter().any(|line| line.contains("starts no more commands")), "{told:?}");
    assert!(!root.join(".bashrc").exists());

    // After a rename they are still found, and so is a name that was hidden meanwhile.
    fs::rename(root.join("deep"), root.join("other")).unwrap();
    assert!(matches!(tracker.retry_leftovers(&roots), Err(SandboxError::Search { .. })));
    fs::rename(root.join("other"), held.path().join("away")).unwrap();
    fs::write(root.join(".profile"), "evil").unwrap();
    assert!(tracker.retry_leftovers(&roots).unwrap().iter().any(|line| line.contains(".profile` appeared")));
    assert_eq!(tracker.retry_leftovers(&roots).unwrap(), Vec::<String>::new());
}

// invariant: 4
#[test]
fn unresolved_leftovers_carry_over_to_the_next_session() {
    let held = tempfile::tempdir().unwrap();
    let (config, root) = config(held.path());
    let (state, roots) = (held.path().join("state"), [root.clone()]);
    let session = |during: &dyn Fn()| {
        let tracker = CommandTracker::new(&config, Some(&state)).unwrap();
        let guard = tracker.register().unwrap();
        let derived =
            derive_os_sandbox_profile(&config, Access::WithoutAsking, &tracker.protected, &tracker.links)
                .unwrap();
        let since = tracker.baseline(&derived.before, &roots).unwrap();
        during();
        let told = tracker.clean_up(&since, &derived, &roots);
        drop(guard);
        told
    };
    let told = session(&|| make_deep(&root));
    assert!(told.iter().any(|line| line.contains("starts no more commands")), "{told:?}");

    // The content of the folder is elsewhere now.
    fs::rename(root.join("deep"), held.path().join("away")).unwrap();
    fs::write(root.join(".profile"), "evil").unwrap();
    let told = session(&|| {});
    assert!(told.iter().any(|line| line.contains(".profile` appeared")), "{told:?}");

    // Nothing is left over, so a name that appears between sessions belongs to the user.
    fs::write(root.join(".bashrc"), "mine").unwrap();
    assert_eq!(session(&|| {}), Vec::<String>::new());
}
