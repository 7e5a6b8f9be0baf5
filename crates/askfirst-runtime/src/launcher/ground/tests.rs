//! What cannot be searched after a command keeps the next from being started, until it is gone.

use std::fs;

use askfirst::ports::Access;
use askfirst::{Approval, Because};
use rustix::fs::{Mode, OFlags};

use super::*;
use crate::walls::derive_os_sandbox_profile;
use askfirst_config::{PathApproval, PathConfig, PathMode, Settings};

/// A root whose own path is so long that nothing in it can be moved aside as a whole.
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
            approval: free,
            origin: Because::built_in("sandbox.paths", "a root"),
        },
    );
    (Config::alone(settings, held), root)
}

/// Makes a folder that is too deep to be searched.
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
fn nothing_more_is_started_while_something_cannot_be_searched_and_the_rest_is_moved() {
    let held = tempfile::tempdir().unwrap();
    let (config, root) = config(held.path());
    let ground = Ground::new(&config, None).unwrap();
    let derived =
        derive_os_sandbox_profile(&config, Access::Unasked, &ground.protected, &ground.links).unwrap();
    let roots = [root.clone()];

    fs::write(root.join(".bashrc"), "evil").unwrap();
    make_deep(&root);
    let told = ground.clean_up(&derived.before, &derived, &roots);
    assert!(told.iter().any(|line| line.contains(".bashrc` appeared")), "{told:?}");
    assert!(told.iter().any(|line| line.contains("cannot be searched for protected names")), "{told:?}");
    assert!(told.iter().any(|line| line.contains("nothing more is started")), "{told:?}");
    assert!(!root.join(".bashrc").exists());

    // Under another name it is found all the same, and so is what was hidden meanwhile.
    fs::rename(root.join("deep"), root.join("other")).unwrap();
    assert!(matches!(ground.settle(&roots), Err(WallsError::Search { .. })));
    fs::rename(root.join("other"), held.path().join("away")).unwrap();
    fs::write(root.join(".profile"), "evil").unwrap();
    assert!(ground.settle(&roots).unwrap().iter().any(|line| line.contains(".profile` appeared")));
    assert_eq!(ground.settle(&roots).unwrap(), Vec::<String>::new());
}

#[test]
fn what_could_not_be_moved_aside_is_not_the_owners_for_the_next_session() {
    let held = tempfile::tempdir().unwrap();
    let (config, root) = config(held.path());
    let (state, roots) = (held.path().join("state"), [root.clone()]);
    let session = |during: &dyn Fn()| {
        let ground = Ground::new(&config, Some(&state)).unwrap();
        let aboard = ground.enter().unwrap();
        let derived =
            derive_os_sandbox_profile(&config, Access::Unasked, &ground.protected, &ground.links).unwrap();
        let since = ground.since(&derived.before, &roots).unwrap();
        during();
        let told = ground.clean_up(&since, &derived, &roots);
        drop(aboard);
        told
    };
    let told = session(&|| make_deep(&root));
    assert!(told.iter().any(|line| line.contains("nothing more is started")), "{told:?}");

    // What was in there is somewhere else now.
    fs::rename(root.join("deep"), held.path().join("away")).unwrap();
    fs::write(root.join(".profile"), "evil").unwrap();
    let told = session(&|| {});
    assert!(told.iter().any(|line| line.contains(".profile` appeared")), "{told:?}");

    // Nothing is left, so what appears between sessions is the owner's again.
    fs::write(root.join(".bashrc"), "mine").unwrap();
    assert_eq!(session(&|| {}), Vec::<String>::new());
}
