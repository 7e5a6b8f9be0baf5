//! Tests on real overlays, each mounted in a user and mount namespace of its own.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "these are tests"
)]

mod as_user;
mod copies;
mod edits;
mod effects;
mod equivalence;
mod store;
mod threats;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use askfirst_changes::{
    ChangeError, ChangeSet, ChangeStore, CollectLimits, CommitOptions, CommitSummary, Durability,
    PendingCommit, SpecialFiles, collect,
};
use tempfile::TempDir;

/// The options with which the sandbox mounts a view.
const OPTIONS: &str = "userxattr,index=off,xino=off,volatile";

/// A root and a state folder.
struct Project {
    folder: TempDir,
}

fn open(path: &Path) -> OwnedFd {
    File::open(path).unwrap().into()
}

impl Project {
    /// Makes a root with a script.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let project = Self { folder };
        fs::create_dir(project.root()).unwrap();
        fs::create_dir(project.path("state")).unwrap();
        project.direct(script);
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn root(&self) -> PathBuf {
        self.path("root")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    fn store(&self) -> ChangeStore {
        ChangeStore::open(open(&self.path("state"))).unwrap()
    }

    /// Runs a script directly in the root.
    fn direct(&self, script: &str) {
        let output = shell(&format!("cd '{}' && {script}", self.root().display())).output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
    }

    fn open_root(&self) -> OwnedFd {
        open(&self.root())
    }

    /// Runs a script on a view, and unmounts the view.
    fn try_rehearse(&self, pending: &PendingCommit, script: &str) -> Output {
        self.rehearse_on(&self.path("state/commits").join(pending.id()), script)
    }

    /// Runs a script on a view whose layers are in `layers`.
    fn rehearse_on(&self, layers: &Path, script: &str) -> Output {
        let (root, layers) = (self.root(), layers.display().to_string());
        in_namespace(&format!(
            "mount -t overlay overlay -o 'lowerdir={root},upperdir={layers}/upper,workdir={layers}/work,{OPTIONS}' \
             '{root}' && cd '{root}' && {script}",
            root = root.display(),
        ))
    }

    fn rehearse(&self, pending: &PendingCommit, script: &str) {
        let output = self.try_rehearse(pending, script);
        assert!(output.status.success(), "{script}: {output:?}");
    }

    fn collect(&self, pending: &PendingCommit) -> ChangeSet {
        collect(self.open_root(), pending.upper(), &CollectLimits::default()).unwrap()
    }

    fn try_commit(&self, pending: &PendingCommit, changes: &ChangeSet) -> Result<CommitSummary, ChangeError> {
        pending.commit(self.open_root(), pending.upper(), changes, &quickly())
    }

    /// Rehearses a script and commits its changes.
    fn run(&self, script: &str) -> CommitSummary {
        let store = self.store();
        let pending = store.begin(self.open_root()).unwrap();
        self.rehearse(&pending, script);
        let changes = self.collect(&pending);
        self.try_commit(&pending, &changes).unwrap()
    }

    fn undo(&self, id: &str) {
        self.store().undo(id, self.open_root()).unwrap();
    }

    /// Rehearses a script, and returns each change as a line.
    fn effects(&self, script: &str) -> Vec<String> {
        let store = self.store();
        let pending = store.begin(self.open_root()).unwrap();
        self.rehearse(&pending, script);
        lines(&self.collect(&pending))
    }

    fn tree(&self) -> Tree {
        tree(&self.root())
    }
}

/// Options that allow special files and do not wait for the disk.
fn quickly() -> CommitOptions {
    CommitOptions {
        special: SpecialFiles::Approved,
        durability: Durability::Kill,
        ..CommitOptions::default()
    }
}

fn lines(changes: &ChangeSet) -> Vec<String> {
    let line = |change: &askfirst_changes::Change| {
        let special: String = change.special().iter().map(|special| format!(" {special:?}")).collect();
        format!("{:?} {}{special}", change.kind(), change.path().display())
    };
    changes.changes().map(line).collect()
}

/// A shell with a small, fixed environment.
fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    with_environment(command.args(["-euc", script]));
    command
}

fn with_environment(command: &mut Command) {
    let path = std::env::var("PATH").unwrap();
    command.env_clear().env("PATH", path).env("HOME", "/nonexistent").env("LC_ALL", "C").env("TZ", "UTC");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null());
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@example.com");
        command.env(format!("GIT_{who}_DATE"), "1700000000 +0000");
    }
}

/// Runs a script in a user and mount namespace of its own.
fn in_namespace(script: &str) -> Output {
    let mut command = Command::new("unshare");
    with_environment(command.args(["-Urm", "--", "sh", "-euc", script]));
    command.output().unwrap()
}

/// All that a person can see of a tree, by path: kind, permissions, content and time.
type Tree = BTreeMap<PathBuf, (String, u32, Vec<u8>, i64)>;

fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let kind = meta.file_type();
            let mut content = Vec::new();
            let mut time = 0;
            let name = if kind.is_dir() {
                waiting.push(path.clone());
                "folder"
            } else if kind.is_symlink() {
                content = fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec();
                "link"
            } else if kind.is_file() {
                content = fs::read(&path).unwrap_or_default();
                time = meta.mtime();
                "file"
            } else if kind.is_fifo() {
                "pipe"
            } else {
                "other"
            };
            let relative = path.strip_prefix(root).unwrap().to_owned();
            found.insert(relative, (name.to_owned(), meta.permissions().mode() & 0o7777, content, time));
        }
    }
    found
}

/// Fails with the paths that differ.
fn assert_same(what: &str, found: &Tree, expected: &Tree) {
    let mut paths: Vec<&PathBuf> = found.keys().chain(expected.keys()).collect();
    paths.sort();
    paths.dedup();
    let wrong: Vec<String> = paths
        .into_iter()
        .filter(|path| found.get(*path) != expected.get(*path))
        .map(|path| {
            format!("{}: {:?}, not {:?}", path.display(), brief(found.get(path)), brief(expected.get(path)))
        })
        .collect();
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

fn brief(entry: Option<&(String, u32, Vec<u8>, i64)>) -> Option<(String, String, i64, String)> {
    let (kind, mode, content, time) = entry?;
    let text = String::from_utf8_lossy(content).chars().take(60).collect();
    Some((kind.clone(), format!("{mode:o}"), *time, text))
}

fn conflicts(error: ChangeError) -> Vec<String> {
    match error {
        ChangeError::Conflict(paths) => paths.iter().map(|path| path.display().to_string()).collect(),
        other => panic!("not a conflict: {other}"),
    }
}
