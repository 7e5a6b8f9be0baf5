//! The ledger: an append-only file of JSON lines, each holding the hash of the one before.
//!
//! Several processes write one file, one entry in one write under a lock, which a writer in a hurry keeps for a moment
//! from one entry to the next. Nothing is ever cut off or written over:
//! a torn write stays where it is, and the next entry says how much of it there is. An entry counts as recorded
//! only when all of it was taken, and synced where that was asked for; after any failure the end of the file is
//! looked at again before anything else is written.

mod body;
mod disk;
mod error;
mod files;
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
use keep::{Keeper, Turn};
use line::Head;
use writer::Writer;

pub use error::LedgerError;
pub use read::{Entries, Entry, Filter, ReadFault, find, read};
pub use session::{SessionId, rfc3339};
pub use verify::{Verification, VerifyFault, verify};

/// At what size a new file is begun, if a config does not say.
pub const ROTATE: u64 = 64 << 20;

/// How a ledger is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerSettings {
    /// The file.
    pub path: PathBuf,
    /// What is synced to the disk.
    pub sync: SyncRule,
    /// At what size a new file is begun.
    pub rotate: u64,
}

/// Writes entries. It can be shared between threads, and other processes may write the same file.
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
    /// Opens the ledger, or makes it. What a torn write left is only explained with the next entry.
    ///
    /// # Errors
    /// Fails if the file cannot be opened or made, or is not one that a record may be entrusted to.
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
        let keeper = Keeper::new(writer);
        Ok(Self { settings, session, redactor, clock, keeper })
    }

    /// The file that is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.settings.path
    }

    /// The session that writes.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Writes one entry.
    ///
    /// # Errors
    /// Fails if it is not sure that the entry stands as firmly as was asked.
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
}

impl Recorder for Ledger {
    fn record(&self, record: &Record, durability: Durability) -> Result<(), RecordFailed> {
        self.append(record, durability).map_err(|e| RecordFailed(e.to_string()))
    }
}

#[cfg(test)]
mod tests;
