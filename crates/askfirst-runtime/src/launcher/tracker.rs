//! Tracks the commands of a session: the rules about protected names, the state before the running commands, and
//! leftovers of earlier ones.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use askfirst_config::{Config, PathMode};

use super::journal::{Journal, JournalEntry, SearchLock};
use crate::sandbox::{
    DerivedProfile, EntryKind, FolderCache, HardLinks, ProtectedNames, QuarantineReport, QuarantineScope,
    SandboxError, Snapshot, quarantine, reopen,
};

/// The maximum number of reopened folders, and of leftovers, that are reported one by one.
const MAX_REPORTED: usize = 32;

/// The tracker for all commands of a session.
pub(super) struct CommandTracker {
    pub(super) protected: ProtectedNames,
    pub(super) links: HardLinks,
    /// The listings by earlier processes of the roots' folders.
    cache: Option<FolderCache>,
    /// The states before commands whose leftovers could not be quarantined or searched. While there are any, no command
    /// starts.
    leftovers: Mutex<Vec<Baseline>>,
    running: Mutex<RunningCommands>,
    journal: Option<Journal>,
    /// Journal entries of commands with leftovers. If the session ends before they are resolved, the next one finds them.
    unresolved_entries: Mutex<Vec<JournalEntry>>,
    /// The roots that a command may write.
    writable: Vec<PathBuf>,
    /// The roots that no command may write. Some are inside writable ones.
    read_only: Vec<PathBuf>,
}

/// The commands that run now. All commands that overlap share the state from before the first of them.
#[derive(Debug, Default)]
struct RunningCommands {
    count: usize,
    /// The state before the first of them.
    baseline: Option<Arc<Snapshot>>,
    /// Held while this process searches, until its journal entry is written.
    lock: Option<SearchLock>,
    entry: Option<JournalEntry>,
    /// Journal entries of killed processes, whose commands may have left new files.
    dead_entries: Vec<PathBuf>,
}

/// A running command. Dropping it marks the command as finished.
pub(super) struct CommandGuard<'a>(&'a CommandTracker);

impl Drop for CommandGuard<'_> {
    fn drop(&mut self) {
        let mut running = self.0.running();
        running.count -= 1;
        if running.count == 0 {
            let over = std::mem::take(&mut *running);
            drop(over.lock);
            let mut kept = self.0.unresolved_entries.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(over.entry);
            let is_left = !self.0.leftovers.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
            if let Some(journal) = self.0.journal.as_ref().filter(|_| !is_left) {
                kept.drain(..).for_each(|entry| journal.end(Some(entry), &[]));
            }
        }
    }
}

/// The state before a command, and the paths that it could write.
#[derive(Debug, Clone)]
struct Baseline {
    known: Snapshot,
    writable: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
}

impl CommandTracker {
    /// Creates the tracker for a config. `state` is the folder of the journal, if there is one.
    pub(super) fn new(config: &Config, state: Option<&Path>) -> Result<Self, SandboxError> {
        let paths = || config.main.sandbox.paths.values();
        let roots: Vec<PathBuf> = paths().map(|path| path.root.clone()).collect();
        let writable = paths().filter(|path| path.mode == PathMode::Rw).map(|path| path.root.clone());
        let layers = std::iter::once(&config.main).chain(&config.floors);
        let read_only = layers.flat_map(|layer| layer.sandbox.paths.values());
        let read_only = read_only.filter(|path| path.mode != PathMode::Rw).map(|path| path.root.clone());
        let cache = state.and_then(|state| FolderCache::new(state, config));
        let mut cached = cache.as_ref().map(FolderCache::load).unwrap_or_default();
        Ok(Self {
            protected: ProtectedNames::new(config)?.with_cached(&mut cached),
            links: HardLinks::later(&roots, &mut cached),
            cache,
            leftovers: Mutex::default(),
            running: Mutex::default(),
            journal: state.and_then(|state| Journal::new(state, config)),
            unresolved_entries: Mutex::default(),
            writable: writable.collect(),
            read_only: read_only.collect(),
        })
    }

    fn running(&self) -> MutexGuard<'_, RunningCommands> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a command, before the roots are searched.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be locked.
    pub(super) fn register(&self) -> io::Result<CommandGuard<'_>> {
        let mut running = self.running();
        if running.count == 0 {
            running.lock = self.journal.as_ref().map(Journal::search_lock).transpose()?;
        }
        running.count += 1;
        Ok(CommandGuard(self))
    }

    /// Returns the state before a command and before all commands that overlap with it. `found` is the current state.
    ///
    /// The first of these commands writes the state to the journal.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read or written.
    pub(super) fn baseline(&self, found: &Snapshot, roots: &[PathBuf]) -> io::Result<Arc<Snapshot>> {
        let mut running = self.running();
        if let Some(since) = &running.baseline {
            return Ok(Arc::new(with_outside_pointers(since, found, roots)));
        }
        let mut since = found.clone();
        if let Some(journal) = &self.journal {
            for other in journal.others()? {
                since.retain_matching(&other.digests);
                running.dead_entries.extend(other.left);
            }
            running.entry = Some(journal.write(&since.digests())?);
        }
        let own = with_outside_pointers(&since, found, roots);
        running.baseline = Some(Arc::new(since));
        running.lock = None;
        Ok(Arc::new(own))
    }

    /// Quarantines the protected names that appeared during a command. Returns sentences about it.
    ///
    /// Entries that could not be renamed or searched are reported, and handled again before the next command.
    pub(super) fn clean_up(
        &self,
        since: &Snapshot,
        derived: &DerivedProfile,
        roots: &[PathBuf],
    ) -> Vec<String> {
        // A killed process may have left files in any root.
        let dead_entries = std::mem::take(&mut self.running().dead_entries);
        let (writable, read_only) = match dead_entries.is_empty() {
            true => (&derived.writable, &derived.read_only),
            false => (&self.writable, &self.read_only),
        };
        let before =
            Baseline { known: since.clone(), writable: writable.clone(), read_only: read_only.clone() };
        let QuarantineReport { mut lines, failed, .. } = self.quarantine_since(&before, roots);
        if let Some(cache) = &self.cache {
            cache.store(&self.protected, &self.links);
        }
        let count = failed.len();
        lines.extend(failed.iter().take(MAX_REPORTED).map(ToString::to_string));
        if count > MAX_REPORTED {
            lines.push(format!("{} more could not be searched or moved away", count - MAX_REPORTED));
        }
        if count > 0 {
            lines.push("askfirst starts no more commands in this session until that is resolved".to_owned());
            self.leftovers.lock().unwrap_or_else(PoisonError::into_inner).push(before);
        } else {
            if let Some(journal) = &self.journal {
                journal.end(None, &dead_entries);
            }
            // Another command may have blocked leftovers of this one. It may have ended by now.
            lines.extend(self.retry_leftovers(roots).unwrap_or_default());
        }
        lines
    }

    fn quarantine_since(&self, before: &Baseline, roots: &[PathBuf]) -> QuarantineReport {
        let mut opened = Vec::new();
        let was_closed =
            |path: &Path| before.known.found.get(path).is_some_and(|old| old.kind == EntryKind::Closed);
        let Baseline { known, writable, read_only } = before;
        let since = QuarantineScope { before: known, roots, writable, read_only };
        let mut moved = quarantine(&self.protected, since, |path| {
            if was_closed(path) || !since.is_open(path) {
                return false;
            }
            let done = reopen(path);
            let is_open = done.is_ok();
            opened.extend(done.ok().filter(|_| opened.len() < MAX_REPORTED));
            is_open
        });
        opened.append(&mut moved.lines);
        if moved.more > 0 {
            opened.push(format!("{} more appeared, and askfirst moved them away", moved.more));
        }
        moved.lines = opened;
        moved
    }

    /// Handles the leftovers of earlier commands again. Returns sentences about it.
    ///
    /// # Errors
    ///
    /// Fails with the first leftover that is still there.
    pub(super) fn retry_leftovers(&self, roots: &[PathBuf]) -> Result<Vec<String>, SandboxError> {
        let mut leftovers = self.leftovers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reports = Vec::new();
        let mut first = None;
        leftovers.retain(|before| {
            let QuarantineReport { lines, failed, .. } = self.quarantine_since(before, roots);
            reports.extend(lines);
            let is_left = !failed.is_empty();
            first = first.take().or_else(|| failed.into_iter().next());
            is_left
        });
        first.map_or(Ok(reports), Err)
    }
}

/// Adds the current git pointers outside the roots to a state. No command can have created those.
fn with_outside_pointers(since: &Snapshot, found: &Snapshot, roots: &[PathBuf]) -> Snapshot {
    let mut since = since.clone();
    let outside =
        found.git_pointers.iter().filter(|(pointer, _)| !roots.iter().any(|root| pointer.starts_with(root)));
    since.git_pointers.extend(outside.map(|(pointer, it)| (pointer.clone(), it.clone())));
    since
}

#[cfg(test)]
#[path = "tracker/tests.rs"]
mod tests;
