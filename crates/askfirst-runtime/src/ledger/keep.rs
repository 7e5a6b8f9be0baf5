//! Decides whether a writer keeps the lock between entries.
//!
//! Taking the lock, checking the file and releasing the lock takes longer than writing an entry. So a writer with many
//! entries in a row keeps the lock.
//! A thread releases it when the writer pauses, when another writer waits, or after a time limit. If the process dies,
//! the operating system releases it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use askfirst::Timestamp;

use super::error::LedgerError;
use super::line::EntryLine;
use super::writer::{Lock, Writer};

/// The maximum time between two entries in a row, in milliseconds.
const CLOSE: u64 = 1;

/// How many entries in a row are needed before the lock is kept.
const ROW: u32 = 4;

/// A pause or a waiting writer is noticed after one to two ticks.
const TICK: Duration = Duration::from_millis(1);

/// The maximum number of ticks that the lock is kept. After that, or if another writer waits, it is released between
/// entries for a while.
/// A waiting writer tries every millisecond.
const TICKS: u32 = 100;
const FREE: Duration = Duration::from_millis(4);

/// A writer, and the thread that releases its lock.
pub(super) struct Keeper(Arc<SharedWriter>);

struct SharedWriter {
    inner: Mutex<WriterState>,
    /// Notified when the lock is first kept, and at the end.
    news: Condvar,
}

/// The state for writing an entry. One thread uses it at a time.
pub(super) struct WriterState {
    writer: Writer,
    line: EntryLine,
    process: u32,
    last: Timestamp,
    row: u32,
    entries: u64,
    release_thread: ReleaseThread,
}

/// The state of the thread that releases the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReleaseThread {
    /// Not started yet.
    None,
    /// Waits, or watches a lock that is kept.
    Ready,
    /// Gives other writers their turn.
    Resting,
    /// Has ended, or could not be started.
    Over,
}

/// The right to write one entry, and whether to keep the lock after it.
pub(super) struct Turn<'a> {
    pub(super) inner: MutexGuard<'a, WriterState>,
    pub(super) after: Lock,
}

impl WriterState {
    pub(super) fn parts(&mut self) -> (&mut Writer, &mut EntryLine) {
        (&mut self.writer, &mut self.line)
    }

    /// Returns whether enough entries in a row were written.
    fn hurries(&mut self, now: Timestamp) -> bool {
        let close = now.0.saturating_sub(self.last.0) <= CLOSE;
        self.row = if close { self.row.saturating_add(1) } else { 0 };
        self.last = now;
        self.row >= ROW
    }
}

impl Keeper {
    pub(super) fn new(writer: Writer) -> Self {
        let inner = WriterState {
            writer,
            line: EntryLine::default(),
            process: std::process::id(),
            last: Timestamp::default(),
            row: 0,
            entries: 0,
            release_thread: ReleaseThread::None,
        };
        Self(Arc::new(SharedWriter { inner: Mutex::new(inner), news: Condvar::new() }))
    }

    /// Returns whether the lock is held while nothing is being written.
    #[cfg(test)]
    pub(super) fn is_held(&self) -> bool {
        self.0.inner.lock().is_ok_and(|inner| inner.writer.is_held())
    }

    /// Returns the state of the writer if this process is the last one that wrote.
    pub(super) fn state_of(&self, process: u32) -> Option<MutexGuard<'_, WriterState>> {
        self.0.inner.lock().ok().filter(|inner| inner.process == process)
    }

    /// Waits for the turn to write an entry.
    pub(super) fn turn(&self, now: Timestamp, process: u32) -> Result<Turn<'_>, LedgerError> {
        let Ok(mut inner) = self.0.inner.lock() else { return Err(LedgerError::Broken) };
        if inner.process != process {
            inner.writer.leave_to_other();
            (inner.process, inner.release_thread) = (process, ReleaseThread::None);
        }
        inner.entries = inner.entries.wrapping_add(1);
        if !inner.hurries(now) {
            return Ok(Turn { inner, after: Lock::Back });
        }
        if inner.release_thread == ReleaseThread::None {
            let shared = Arc::clone(&self.0);
            let started =
                thread::Builder::new().name("askfirst-ledger".to_owned()).spawn(move || mind(&shared));
            inner.release_thread = if started.is_ok() { ReleaseThread::Ready } else { ReleaseThread::Over };
        }
        let after = if inner.release_thread == ReleaseThread::Ready { Lock::Kept } else { Lock::Back };
        if after == Lock::Kept && !inner.writer.is_held() {
            self.0.news.notify_one();
        }
        Ok(Turn { inner, after })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let mut inner = self.0.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.process == std::process::id() {
            inner.writer.give_back();
        }
        inner.release_thread = ReleaseThread::Over;
        self.0.news.notify_one();
    }
}

/// Releases the lock once nothing was written for a tick, or after the time limit.
fn mind(shared: &SharedWriter) {
    let lock = || shared.inner.lock().unwrap_or_else(PoisonError::into_inner);
    let mut inner = lock();
    while inner.release_thread != ReleaseThread::Over {
        if !inner.writer.is_held() {
            inner = shared.news.wait(inner).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        let (mut ticks, mut seen, mut waited_for) = (0, None, false);
        while inner.writer.is_held() && seen != Some(inner.entries) && ticks < TICKS && !waited_for {
            (seen, ticks) = (Some(inner.entries), ticks + 1);
            drop(inner);
            thread::sleep(TICK);
            inner = lock();
            waited_for = inner.writer.is_waited_for();
        }
        inner.writer.give_back();
        if (ticks == TICKS || waited_for) && inner.release_thread == ReleaseThread::Ready {
            inner.release_thread = ReleaseThread::Resting;
            drop(inner);
            thread::sleep(FREE);
            inner = lock();
            if inner.release_thread == ReleaseThread::Resting {
                inner.release_thread = ReleaseThread::Ready;
            }
        }
    }
}
