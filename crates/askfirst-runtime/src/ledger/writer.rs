//! Appends to a file that other processes write too: locking, recovery after a torn write, and rotation.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use askfirst::Digest;
use askfirst::ports::Durability;
use serde::Serialize;

use super::disk::{self, Disk, folder};
use super::error::LedgerError;
use super::head::HeadFile;
use super::line::{self, EntryLine, Head, Hex, NO_HASH};
use super::tail::{self, Tail, TailBytes, TornWrite};
use super::{LedgerSettings, body, files};

/// How long to wait for the lock of another writer.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the end of a session waits for it.
const END_PATIENCE: Duration = Duration::from_millis(200);

/// How often a file may be closed or removed before an entry could be written.
const TRIES: usize = 100;

/// Entries of the audit log about itself.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum LogEvent {
    /// A torn write left these bytes before this line.
    Recovered(TornWrite),
    /// The bytes before this line are not from a torn write, or entries of this writer are gone.
    Altered { altered_bytes: u64, altered_sha256: Option<Digest> },
    /// The last line of a file.
    Rotated { closed_as: String, next: String },
    /// The first line of the next file. Without `previous`, the file before it was removed.
    Continued {
        previous: Option<String>,
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        torn: Option<TornWrite>,
    },
}

impl LogEvent {
    fn after(left: TailBytes) -> Self {
        match left {
            TailBytes::Torn(torn) => Self::Recovered(torn),
            TailBytes::Altered(_) => Self::altered(Some(left)),
        }
    }

    fn altered(left: Option<TailBytes>) -> Self {
        let left = left.map(|(TailBytes::Torn(left) | TailBytes::Altered(left))| left);
        Self::Altered {
            altered_bytes: left.map_or(0, |left| left.bytes),
            altered_sha256: left.map(|left| left.digest),
        }
    }
}

pub(super) struct Writer {
    disk: Box<dyn Disk>,
    path: PathBuf,
    rotate: u64,
    file: Option<File>,
    /// Whether the lock was kept since the last entry.
    held: bool,
    /// The end of the file after the last entry of this writer. `None` if it must be read from the file.
    left: Option<ChainEnd>,
    /// The last entry that this writer knows of, in any file.
    last: Option<(u64, Hex)>,
    /// The file with the head of the log, if the head is stored.
    head_file: Option<HeadFile>,
    /// Whether this writer has compared the log with its head.
    compared: bool,
    /// Whether this writer has written entries since it stored the head.
    ahead: bool,
}

#[derive(Clone, Copy)]
struct ChainEnd {
    size: u64,
    seq: u64,
    hash: Hex,
}

enum WriteOutcome {
    Done,
    /// The path now belongs to another file.
    Moved,
}

/// Whether to release the lock after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Back,
    Kept,
}

impl Writer {
    pub(super) fn new(disk: Box<dyn Disk>, settings: &LedgerSettings) -> Self {
        let (path, rotate) = (settings.path.clone(), settings.rotate);
        Self {
            disk,
            path,
            rotate,
            file: None,
            held: false,
            left: None,
            last: None,
            head_file: None,
            compared: false,
            ahead: false,
        }
    }

    /// Makes the writer compare the log with its stored head, and store the head of what it writes.
    pub(super) fn compare_with(&mut self, head_file: HeadFile) {
        self.head_file = Some(head_file);
    }

    pub(super) fn open(&mut self) -> Result<(), LedgerError> {
        self.left = None;
        self.file = Some(disk::open_or_create(&*self.disk, &self.path)?);
        Ok(())
    }

    /// Returns whether the lock is held between entries.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Releases a lock that was kept.
    pub(super) fn give_back(&mut self) {
        if std::mem::take(&mut self.held)
            && let Some(file) = &self.file
        {
            // If this fails, closing the file releases the lock.
            let _ = file.unlock();
        }
    }

    /// Returns whether another writer waits for the lock, as far as this can be seen.
    pub(super) fn is_waited_for(&self) -> bool {
        File::open(folder(&self.path)).is_ok_and(|hand| hand.try_lock().is_err())
    }

    /// Drops file and lock without releasing them, after a fork: both belong to the parent process.
    pub(super) fn leave_to_other(&mut self) {
        (self.file, self.held, self.left, self.ahead) = (None, false, None, false);
    }

    /// Appends a line. After a failure, the next call checks the end of the file again.
    pub(super) fn append(
        &mut self,
        line: &mut EntryLine,
        head: Head<'_>,
        firmly: Durability,
        after: Lock,
    ) -> Result<(), LedgerError> {
        for _ in 0..TRIES {
            let file = match self.file.take() {
                Some(file) => file,
                None => {
                    self.open()?;
                    continue;
                }
            };
            let done = self.step(&file, line, head, firmly);
            self.held = after == Lock::Kept && matches!(done, Ok(WriteOutcome::Done));
            if !self.held {
                let _ = file.unlock();
            }
            match done? {
                WriteOutcome::Done => {
                    self.file = Some(file);
                    return Ok(());
                }
                WriteOutcome::Moved => {}
            }
        }
        Err(LedgerError::Restless(self.path.clone()))
    }

    /// Syncs the entries of this writer, and stores the end of the log as its head. Gives up if the file is gone or if
    /// another writer keeps the lock.
    pub(super) fn end(&mut self, head: Head<'_>) -> Result<(), LedgerError> {
        if !self.ahead || self.head_file.is_none() {
            return Ok(());
        }
        let Some(file) = self.file.take() else { return Ok(()) };
        let locked = if self.held { Ok(()) } else { self.lock(&file, END_PATIENCE) };
        let done =
            locked.and_then(|()| self.look(&file, head, Durability::Synced)).and_then(|step| match step {
                WriteOutcome::Done => self.sync(&file).and_then(|()| self.store_head(&file)),
                WriteOutcome::Moved => Ok(()),
            });
        let _ = file.unlock();
        (self.held, self.file) = (false, done.is_ok().then_some(file));
        done
    }

    fn step(
        &mut self,
        file: &File,
        line: &mut EntryLine,
        head: Head<'_>,
        firmly: Durability,
    ) -> Result<WriteOutcome, LedgerError> {
        if !self.held {
            self.lock(file, PATIENCE)?;
        }
        if !self.held || firmly == Durability::Synced {
            match self.look(file, head, firmly)? {
                WriteOutcome::Done => {}
                WriteOutcome::Moved => return Ok(WriteOutcome::Moved),
            }
        }
        if self.is_full(file)? {
            return self.rotate(file, head);
        }
        self.put(file, line, None)?;
        if firmly == Durability::Synced {
            self.sync(file)?;
            self.store_head(file)?;
        }
        Ok(WriteOutcome::Done)
    }

    /// Checks how other writers changed the file while they had the lock. Compares it with the stored head before this
    /// writer replaces the head, and once before its first entry.
    fn look(&mut self, file: &File, head: Head<'_>, firmly: Durability) -> Result<WriteOutcome, LedgerError> {
        let now = rustix::fs::fstat(file).map_err(|e| LedgerError::step("look at", &self.path)(e.into()))?;
        let size = u64::try_from(now.st_size).unwrap_or_default();
        if now.st_nlink == 0 {
            return Ok(WriteOutcome::Moved);
        }
        let mut lost_head = None;
        if let Some(head_file) = &self.head_file
            && (firmly == Durability::Synced || !self.compared)
        {
            if !self.is_at_path(file)? {
                // Another writer has closed this file, and the head is in a later one.
                return Ok(WriteOutcome::Moved);
            }
            lost_head = head_file.lost_entry(&self.path, file, size, self.last)?;
            self.compared = true;
        }
        if lost_head.is_some() || self.left.is_none_or(|left| left.size != size) {
            let tail = tail::look(&self.path, file, size)?;
            let lost = match lost_head {
                Some(lost) => Some(self.last.filter(|last| last.0 > lost.0).unwrap_or(lost)),
                None => self.last.filter(|last| self.is_lost(*last, file, &tail)),
            };
            self.left = None;
            if let Some((seq, hash)) = lost {
                // Continuing from the last entry that this writer knows leaves a visible gap.
                self.left = Some(ChainEnd { size, seq, hash });
                let newline = tail.open_line.then_some(b'\n');
                self.put_own(file, &LogEvent::altered(tail.left), head, newline)?;
                self.sync(file)?;
                self.store_head(file)?;
                return Ok(WriteOutcome::Done);
            }
            if tail.closed && tail.left.is_none() {
                return self.close(file, tail.last.map_or(0, |last| last.seq));
            }
            self.find_place(file, size, tail, head)?;
        }
        Ok(WriteOutcome::Done)
    }

    /// Stores the last entry of the file as the head of the log. The file must be synced.
    fn store_head(&mut self, file: &File) -> Result<(), LedgerError> {
        if let (Some(head_file), Some(left)) = (&self.head_file, self.left)
            && let Some(hash) = line::digest(&left.hash)
        {
            head_file.store(&*self.disk, file, left.size, left.seq, hash)?;
        }
        self.ahead = false;
        Ok(())
    }

    /// Returns whether the last entry of this writer is no longer in the file.
    fn is_lost(&self, (seq, hash): (u64, Hex), file: &File, tail: &Tail) -> bool {
        let Some(last) = tail.last else { return false };
        let is_there = |left: ChainEnd| {
            let mut found = NO_HASH;
            let at = left.size.checked_sub((NO_HASH.len() + line::END.len()) as u64);
            at.is_some_and(|at| file.read_exact_at(&mut found, at).is_ok()) && found == left.hash
        };
        last.seq < seq
            || last.seq == seq && last.hash != hash
            || self.left.is_some_and(|left| !is_there(left))
    }

    fn lock(&self, file: &File, patience: Duration) -> Result<(), LedgerError> {
        let mut wait = Duration::from_micros(20);
        let mut since = None;
        // A waiting writer holds a shared lock on the folder, so that the holder of the file lock can see it.
        let mut hand = None;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(e)) => return Err(LedgerError::step("lock", &self.path)(e)),
            }
            if hand.is_none() {
                hand = File::open(folder(&self.path)).ok().filter(|hand| hand.try_lock_shared().is_ok());
            }
            if since.get_or_insert_with(Instant::now).elapsed() > patience {
                return Err(LedgerError::Locked(self.path.clone()));
            }
            std::thread::sleep(wait);
            wait = (wait * 2).min(Duration::from_millis(1));
        }
    }

    /// Finds the end of the chain. Writes an entry about it if the end of the file is not a whole line.
    fn find_place(&mut self, file: &File, size: u64, tail: Tail, head: Head<'_>) -> Result<(), LedgerError> {
        let newline = tail.open_line.then_some(b'\n');
        if let Some(last) = tail.last {
            self.left = Some(ChainEnd { size, seq: last.seq, hash: last.hash });
            return match tail.left {
                None => Ok(()),
                Some(left) => self.put_own(file, &LogEvent::after(left), head, newline),
            };
        }
        let (previous, (seq, hash)) = self.before()?;
        self.left = Some(ChainEnd { size, seq, hash });
        match (seq, tail.left) {
            (0, None) => Ok(()),
            (0, Some(left)) => self.put_own(file, &LogEvent::after(left), head, newline),
            (_, left) => {
                let torn = match left {
                    None => None,
                    Some(TailBytes::Torn(torn)) => Some(torn),
                    Some(TailBytes::Altered(_)) => None,
                };
                self.put_own(file, &LogEvent::Continued { previous, torn }, head, newline)?;
                self.sync(file)?;
                self.sync_folder()
            }
        }
    }

    /// Returns the name of the file before a new one, with the last entry of that file.
    fn before(&self) -> Result<(Option<String>, (u64, Hex)), LedgerError> {
        let closed = files::closed(&self.path).map_err(LedgerError::step("look into", folder(&self.path)))?;
        let previous = match closed.into_iter().max_by_key(|file| file.last) {
            None => None,
            Some(closed) => {
                let file = File::open(&closed.path).map_err(LedgerError::open(&closed.path))?;
                let size = file.metadata().map_err(LedgerError::open(&closed.path))?.len();
                let last = tail::look(&closed.path, &file, size)?.last;
                last.map(|last| (Some(files::name(&closed.path)), (last.seq, last.hash)))
            }
        };
        Ok(match (previous, self.last) {
            // The last entry is in no file: the newest file was removed, and the log must show that.
            (None, Some(last)) => (None, last),
            (Some((_, (seq, _))), Some(last)) if seq < last.0 => (None, last),
            (Some(previous), _) => previous,
            (None, None) => (None, (0, NO_HASH)),
        })
    }

    fn is_full(&self, file: &File) -> Result<bool, LedgerError> {
        let Some(left) = self.left.filter(|left| left.size >= self.rotate) else { return Ok(false) };
        // A file has at least one entry that is not about the file itself.
        let first = self.first_seq(file)?;
        let name = files::closed_name(&self.path, first, left.seq.saturating_add(1));
        Ok(left.seq > first && folder(&self.path).join(name).symlink_metadata().is_err())
    }

    fn rotate(&mut self, file: &File, head: Head<'_>) -> Result<WriteOutcome, LedgerError> {
        let Some(left) = self.left else { return Ok(WriteOutcome::Moved) };
        let closed_as = files::closed_name(&self.path, self.first_seq(file)?, left.seq.saturating_add(1));
        let own = LogEvent::Rotated { closed_as, next: files::name(&self.path) };
        self.put_own(file, &own, head, None)?;
        self.close(file, left.seq.saturating_add(1))
    }

    /// Renames a file whose last line says that it is closed, unless another process already did.
    fn close(&mut self, file: &File, last: u64) -> Result<WriteOutcome, LedgerError> {
        self.left = None;
        if self.is_at_path(file)? {
            self.sync(file)?;
            let name = files::closed_name(&self.path, self.first_seq(file)?, last);
            let to = folder(&self.path).join(name);
            self.disk.rename(&self.path, &to).map_err(LedgerError::step("rename", &self.path))?;
            self.sync_folder()?;
        }
        Ok(WriteOutcome::Moved)
    }

    fn is_at_path(&self, file: &File) -> Result<bool, LedgerError> {
        let ours = file.metadata().map_err(LedgerError::step("look at", &self.path))?;
        let there = self.path.symlink_metadata();
        Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
    }

    fn first_seq(&self, file: &File) -> Result<u64, LedgerError> {
        let mut file = file;
        file.rewind().map_err(LedgerError::step("read", &self.path))?;
        let mut reader = BufReader::new(file);
        let mut found = Vec::new();
        loop {
            found.clear();
            let mut part = reader.by_ref().take(line::MAX_LINE as u64 + 1);
            let read = part.read_until(b'\n', &mut found).map_err(LedgerError::step("read", &self.path))?;
            if read == 0 {
                return Err(LedgerError::NoGoodLine { path: self.path.clone(), searched: 0 });
            }
            found.pop();
            if let Ok(place) = line::place(&found) {
                return Ok(place.seq);
            }
        }
    }

    fn put_own(
        &mut self,
        file: &File,
        own: &LogEvent,
        head: Head<'_>,
        before: Option<u8>,
    ) -> Result<(), LedgerError> {
        let mut line = EntryLine::default();
        body::fields(line.begin(head)?, own)?;
        self.put(file, &mut line, before)
    }

    /// Writes one line, with the byte `before` in front of it, in one write.
    fn put(&mut self, file: &File, line: &mut EntryLine, before: Option<u8>) -> Result<(), LedgerError> {
        let Some(left) = self.left.take() else { return Err(LedgerError::Restless(self.path.clone())) };
        let Some(seq) = left.seq.checked_add(1) else { return Err(LedgerError::Restless(self.path.clone())) };
        let (bytes, hash) = line.end(seq, &left.hash)?;
        let joined = before.map(|before| [&[before], bytes].concat());
        let bytes = joined.as_deref().unwrap_or(bytes);
        let written = self.disk.append(file, bytes).map_err(LedgerError::step("write", &self.path))?;
        if written != bytes.len() {
            return Err(LedgerError::Short { path: self.path.clone(), written, length: bytes.len() });
        }
        self.left = Some(ChainEnd { size: left.size + written as u64, seq, hash });
        self.last = Some((seq, hash));
        self.ahead = true;
        Ok(())
    }

    fn sync(&self, file: &File) -> Result<(), LedgerError> {
        self.disk.sync(file).map_err(LedgerError::step("sync", &self.path))
    }

    fn sync_folder(&self) -> Result<(), LedgerError> {
        let folder = folder(&self.path);
        self.disk.sync_folder(folder).map_err(LedgerError::step("sync", folder))
    }
}
