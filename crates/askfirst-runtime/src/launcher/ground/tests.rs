//! What cannot be searched after a command keeps the next from being started, until it is gone.

use std::fs;

use askfirst::ports::Access;
use askfirst::{Approval, Because};
use rustix::fs::{Mode, OFlags};

use super::*;
use crate::config::{PathApproval, PathConfig, PathMode, Settings};
use crate::walls::derive_os_sandbox_profile;

#[test]
fn nothing_more_is_started_while_something_cannot_be_searched_and_the_rest_is_moved() {
    let held = tempfile::tempdir().unwrap();
    // A root whose own path is so long that nothing in it can be moved aside as a whole.
    let root = held.path().canonicalize().unwrap().join(vec!["r".repeat(200); 12].join("/"));
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
    let config = Config::alone(settings, held.path());
    let ground = Ground::new(&config, None).unwrap();
    let derived =
        derive_os_sandbox_profile(&config, Access::Unasked, &ground.protected, &ground.links).unwrap();
    let roots = [root.clone()];

    fs::write(root.join(".bashrc"), "evil").unwrap();
    fs::create_dir(root.join("deep")).unwrap();
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut at = rustix::fs::open(root.join("deep"), flags, Mode::empty()).unwrap();
    for _ in 0..12 {
        rustix::fs::mkdirat(&at, "d".repeat(200), Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, "d".repeat(200), flags, Mode::empty()).unwrap();
    }
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
