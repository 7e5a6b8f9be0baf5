//! What is done around a process, whatever becomes of it.

use std::fs;

use askfirst::{Approval, Because};

use super::*;
use crate::config::{PathApproval, PathConfig, PathMode};

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
    WalledLauncher::new(Config::alone(settings, &root))
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
