//! Finds files with several hard links in the roots.
//!
//! Through a hard link in a writable root, a process could change a file elsewhere, or a protected file. All files are
//! searched once, since a process in the sandbox cannot create a hard link to a file that it cannot write. They are
//! searched again when a protected file has unknown names. Processes share what they found for ten minutes.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use askfirst_files::never::is_aside;
use rustix::fs::Access;

use super::error::SandboxError;
use super::folder_cache::{CachedFolders, FolderStamp, now};

/// The maximum number of files that are made read-only one by one. More are an error.
const MAX_FOREIGN: usize = 64;

/// How long, in seconds, the number of hard links of a file counts if its folder has not changed.
///
/// A hard link from a place outside to a file in a root changes nothing in the root, so no time of a folder shows it. A session searches once, however long it is. Processes that share a cache search again after this time.
const MAX_AGE: i64 = 600;

/// A thread takes as long to start as it takes to look at this many folders.
const MANY_FOLDERS: usize = 64;

/// The files with several hard links in some roots, as of the last search.
#[derive(Debug)]
pub struct HardLinks {
    roots: Vec<PathBuf>,
    last: Mutex<Option<Arc<LinkedFiles>>>,
    /// The findings in each folder, also of earlier processes.
    known: Mutex<HashMap<PathBuf, LinkFolder>>,
    changed: AtomicBool,
}

/// The result of a search for hard links in one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkFolder {
    pub(super) stamp: FolderStamp,
    /// When its files were looked at, in seconds.
    pub(super) searched: i64,
    pub(super) folders: Vec<OsString>,
    pub(super) linked: Vec<LinkedName>,
}

/// A name of a file that has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkedName {
    pub(super) name: OsString,
    pub(super) id: (u64, u64),
    pub(super) links: u64,
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
        let links = Self::later(roots, &mut CachedFolders::default());
        links.names(&[])?;
        Ok(links)
    }

    /// Searches these roots at the first use. Files in folders that have not changed since an earlier process searched them
    /// are not searched again for a while.
    #[must_use]
    pub fn later(roots: &[PathBuf], cached: &mut CachedFolders) -> Self {
        let known = Mutex::new(std::mem::take(&mut cached.links));
        Self { roots: roots.to_vec(), last: Mutex::default(), known, changed: AtomicBool::new(false) }
    }

    /// Returns the names of files with several. Searches again if one of the files in `linked` has unknown names.
    ///
    /// # Errors
    ///
    /// Fails if a folder cannot be searched that a process might be able to search.
    pub fn names(&self, linked: &[PathBuf]) -> Result<Arc<LinkedFiles>, SandboxError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = match last.take() {
            Some(found) => found,
            None => {
                let mut search = LinkSearch { before: std::mem::take(&mut *known), ..LinkSearch::default() };
                let found = search.run(&self.roots)?;
                let again = search.has_unknown_names(&found);
                self.changed.fetch_or(search.changed, Ordering::Relaxed);
                *known = search.after;
                if again { self.search_all(&mut known)? } else { Arc::new(found) }
            }
        };
        if !found.knows(linked) {
            found = self.search_all(&mut known)?;
        }
        Ok(Arc::clone(last.insert(found)))
    }

    /// Whether there is still a search to do, for which starting a thread takes little time in comparison.
    pub(super) fn is_worth_a_thread(&self) -> bool {
        let is_done = self.last.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        !is_done && self.known.lock().unwrap_or_else(PoisonError::into_inner).len() >= MANY_FOLDERS
    }

    /// Searches all files, whatever is known.
    fn search_all(&self, known: &mut HashMap<PathBuf, LinkFolder>) -> Result<Arc<LinkedFiles>, SandboxError> {
        let mut search = LinkSearch::default();
        let found = search.run(&self.roots)?;
        self.changed.store(true, Ordering::Relaxed);
        *known = search.after;
        Ok(Arc::new(found))
    }

    /// Whether a folder was searched since the last call.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    /// Returns the findings in each folder.
    pub(super) fn folders(&self) -> Vec<(PathBuf, LinkFolder)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().map(|(path, folder)| (path.clone(), folder.clone())).collect()
    }
}

/// One search for hard links.
#[derive(Default)]
struct LinkSearch {
    /// The earlier findings in folders that have not been visited yet.
    before: HashMap<PathBuf, LinkFolder>,
    /// The new findings in the folders visited so far.
    after: HashMap<PathBuf, LinkFolder>,
    /// The files with several names that were looked at just now, in folders that had changed.
    fresh: HashSet<(u64, u64)>,
    changed: bool,
}

impl LinkSearch {
    fn run(&mut self, roots: &[PathBuf]) -> Result<LinkedFiles, SandboxError> {
        let mut links = LinkedFiles::default();
        let outermost =
            roots.iter().filter(|root| !roots.iter().any(|other| other != *root && root.starts_with(other)));
        let mut waiting: Vec<(PathBuf, bool)> = outermost.map(|root| (root.clone(), false)).collect();
        // Programs cannot open quarantined folders, so errors inside them are ignored: their paths may be too long.
        while let Some((path, aside)) = waiting.pop() {
            let folder = match self.unchanged(&path) {
                Some(folder) => folder,
                None => match self.read(&path, aside) {
                    Ok(folder) => folder,
                    Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                        continue;
                    }
                    Err(_) if aside => continue,
                    Err(cause) if cause.kind() == ErrorKind::PermissionDenied => {
                        links.closed.push(path);
                        continue;
                    }
                    Err(cause) => return Err(SandboxError::Search { path, cause }),
                },
            };
            for LinkedName { name, id, links: count } in &folder.linked {
                let known = links.of.entry(*id).or_default();
                known.0 = known.0.max(*count);
                known.1.push(path.join(name));
            }
            let inside = |name: &OsString| (path.join(name), aside || is_aside(name));
            waiting.extend(folder.folders.iter().map(inside));
            self.after.insert(path, folder);
        }
        Ok(links)
    }

    /// Returns what is known about a folder if it has not changed. Its files with several names are looked at again.
    fn unchanged(&mut self, path: &Path) -> Option<LinkFolder> {
        let mut folder = self.before.remove(path)?;
        let stamp = FolderStamp::of(&path.symlink_metadata().ok()?);
        let age = now().saturating_sub(folder.searched);
        if stamp != folder.stamp || !(0..MAX_AGE).contains(&age) {
            return None;
        }
        for linked in &mut folder.linked {
            let stat = path.join(&linked.name).symlink_metadata().ok()?;
            if file_id(&stat) != linked.id || stat.nlink() != linked.links {
                self.fresh.insert(linked.id);
                self.changed = true;
                linked.links = stat.nlink();
            }
        }
        Some(folder)
    }

    /// Looks at every file in a folder.
    fn read(&mut self, path: &Path, aside: bool) -> io::Result<LinkFolder> {
        rustix::fs::access(path, Access::READ_OK | Access::EXEC_OK)?;
        // Read before the entries, so that a later change shows.
        let stamp = FolderStamp::of(&path.symlink_metadata()?);
        let mut folder = LinkFolder { stamp, searched: now(), folders: Vec::new(), linked: Vec::new() };
        for entry in fs::read_dir(path)? {
            let entry = match entry {
                Ok(entry) => entry,
                Err(_) if aside => break,
                Err(cause) => return Err(cause),
            };
            let stat = match entry.metadata() {
                Ok(stat) => stat,
                Err(cause) if aside || cause.kind() == ErrorKind::NotFound => continue,
                Err(cause) => return Err(cause),
            };
            if stat.is_dir() {
                folder.folders.push(entry.file_name());
            } else if stat.is_file() && stat.nlink() > 1 {
                let (name, id, links) = (entry.file_name(), file_id(&stat), stat.nlink());
                self.fresh.insert(id);
                folder.linked.push(LinkedName { name, id, links });
            }
        }
        if !stamp.is_settled() {
            // It may change again without another time. Its age makes the next process search it.
            folder.searched = i64::MIN;
        }
        self.changed = true;
        Ok(folder)
    }

    /// Whether a file that was looked at just now has a name that was not found. That name may be in a folder that has not
    /// changed, if the file had only that name when the folder was searched.
    fn has_unknown_names(&self, found: &LinkedFiles) -> bool {
        let is_unknown =
            |id: &(u64, u64)| found.of.get(id).is_some_and(|(count, names)| (names.len() as u64) < *count);
        self.fresh.iter().any(is_unknown)
    }
}

fn file_id(stat: &Metadata) -> (u64, u64) {
    (stat.dev(), stat.ino())
}

impl LinkedFiles {
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
