//! What holds for all processes of a session: the rules about names, and what a command left that should not be there.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::config::Config;
use crate::walls::{Derived, Links, Protected, Sort, WallsError, quarantine, reopen};

/// So many folders that a command closed may lie in each other, and so many are told of.
const MOST_LEVELS: usize = 64;
const MOST_TOLD: usize = 32;

/// What holds for all processes of a session.
pub(super) struct Ground {
    pub(super) protected: Protected,
    pub(super) links: Links,
    /// What appeared and could not be moved aside: while it is there, nothing more is started.
    left: Mutex<Vec<PathBuf>>,
}

impl Ground {
    pub(super) fn new(config: &Config) -> Result<Self, WallsError> {
        let roots: Vec<PathBuf> = config.main.sandbox.paths.values().map(|path| path.root.clone()).collect();
        let (protected, links) = (Protected::new(config)?, Links::search(&roots)?);
        Ok(Self { protected, links, left: Mutex::default() })
    }

    /// Moves aside what appeared during a command. What could not be is remembered.
    pub(super) fn clean_up(&self, derived: &Derived, roots: &[PathBuf]) -> Result<Vec<String>, WallsError> {
        let done = self.try_to_clean_up(derived, roots);
        if let Err(WallsError::Quarantine { path, .. } | WallsError::Search { path, .. }) = &done {
            self.left.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        }
        done
    }

    fn try_to_clean_up(&self, derived: &Derived, roots: &[PathBuf]) -> Result<Vec<String>, WallsError> {
        let mut told = Vec::new();
        for _ in 0..MOST_LEVELS {
            let after = self.protected.search(roots)?;
            // What lies in a closed folder may be closed too.
            let opened = reopen(&derived.before, &after, &derived.writable)?;
            if opened.is_empty() {
                told.extend(quarantine(&derived.before, &after, &derived.writable)?);
                return Ok(told);
            }
            told.extend(opened);
            told.truncate(MOST_TOLD);
        }
        let after = self.protected.search(roots)?;
        let closed = after.into_iter().find(|(_, found)| found.sort == Sort::Closed);
        let path = closed.map(|(path, _)| path).or_else(|| roots.first().cloned()).unwrap_or_default();
        let cause = std::io::Error::other("too many closed folders lie in each other");
        Err(WallsError::Search { path, cause })
    }

    /// What an earlier command left that should not be there, if it still is.
    pub(super) fn left(&self) -> Option<PathBuf> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|path| path.symlink_metadata().is_ok());
        left.first().cloned()
    }
}
