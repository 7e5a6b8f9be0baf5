//! Finds files with several hard links in the roots.
//!
//! Through a hard link in a writable root, a process could change a file elsewhere, or a protected file. All files are
//! searched once, since a process in the sandbox cannot create a hard link to a file that it cannot write. They are
//! searched again when a protected file has unknown names.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use askfirst_files::never::is_aside;
use rustix::fs::Access;

use super::error::SandboxError;

/// The maximum number of files that are made read-only one by one. More are an error.
const MAX_FOREIGN: usize = 64;

/// The files with several hard links in some roots, as of the last search.
#[derive(Debug)]
pub struct HardLinks {
    roots: Vec<PathBuf>,
    last: Mutex<Arc<LinkedFiles>>,
}

/// The names of files that have several.
#[derive(Debug, Default)]
pub struct LinkedFiles {
    of: HashMap<(u64, u64), (u64, Vec<PathBuf>)>,
    /// Folders that could not be searched.
    closed: Vec<PathBuf>,
}

impl HardLinks {
    /// Searches all files in these roots.
    ///
    /// # Errors
    ///
    /// Fails if a folder cannot be searched that a process might be able to search.
    pub fn search(roots: &[PathBuf]) -> Result<Self, SandboxError> {
        Ok(Self { roots: roots.to_vec(), last: Mutex::new(Arc::new(LinkedFiles::search(roots)?)) })
    }

    /// Returns the names of files with several. Searches again if one of the files in `linked` has unknown names.
    ///
    /// # Errors
    ///
    /// Fails if a folder cannot be searched that a process might be able to search.
    pub fn names(&self, linked: &[PathBuf]) -> Result<Arc<LinkedFiles>, SandboxError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.knows(linked) {
            *last = Arc::new(LinkedFiles::search(&self.roots)?);
        }
        Ok(Arc::clone(&last))
    }
}

fn file_id(stat: &Metadata) -> (u64, u64) {
    (stat.dev(), stat.ino())
}

impl LinkedFiles {
    fn search(roots: &[PathBuf]) -> Result<Self, SandboxError> {
        let mut links = Self::default();
        let outermost =
            roots.iter().filter(|root| !roots.iter().any(|other| other != *root && root.starts_with(other)));
        let mut waiting: Vec<(PathBuf, bool)> = outermost.map(|root| (root.clone(), false)).collect();
        // Programs cannot open quarantined folders, so errors inside them are ignored: their paths may be too long.
        while let Some((path, aside)) = waiting.pop() {
            let searchable = rustix::fs::access(&path, Access::READ_OK | Access::EXEC_OK);
            let entries = match searchable.map_err(Into::into).and_then(|()| fs::read_dir(&path)) {
                Ok(entries) => entries,
                Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    continue;
                }
                Err(_) if aside => continue,
                Err(cause) if cause.kind() == ErrorKind::PermissionDenied => {
                    links.closed.push(path);
                    continue;
                }
                Err(cause) => return Err(SandboxError::Search { path, cause }),
            };
            for entry in entries {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(_) if aside => break,
                    Err(cause) => return Err(SandboxError::Search { path, cause }),
                };
                let stat = match entry.metadata() {
                    Ok(stat) => stat,
                    Err(cause) if aside || cause.kind() == ErrorKind::NotFound => continue,
                    Err(cause) => return Err(SandboxError::Search { path, cause }),
                };
                if stat.is_dir() {
                    waiting.push((entry.path(), aside || is_aside(&entry.file_name())));
                } else if stat.is_file() && stat.nlink() > 1 {
                    let known = links.of.entry(file_id(&stat)).or_default();
                    known.0 = stat.nlink();
                    known.1.push(entry.path());
                }
            }
        }
        Ok(links)
    }

    /// Whether the names of these files are exactly those that were found. Each file is checked once, however many of its
    /// names are in the list.
    fn knows(&self, linked: &[PathBuf]) -> bool {
        let mut seen: HashMap<(u64, u64), HashSet<&Path>> = HashMap::new();
        linked.iter().all(|path| {
            let Ok(stat) = path.symlink_metadata() else { return true };
            let id = file_id(&stat);
            if let Some(names) = seen.get(&id) {
                return names.contains(path.as_path());
            }
            let is_it = |name: &PathBuf| name.symlink_metadata().is_ok_and(|found| file_id(&found) == id);
            let known = self.of.get(&id);
            let Some((_, names)) = known.filter(|(count, _)| *count == stat.nlink()) else { return false };
            let all: HashSet<&Path> = names.iter().map(PathBuf::as_path).collect();
            let is_known = all.contains(path.as_path()) && names.iter().all(is_it);
            seen.insert(id, all);
            is_known
        })
    }

    /// Returns the names in writable roots of files that also have a name elsewhere, except covered ones.
    ///
    /// # Errors
    ///
    /// Fails if there are too many.
    pub fn foreign(
        &self,
        writable: impl Fn(&Path) -> bool,
        covered: impl Fn(&Path) -> bool,
    ) -> Result<Vec<PathBuf>, SandboxError> {
        let mut foreign: Vec<PathBuf> = Vec::new();
        for (count, names) in self.of.values() {
            let inside: Vec<&PathBuf> = names.iter().filter(|name| writable(name)).collect();
            if !inside.is_empty() && (inside.len() as u64) < *count {
                foreign.extend(inside.into_iter().filter(|name| !covered(name)).cloned());
            }
        }
        foreign.sort();
        match foreign.first() {
            Some(example) if foreign.len() > MAX_FOREIGN => {
                Err(SandboxError::TooManyLinks { count: foreign.len(), example: example.clone() })
            }
            _ => Ok(foreign),
        }
    }

    /// Returns the folders that could not be searched and still exist.
    pub fn closed(&self) -> impl Iterator<Item = &PathBuf> {
        self.closed.iter().filter(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()))
    }

    /// Returns, for each file with several names in these roots, those names.
    pub fn of_one_file(&self) -> impl Iterator<Item = &[PathBuf]> {
        self.of.values().map(|(_, names)| names.as_slice()).filter(|names| names.len() > 1)
    }
}

/// Returns the files below a folder that have several hard links.
pub(super) fn linked_below(folder: &Path) -> Vec<PathBuf> {
    let mut linked = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(stat) if stat.is_dir() => waiting.push(entry.path()),
                Ok(stat) if stat.is_file() && stat.nlink() > 1 => linked.push(entry.path()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    linked
}
