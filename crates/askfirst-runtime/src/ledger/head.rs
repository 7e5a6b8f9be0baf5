//! The head of an audit log: an entry that is safely on the disk, stored in a file outside the log.
//!
//! Someone who cuts, empties or replaces the log leaves its head behind. The next writer and `log verify` compare both.
//! A writer stores the head under the lock of the log, after it has synced the entry. So the head may lag behind the
//! log, but it is never ahead, no matter when a process is killed.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use askfirst::Digest;
use serde::{Deserialize, Serialize};

use super::disk::{Disk, folder};
use super::error::LedgerError;
use super::line::Hex;
use super::lines::{FileId, file_id, open_to_read};
use super::{files, tail};
use crate::sessions::own_folder;

/// The folder below the state folder that has one file for each log.
const FOLDER: &str = "heads";

/// A longer file is not a head.
const MAX: u64 = 64 << 10;

/// Heads have the same size for as long as possible, so that a power failure cannot mix the sizes of two of them.
const SECTOR: usize = 512;

/// How often a file is read that is being replaced meanwhile.
const TRIES: usize = 100;

/// An entry of a log, as stored outside of it. All fields that change are in the first sector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredHead {
    /// The number of the entry.
    pub(super) seq: u64,
    /// The hash of the entry.
    pub(super) hash: Digest,
    /// The size of the log file up to the end of the entry.
    end: u64,
    /// The device and the inode of the log file.
    file: FileId,
    /// The path of the log, for a person who reads the file.
    log: String,
}

impl StoredHead {
    /// Returns whether the entry ends where it did, in a file of `size` bytes.
    fn is_in(&self, path: &Path, file: &File, size: u64) -> bool {
        let tail = (self.end <= size).then(|| tail::look(path, file, self.end));
        tail.and_then(Result::ok).is_some_and(|tail| {
            let found = tail.last.filter(|_| tail.left.is_none() && !tail.open_line);
            found.is_some_and(|last| last.seq == self.seq && last.hash == self.hash.hex())
        })
    }

    /// Returns whether the entry was in this file, by the file's identity.
    pub(super) fn was_in(&self, file: &std::fs::Metadata) -> bool {
        self.file == file_id(file)
    }
}

/// The file with the head of one log.
#[derive(Debug, Clone)]
pub(super) struct HeadFile {
    pub(super) path: PathBuf,
    log: PathBuf,
}

impl HeadFile {
    /// Returns the place of the head of a log.
    pub(super) fn of(log: &Path, state: &Path) -> Self {
        let log = real(log);
        let name = String::from_utf8_lossy(&Digest::of(log.as_os_str().as_bytes()).hex()).into_owned();
        Self { path: state.join(FOLDER).join(format!("{name}.json")), log }
    }

    /// Returns the place of the head of a log, and creates its folder.
    pub(super) fn create(log: &Path, state: &Path) -> Result<Self, LedgerError> {
        own_folder(state, FOLDER)?;
        Ok(Self::of(log, state))
    }

    /// Reads the head. Returns `None` if there is none. A system crash can also leave an empty file or zeros, because
    /// a head is not synced. An error says why the file does not count.
    pub(super) fn read(&self) -> Result<Option<StoredHead>, String> {
        match self.bytes() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(format!("it cannot be read: {e}")),
            Ok(bytes) if bytes.iter().all(|byte| *byte == 0) => Ok(None),
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|_| "it is damaged".to_owned()),
        }
    }

    /// Reads the file until it is the same twice: a writer may overwrite it after the next head has taken its place.
    fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut last = Vec::new();
        for _ in 0..TRIES {
            let mut bytes = Vec::new();
            open_to_read(&self.path)?.take(MAX).read_to_end(&mut bytes)?;
            if bytes == last {
                break;
            }
            last = bytes;
        }
        Ok(last)
    }

    /// Returns the entry that the head names if the log no longer has it. `size` is the size of the current file, and
    /// `last` is the last entry of the writer, which the writer looks for itself. A damaged head names no entry.
    pub(super) fn lost_entry(
        &self,
        path: &Path,
        file: &File,
        size: u64,
        last: Option<(u64, Hex)>,
    ) -> Result<Option<(u64, Hex)>, LedgerError> {
        let Ok(Some(stored)) = self.read() else { return Ok(None) };
        let entry = (stored.seq, stored.hash.hex());
        if last == Some(entry) || Self::has(path, file, size, &stored)? {
            return Ok(None);
        }
        Ok(Some(entry))
    }

    /// Returns the number of the entry that the head names, for a reader, if the log no longer has it.
    ///
    /// It reads the file only where the entry must end. Another process may write the log meanwhile.
    pub(super) fn lost_number(&self, path: &Path) -> Option<u64> {
        for _ in 0..TRIES {
            let stored = self.read().ok().flatten()?;
            let file = open_to_read(path).ok()?;
            let size = file.metadata().ok()?.len();
            if Self::has(path, &file, size, &stored).ok()? {
                return None;
            }
            if self.read().ok().flatten().as_ref() == Some(&stored) {
                return Some(stored.seq);
            }
        }
        None
    }

    /// Returns whether a log has an entry. `size` is the size of the current file.
    fn has(path: &Path, file: &File, size: u64, stored: &StoredHead) -> Result<bool, LedgerError> {
        if stored.is_in(path, file, size) {
            return Ok(true);
        }
        let closed = files::closed(path).map_err(LedgerError::step("look into", folder(path)))?;
        for closed in closed.iter().filter(|file| (file.first..=file.last).contains(&stored.seq)) {
            let file = File::open(&closed.path).map_err(LedgerError::open(&closed.path))?;
            let size = file.metadata().map_err(LedgerError::open(&closed.path))?.len();
            if stored.is_in(&closed.path, &file, size) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Stores an entry as the head. `end` is the size of the log file up to the end of the entry.
    pub(super) fn store(
        &self,
        disk: &dyn Disk,
        log: &File,
        end: u64,
        seq: u64,
        hash: Digest,
    ) -> Result<(), LedgerError> {
        let found = log.metadata().map_err(LedgerError::step("look at", &self.log))?;
        let log = self.log.to_string_lossy().into_owned();
        let mut text = serde_json::to_vec(&StoredHead { seq, hash, end, file: file_id(&found), log })?;
        text.resize(text.len().next_multiple_of(SECTOR), b' ');
        disk.replace(&self.path, &text).map_err(LedgerError::step("replace", &self.path))
    }
}

/// Resolves all links in the part of a path that exists. The log and its folder may be gone.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // The log itself is never a link.
    let above = path.ancestors().skip(1).find_map(|above| Some((above, above.canonicalize().ok()?)));
    let real = above.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?)));
    real.unwrap_or(path)
}
