//! Records which commands run now, for other processes of askfirst with the same roots and rules.
//!
//! If commands of several processes overlap, a protected name that appears belongs to none of them. So each process writes
//! an entry with digests of the state before its commands. The entry is locked while the process lives. If the process is
//! killed before its cleanup, the entry stays.
//!
//! A process that searches the roots holds a shared lock; a process that removes an entry holds the lock exclusively. So
//! no process finds the files of a command without also finding its entry.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use askfirst_config::{Config, Settings};
use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use crate::sandbox::EntryDigest;

/// The first bytes of an entry.
const HEAD: EntryDigest = *b"askfirst walls 1";

static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// The folder of the entries, and the prefix of those with the same roots and rules.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    name: String,
}

/// An entry of this process.
#[derive(Debug)]
pub(super) struct JournalEntry {
    path: PathBuf,
    /// Locked until it is closed.
    _file: File,
}

/// An entry of another process.
pub(super) struct ForeignEntry {
    pub(super) digests: HashSet<EntryDigest>,
    /// The path of the entry, if its process is gone.
    pub(super) left: Option<PathBuf>,
}

/// The shared lock of a process that searches the roots.
#[derive(Debug)]
pub(super) struct SearchLock(#[expect(dead_code, reason = "it holds the lock")] File);

impl Journal {
    /// Opens the journal in this state folder; `None` if the folder cannot be created.
    pub(super) fn new(state: &Path, config: &Config) -> Option<Self> {
        // The folder of earlier versions, whose entries must be found.
        let folder = state.join("walls");
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        Some(Self { folder, name: name(config) })
    }

    /// Waits for the shared search lock.
    pub(super) fn search_lock(&self) -> io::Result<SearchLock> {
        self.locked(FlockOperation::LockShared).map(SearchLock)
    }

    fn locked(&self, how: FlockOperation) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file =
            options.write(true).create(true).truncate(false).mode(0o600).open(self.folder.join("turn"))?;
        flock(&file, how)?;
        Ok(file)
    }

    /// Reads the entries of other processes with the same roots and rules.
    pub(super) fn others(&self) -> io::Result<Vec<ForeignEntry>> {
        let mut others = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if !path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(&self.name)) {
                continue;
            }
            let mut file = match File::open(&path) {
                Ok(file) => file,
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
                Err(cause) => return Err(cause),
            };
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let mut digests =
                bytes.chunks_exact(HEAD.len()).filter_map(|digest| EntryDigest::try_from(digest).ok());
            if digests.next() != Some(HEAD) {
                return Err(io::Error::other(format!("`{}` is not a journal entry", path.display())));
            }
            let is_left = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
            others.push(ForeignEntry { digests: digests.collect(), left: is_left.then_some(path) });
        }
        Ok(others)
    }

    /// Writes an entry with the state before the commands of this process.
    pub(super) fn write(&self, digests: &HashSet<EntryDigest>) -> io::Result<JournalEntry> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", self.name, std::process::id());
        let (new, path) = (self.folder.join(format!("new-{name}")), self.folder.join(name));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        flock(&file, FlockOperation::LockExclusive)?;
        let bytes: Vec<u8> = std::iter::once(&HEAD).chain(digests).flatten().copied().collect();
        file.write_all(&bytes)?;
        // Rename it, so that readers see the whole entry or none.
        fs::rename(&new, &path)?;
        Ok(JournalEntry { path, _file: file })
    }

    /// Removes entries after the cleanup of their commands. An entry that cannot be removed still counts. The only effect is
    /// that more is quarantined.
    pub(super) fn end(&self, entry: Option<JournalEntry>, left: &[PathBuf]) {
        if entry.is_none() && left.is_empty() {
            return;
        }
        let _alone = self.locked(FlockOperation::LockExclusive);
        for path in entry.iter().map(|entry| &entry.path).chain(left) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns the prefix that all processes with the same roots and rules share.
fn name(config: &Config) -> String {
    let mut hash = Sha256::new();
    let layers = || std::iter::once(&config.main).chain(&config.floors);
    let rules = |layer: &Settings| [layer.sandbox.never_read.clone(), layer.sandbox.never_write.clone()];
    for root in config.main.sandbox.paths.values() {
        hash.update(format!("{:?} {:?}\n", root.root, root.mode));
    }
    let rules: Vec<String> = layers().flat_map(rules).flatten().collect();
    hash.update(format!("{rules:?} {:?}", std::env::var_os("HOME")));
    // These rules are relative to the folder of the config.
    if rules.iter().any(|rule| rule.starts_with('/')) {
        hash.update(format!("{:?}", config.folder));
    }
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "journal/tests.rs"]
mod tests;
