//! What holds for all processes of a session: the rules about names, what was there before the commands that run now,
//! and what a command left that should not be there.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::journal::{Entry, Journal, Turn};
use crate::walls::{Derived, Known, Links, Moved, Protected, Since, Sort, WallsError, quarantine, reopen};
use askfirst_config::{Config, PathMode};

/// So many folders that were opened again, and so many things that are left, are told of.
const MOST_TOLD: usize = 32;

/// What holds for all processes of a session.
pub(super) struct Ground {
    pub(super) protected: Protected,
    pub(super) links: Links,
    /// What was there before commands after which something could not be moved aside or searched: until it can,
    /// nothing more is started.
    left: Mutex<Vec<Before>>,
    flight: Mutex<Flight>,
    journal: Option<Journal>,
    /// Entries about commands that left something: if it is there when this session ends, the next finds them.
    kept: Mutex<Vec<Entry>>,
    /// The roots that some command may write in.
    writable: Vec<PathBuf>,
    /// Those that none may: some lie in these.
    held: Vec<PathBuf>,
}

/// The commands that run now. What appears during one of them is nobody's until all are over that overlap.
#[derive(Debug, Default)]
struct Flight {
    count: usize,
    /// What was there before the first of them.
    since: Option<Arc<Known>>,
    /// Held from before it is looked at what is there until others can see that.
    turn: Option<Turn>,
    entry: Option<Entry>,
    /// Entries of processes that were killed: what their commands made has yet to be looked at.
    left: Vec<PathBuf>,
}

/// A command that is not over for as long as this lives.
pub(super) struct Aboard<'a>(&'a Ground);

impl Drop for Aboard<'_> {
    fn drop(&mut self) {
        let mut flight = self.0.flight();
        flight.count -= 1;
        if flight.count == 0 {
            let over = std::mem::take(&mut *flight);
            drop(over.turn);
            let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(over.entry);
            let is_left = !self.0.left.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
            if let Some(journal) = self.0.journal.as_ref().filter(|_| !is_left) {
                kept.drain(..).for_each(|entry| journal.end(Some(entry), &[]));
            }
        }
    }
}

/// What was there before a command, and where it could write.
#[derive(Debug, Clone)]
struct Before {
    known: Known,
    writable: Vec<PathBuf>,
    held: Vec<PathBuf>,
}

impl Ground {
    /// The rules of a config, and who else runs commands under it if there is a folder to note that in.
    pub(super) fn new(config: &Config, state: Option<&Path>) -> Result<Self, WallsError> {
        let paths = || config.main.sandbox.paths.values();
        let roots: Vec<PathBuf> = paths().map(|path| path.root.clone()).collect();
        let writable = paths().filter(|path| path.mode == PathMode::Rw).map(|path| path.root.clone());
        let layers = std::iter::once(&config.main).chain(&config.floors);
        let held = layers.flat_map(|layer| layer.sandbox.paths.values());
        let held = held.filter(|path| path.mode != PathMode::Rw).map(|path| path.root.clone());
        Ok(Self {
            protected: Protected::new(config)?,
            links: Links::search(&roots)?,
            left: Mutex::default(),
            flight: Mutex::default(),
            journal: state.and_then(|state| Journal::new(state, config)),
            kept: Mutex::default(),
            writable: writable.collect(),
            held: held.collect(),
        })
    }

    fn flight(&self) -> MutexGuard<'_, Flight> {
        self.flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a command, before it is looked at what is there.
    ///
    /// # Errors
    /// Fails if nobody can be told.
    pub(super) fn enter(&self) -> io::Result<Aboard<'_>> {
        let mut flight = self.flight();
        if flight.count == 0 {
            flight.turn = self.journal.as_ref().map(Journal::turn).transpose()?;
        }
        flight.count += 1;
        Ok(Aboard(self))
    }

    /// What was there before a command and all that overlap with it, of what was found now. The first of them tells
    /// other processes.
    ///
    /// # Errors
    /// Fails if these cannot be told, or not be asked.
    pub(super) fn since(&self, found: &Known, roots: &[PathBuf]) -> io::Result<Arc<Known>> {
        let mut flight = self.flight();
        if let Some(since) = &flight.since {
            return Ok(Arc::new(with_ways_outside(since, found, roots)));
        }
        let mut since = found.clone();
        if let Some(journal) = &self.journal {
            for other in journal.others()? {
                since.keep(&other.marks);
                flight.left.extend(other.left);
            }
            flight.entry = Some(journal.write(&since.marks())?);
        }
        let own = with_ways_outside(&since, found, roots);
        flight.since = Some(Arc::new(since));
        flight.turn = None;
        Ok(Arc::new(own))
    }

    /// Moves aside what appeared during a command, and says what it did in words. What could not be moved or searched is
    /// told of, and looked for again before the next.
    pub(super) fn clean_up(&self, since: &Known, derived: &Derived, roots: &[PathBuf]) -> Vec<String> {
        // What a process that was killed left may be in any root.
        let left = std::mem::take(&mut self.flight().left);
        let (writable, held) = match left.is_empty() {
            true => (&derived.writable, &derived.held),
            false => (&self.writable, &self.held),
        };
        let before = Before { known: since.clone(), writable: writable.clone(), held: held.clone() };
        let Moved { mut said, failed, .. } = self.move_aside(&before, roots);
        let count = failed.len();
        said.extend(failed.iter().take(MOST_TOLD).map(ToString::to_string));
        if count > MOST_TOLD {
            said.push(format!("{} more could not be searched or moved away", count - MOST_TOLD));
        }
        if count > 0 {
            said.push("nothing more is started in this session while that is there".to_owned());
            self.left.lock().unwrap_or_else(PoisonError::into_inner).push(before);
        } else {
            if let Some(journal) = &self.journal {
                journal.end(None, &left);
            }
            // What another command that is over now kept from being moved may be movable.
            said.extend(self.settle(roots).unwrap_or_default());
        }
        said
    }

    fn move_aside(&self, before: &Before, roots: &[PathBuf]) -> Moved {
        let mut opened = Vec::new();
        let was_closed =
            |path: &Path| before.known.found.get(path).is_some_and(|old| old.sort == Sort::Closed);
        let Before { known, writable, held } = before;
        let since = Since { before: known, roots, writable, held };
        let mut moved = quarantine(&self.protected, since, |path| {
            if was_closed(path) || !since.is_open(path) {
                return false;
            }
            let done = reopen(path);
            let is_open = done.is_ok();
            opened.extend(done.ok().filter(|_| opened.len() < MOST_TOLD));
            is_open
        });
        opened.append(&mut moved.said);
        if moved.more > 0 {
            opened.push(format!("{} more appeared and were moved aside", moved.more));
        }
        moved.said = opened;
        moved
    }

    /// Looks again after what an earlier command left that should not be there. Says what was done about it.
    ///
    /// # Errors
    /// Fails with what is still there.
    pub(super) fn settle(&self, roots: &[PathBuf]) -> Result<Vec<String>, WallsError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told = Vec::new();
        let mut first = None;
        left.retain(|before| {
            let Moved { said, failed, .. } = self.move_aside(before, roots);
            told.extend(said);
            let is_left = !failed.is_empty();
            first = first.take().or_else(|| failed.into_iter().next());
            is_left
        });
        first.map_or(Ok(told), Err)
    }
}

/// What was there, with all that leads git somewhere from outside of the roots now: no command can have made that.
fn with_ways_outside(since: &Known, found: &Known, roots: &[PathBuf]) -> Known {
    let mut since = since.clone();
    let outside = found.ways.iter().filter(|(way, _)| !roots.iter().any(|root| way.starts_with(root)));
    since.ways.extend(outside.map(|(way, it)| (way.clone(), it.clone())));
    since
}

#[cfg(test)]
#[path = "ground/tests.rs"]
mod tests;
