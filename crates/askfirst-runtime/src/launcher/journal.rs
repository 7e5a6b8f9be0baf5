//! Which commands run now, for other processes of askfirst with the same roots and rules: what appears during a command
//! of one is nobody's for all of them. An entry holds marks of what there was before; it is locked for as long as its
//! process lives, and stays behind if that is killed before it has looked at what its commands made.
//!
//! Who looks at what is there holds the turn together with others; who takes an entry away holds it alone. So nobody
//! finds what a command made without finding its entry.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest, Sha256};

use crate::walls::Mark;
use askfirst_config::{Config, Settings};

/// What an entry begins with.
const HEAD: Mark = *b"askfirst walls 1";

static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// Where entries are, and how those are called that are about the same roots and rules.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
    name: String,
}

/// An entry of this process.
#[derive(Debug)]
pub(super) struct Entry {
    path: PathBuf,
    /// Locked until it is closed.
    _file: File,
}

/// An entry of another process.
pub(super) struct Other {
    pub(super) marks: HashSet<Mark>,
    /// Where it lies, if its process is gone.
    pub(super) left: Option<PathBuf>,
}

/// The turn of whoever looks at what is there.
#[derive(Debug)]
pub(super) struct Turn(#[expect(dead_code, reason = "it holds the lock")] File);

impl Journal {
    /// A journal in this folder; nothing if there can be none.
    pub(super) fn new(state: &Path, config: &Config) -> Option<Self> {
        let folder = state.join("walls");
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        Some(Self { folder, name: name(config) })
    }

    /// Waits for the turn to look, which others may have too.
    pub(super) fn turn(&self) -> io::Result<Turn> {
        self.locked(FlockOperation::LockShared).map(Turn)
    }

    fn locked(&self, how: FlockOperation) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file =
            options.write(true).create(true).truncate(false).mode(0o600).open(self.folder.join("turn"))?;
        flock(&file, how)?;
        Ok(file)
    }

    /// The entries of other processes about the same roots and rules.
    pub(super) fn others(&self) -> io::Result<Vec<Other>> {
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
            let mut marks = bytes.chunks_exact(HEAD.len()).filter_map(|mark| Mark::try_from(mark).ok());
            if marks.next() != Some(HEAD) {
                return Err(io::Error::other(format!("`{}` is no entry", path.display())));
            }
            let is_left = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
            others.push(Other { marks: marks.collect(), left: is_left.then_some(path) });
        }
        Ok(others)
    }

    /// Notes what there was before the commands of this process.
    pub(super) fn write(&self, marks: &HashSet<Mark>) -> io::Result<Entry> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", self.name, std::process::id());
        let (new, path) = (self.folder.join(format!("new-{name}")), self.folder.join(name));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        flock(&file, FlockOperation::LockExclusive)?;
        let bytes: Vec<u8> = std::iter::once(&HEAD).chain(marks).flatten().copied().collect();
        file.write_all(&bytes)?;
        // Whole or not at all, for whoever reads it.
        fs::rename(&new, &path)?;
        Ok(Entry { path, _file: file })
    }

    /// Takes entries away: what their commands made was looked at. One that cannot be taken away counts on, which only
    /// moves more aside.
    pub(super) fn end(&self, entry: Option<Entry>, left: &[PathBuf]) {
        if entry.is_none() && left.is_empty() {
            return;
        }
        let _alone = self.locked(FlockOperation::LockExclusive);
        for path in entry.iter().map(|entry| &entry.path).chain(left) {
            let _ = fs::remove_file(path);
        }
    }
}

/// What is the same for all who find the same in the same roots.
fn name(config: &Config) -> String {
    let mut hash = Sha256::new();
    let layers = || std::iter::once(&config.main).chain(&config.floors);
    let rules = |layer: &Settings| [layer.sandbox.never_read.clone(), layer.sandbox.never_write.clone()];
    for root in config.main.sandbox.paths.values() {
        hash.update(format!("{:?} {:?}\n", root.root, root.mode));
    }
    let rules: Vec<String> = layers().flat_map(rules).flatten().collect();
    hash.update(format!("{rules:?} {:?}", std::env::var_os("HOME")));
    // These begin where the config lies.
    if rules.iter().any(|rule| rule.starts_with('/')) {
        hash.update(format!("{:?}", config.folder));
    }
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "journal/tests.rs"]
mod tests;
