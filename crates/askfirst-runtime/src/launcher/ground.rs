//! What holds for all processes of a session: the rules about names, and what a command left that should not be there.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::config::Config;
use crate::walls::{Derived, Known, Links, Moved, Protected, Since, Sort, WallsError, quarantine, reopen};

/// So many folders that were opened again, and so many things that are left, are told of.
const MOST_TOLD: usize = 32;

/// What holds for all processes of a session.
pub(super) struct Ground {
    pub(super) protected: Protected,
    pub(super) links: Links,
    /// What was there before commands after which something could not be moved aside or searched: until it can,
    /// nothing more is started.
    left: Mutex<Vec<Before>>,
}

/// What was there before a command, and where it could write.
#[derive(Debug, Clone)]
struct Before {
    known: Known,
    writable: Vec<PathBuf>,
}

impl Ground {
    pub(super) fn new(config: &Config) -> Result<Self, WallsError> {
        let roots: Vec<PathBuf> = config.main.sandbox.paths.values().map(|path| path.root.clone()).collect();
        let (protected, links) = (Protected::new(config)?, Links::search(&roots)?);
        Ok(Self { protected, links, left: Mutex::default() })
    }

    /// Moves aside what appeared during a command, and says what it did in words. What could not be moved or searched is
    /// told of, and looked for again before the next.
    pub(super) fn clean_up(&self, derived: &Derived, roots: &[PathBuf]) -> Vec<String> {
        let before = Before { known: derived.before.clone(), writable: derived.writable.clone() };
        let Moved { mut said, failed, .. } = self.move_aside(&before, roots);
        let count = failed.len();
        said.extend(failed.iter().take(MOST_TOLD).map(ToString::to_string));
        if count > MOST_TOLD {
            said.push(format!("{} more could not be searched or moved away", count - MOST_TOLD));
        }
        if count > 0 {
            said.push("nothing more is started in this session while that is there".to_owned());
            self.left.lock().unwrap_or_else(PoisonError::into_inner).push(before);
        }
        said
    }

    fn move_aside(&self, before: &Before, roots: &[PathBuf]) -> Moved {
        let mut opened = Vec::new();
        let was_closed =
            |path: &Path| before.known.found.get(path).is_some_and(|old| old.sort == Sort::Closed);
        let since = Since { before: &before.known, roots, writable: &before.writable };
        let mut moved = quarantine(&self.protected, since, |path| {
            if was_closed(path) || !before.writable.iter().any(|root| path.starts_with(root)) {
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

#[cfg(test)]
#[path = "ground/tests.rs"]
mod tests;
