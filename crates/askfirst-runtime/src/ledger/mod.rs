//! The audit log: an append-only file of JSON lines. Each line contains the hash of the line before.
//!
//! Several processes can write one file. Each entry is one write under a lock. A writer with many entries keeps the
//! lock for a moment between them.
//!
//! askfirst never truncates or overwrites the file. A torn write stays where it is, and the next entry states its
//! size.
//! An entry counts as logged only if all of it was written, and synced if the caller asked for that. After a failure,
//! the writer checks the end of the file before it writes again.

mod body;
mod disk;
mod error;
mod files;
mod head;
mod keep;
mod line;
mod lines;
mod long;
mod read;
mod session;
mod tail;
mod verify;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::ports::{Clock, Durability, RecordFailed, Recorder};
use askfirst::record::Record;

use askfirst_config::SyncRule;
use askfirst_display::redact::Redactor;
use disk::{Disk, RealDisk};
use head::HeadFile;
use keep::{Keeper, Turn};
use line::Head;
use writer::Writer;

pub use error::LedgerError;
pub use read::{Entries, Entry, Filter, ReadFault, Refresh, find, read};
pub use session::{SessionId, parse_utc, rfc3339};
pub use verify::{Verification, VerifyFault, verify, verify_with_head};

/// The default size at which a new file is started, in bytes.
pub const ROTATE: u64 = 64 << 20;

/// Returns the number of the newest entry that is known from the head below `state`, if the log no longer has it: someone
/// emptied, cut or replaced the log. [`verify_with_head`] says what is missing.
#[must_use]
pub fn lost_entry(path: &Path, state: &Path) -> Option<u64> {
    HeadFile::of(path, state).lost_number(path)
}

/// The settings of an audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerSettings {
    /// The file.
    pub path: PathBuf,
    /// Which entries are synced to the disk.
    pub sync: SyncRule,
    /// The size at which a new file is started, in bytes.
    pub rotate: u64,
    /// The state folder, for the head of the log. Without it, no one can detect that the newest entries were removed.
    pub state: Option<PathBuf>,
}

/// Writes entries to the audit log. Threads can share it, and other processes can write the same file.
pub struct Ledger {
    settings: LedgerSettings,
    session: SessionId,
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
    keeper: Keeper,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("path", &self.settings.path).finish_non_exhaustive()
    }
}

impl Ledger {
    /// Opens the audit log, or creates it. The next entry will explain the rest of a torn write.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or created, or if it is not safe to use as an audit log.
    pub fn open(
        settings: LedgerSettings,
        session: SessionId,
        redactor: Arc<Redactor>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LedgerError> {
        Self::on(Box::new(RealDisk), settings, session, redactor, clock)
    }

    fn on(
        disk: Box<dyn Disk>,
        settings: LedgerSettings,
        session: SessionId,
        redactor: Arc<Redactor>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LedgerError> {
        let mut writer = Writer::new(disk, &settings);
        writer.open()?;
        if let Some(state) = &settings.state {
            writer.compare_with(HeadFile::create(&settings.path, state)?);
        }
        let keeper = Keeper::new(writer);
        Ok(Self { settings, session, redactor, clock, keeper })
    }

    /// Returns the path of the current file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.settings.path
    }

    /// Returns the session that writes.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Writes one entry.
    ///
    /// # Errors
    /// Fails if the entry may not be written as durably as requested.
    pub fn append(&self, record: &Record, durability: Durability) -> Result<(), LedgerError> {
        let (now, pid) = (self.clock.now(), std::process::id());
        let Turn { mut inner, after } = self.keeper.turn(now, pid)?;
        let head = Head { at: &rfc3339(now), session: self.session.as_str(), pid };
        let (writer, line) = inner.parts();
        let apart = body::push(line.begin(head)?, record, &self.redactor)?;
        line.set_apart(apart);
        let firmly = match self.settings.sync {
            SyncRule::Always => Durability::Synced,
            SyncRule::Asked => durability,
        };
        let done = writer.append(line, head, firmly, after);
        line.shrink();
        done
    }

    /// Syncs the entries that are not on the disk yet, and stores the head of the log. A session calls this at its end.
    ///
    /// # Errors
    /// Fails if the log or its head cannot be written. The stored head then lags behind the log.
    pub fn store_head(&self) -> Result<(), LedgerError> {
        let (now, pid) = (self.clock.now(), std::process::id());
        let Some(mut inner) = self.keeper.state_of(pid) else { return Ok(()) };
        let head = Head { at: &rfc3339(now), session: self.session.as_str(), pid };
        inner.parts().0.end(head)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // If this fails, the stored head lags behind, and the next session stores a newer one.
        drop(self.store_head());
    }
}

impl Recorder for Ledger {
    fn record(&self, record: &Record, durability: Durability) -> Result<(), RecordFailed> {
        self.append(record, durability).map_err(|e| RecordFailed(e.to_string()))
    }
}

#[cfg(test)]
mod tests;
