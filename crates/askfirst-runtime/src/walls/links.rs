//! Files with several names: a name in a writable root of a file that is also named elsewhere would let a process
//! change it there, and so would another name of what is protected. All files are looked at once, since nothing behind
//! walls can make a name for what it cannot write; and again when a protected file has names that are not known.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::Access;

use super::error::WallsError;
use askfirst_files::never::is_aside;

/// So many are made read only one by one; more is a refusal.
const MOST: usize = 64;

/// The files with several names in some roots, as they were when they were last looked for.
#[derive(Debug)]
pub struct Links {
    roots: Vec<PathBuf>,
    last: Mutex<Arc<Names>>,
}

/// The names of files with several.
#[derive(Debug, Default)]
pub struct Names {
    of: HashMap<(u64, u64), (u64, Vec<PathBuf>)>,
    /// Folders that could not be searched.
    closed: Vec<PathBuf>,
}

impl Links {
    /// Looks at every file in these roots.
    ///
    /// # Errors
    /// Fails if a folder cannot be searched that a process might be able to.
    pub fn search(roots: &[PathBuf]) -> Result<Self, WallsError> {
        Ok(Self { roots: roots.to_vec(), last: Mutex::new(Arc::new(Names::search(roots)?)) })
    }

    /// The names of files with several. If one of these has names that are not known, all are looked for anew.
    ///
    /// # Errors
    /// Fails if a folder cannot be searched that a process might be able to.
    pub fn names(&self, linked: &[PathBuf]) -> Result<Arc<Names>, WallsError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.know(linked) {
            *last = Arc::new(Names::search(&self.roots)?);
        }
        Ok(Arc::clone(&last))
    }
}

fn number(stat: &Metadata) -> (u64, u64) {
    (stat.dev(), stat.ino())
}

impl Names {
    fn search(roots: &[PathBuf]) -> Result<Self, WallsError> {
        let mut links = Self::default();
        let outermost =
            roots.iter().filter(|root| !roots.iter().any(|other| other != *root && root.starts_with(other)));
        let mut waiting: Vec<(PathBuf, bool)> = outermost.map(|root| (root.clone(), false)).collect();
        // What was moved aside is closed to programs with all that is in it, and may be too deep.
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
                Err(cause) => return Err(WallsError::Search { path, cause }),
            };
            for entry in entries {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(_) if aside => break,
                    Err(cause) => return Err(WallsError::Search { path, cause }),
                };
                let stat = match entry.metadata() {
                    Ok(stat) => stat,
                    Err(cause) if aside || cause.kind() == ErrorKind::NotFound => continue,
                    Err(cause) => return Err(WallsError::Search { path, cause }),
                };
                if stat.is_dir() {
                    waiting.push((entry.path(), aside || is_aside(&entry.file_name())));
                } else if stat.is_file() && stat.nlink() > 1 {
                    let known = links.of.entry(number(&stat)).or_default();
                    known.0 = stat.nlink();
                    known.1.push(entry.path());
                }
            }
        }
        Ok(links)
    }

    /// Whether the names of these files are those that were found, and no more. Each file is looked at once, however many
    /// of its names are among them.
    fn know(&self, linked: &[PathBuf]) -> bool {
        let mut seen: HashMap<(u64, u64), HashSet<&Path>> = HashMap::new();
        linked.iter().all(|path| {
            let Ok(stat) = path.symlink_metadata() else { return true };
            let number_of_it = number(&stat);
            if let Some(names) = seen.get(&number_of_it) {
                return names.contains(path.as_path());
            }
            let is_it =
                |name: &PathBuf| name.symlink_metadata().is_ok_and(|found| number(&found) == number_of_it);
            let known = self.of.get(&number_of_it);
            let Some((_, names)) = known.filter(|(count, _)| *count == stat.nlink()) else { return false };
            let all: HashSet<&Path> = names.iter().map(PathBuf::as_path).collect();
            let is_known = all.contains(path.as_path()) && names.iter().all(is_it);
            seen.insert(number_of_it, all);
            is_known
        })
    }

    /// Those in writable roots that also have a name elsewhere, but for what is covered already.
    ///
    /// # Errors
    /// Fails if there are too many.
    pub fn foreign(
        &self,
        writable: impl Fn(&Path) -> bool,
        covered: impl Fn(&Path) -> bool,
    ) -> Result<Vec<PathBuf>, WallsError> {
        let mut foreign: Vec<PathBuf> = Vec::new();
        for (count, names) in self.of.values() {
            let inside: Vec<&PathBuf> = names.iter().filter(|name| writable(name)).collect();
            if !inside.is_empty() && (inside.len() as u64) < *count {
                foreign.extend(inside.into_iter().filter(|name| !covered(name)).cloned());
            }
        }
        foreign.sort();
        match foreign.first() {
            Some(example) if foreign.len() > MOST => {
                Err(WallsError::Links { count: foreign.len(), example: example.clone() })
            }
            _ => Ok(foreign),
        }
    }

    /// The folders that could not be searched, as far as they are still there.
    pub fn closed(&self) -> impl Iterator<Item = &PathBuf> {
        self.closed.iter().filter(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()))
    }

    /// The names in these roots of each file that has several here.
    pub fn of_one_file(&self) -> impl Iterator<Item = &[PathBuf]> {
        self.of.values().map(|(_, names)| names.as_slice()).filter(|names| names.len() > 1)
    }
}

/// The files with several names below a folder.
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
