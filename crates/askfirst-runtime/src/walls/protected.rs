//! Which names in the roots are protected: the rules of the file tools, looked up in what is there. A folder that has
//! not changed since it was read is not read again.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, FileType};
use std::io;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use askfirst_sandbox::Denial;

use super::error::WallsError;
use crate::config::{Config, Settings};
use crate::tools::filesystem::never::{Names, Never};

/// A folder that changed this short a time before it was read may have changed again at the same tick.
const SETTLED: Duration = Duration::from_secs(2);

/// A `.git` that is larger leads nowhere.
const LARGEST: usize = 64 << 10;

/// The rules about names, and what was found by them.
pub struct Protected {
    never: Never,
    folder: PathBuf,
    home: Option<PathBuf>,
    known: Mutex<HashMap<PathBuf, Folder>>,
}

/// Something that is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// From what.
    pub what: Denial,
    /// The rule, in words.
    pub why: String,
    /// Its number on its disk: another thing of the same name has another.
    pub inode: u64,
    /// Whether it is a symbolic link, which cannot be covered.
    pub is_link: bool,
    /// The `.git` that makes it protected, where no rule does.
    pub by: Option<PathBuf>,
}

#[derive(Clone)]
struct Folder {
    changed: (i64, i64, u64),
    found: Vec<(PathBuf, Found)>,
    folders: Vec<PathBuf>,
    /// A `.git` that is no folder.
    git: Option<PathBuf>,
}

/// What git runs or obeys in the folder of a repository, whatever that folder is called.
const OF_GIT: [&str; 5] = ["hooks", "config", "config.worktree", "commondir", "info/attributes"];

impl Protected {
    /// The rules of all layers.
    ///
    /// # Errors
    /// Fails if a rule cannot be read.
    pub fn new(config: &Config) -> Result<Self, WallsError> {
        let layers = || std::iter::once(&config.main).chain(&config.floors);
        let read = layers().flat_map(|layer: &Settings| &layer.sandbox.never_read);
        let write = layers().flat_map(|layer: &Settings| &layer.sandbox.never_write);
        let never = Never::new(read, write).map_err(|e| WallsError::Rule(e.to_string()))?;
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        if let Some(rule) = never.about_home().filter(|_| home.is_none()) {
            return Err(WallsError::Rule(format!(
                "`{rule}` cannot be applied: the home folder is not known"
            )));
        }
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        Ok(Self { never, folder: real(config.folder.clone()), home: home.map(real), known: Mutex::default() })
    }

    /// Whether a place is protected, by any name that a rule may know it by.
    fn denies(&self, path: &Path, kind: FileType, roots: &[PathBuf]) -> Option<(Denial, String)> {
        let write = |names: Names<'_>| {
            if kind.is_dir() { self.never.write_folder(names) } else { self.never.write(names) }
        };
        let in_home = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        let mut strictest = None;
        for root in roots {
            let Ok(in_root) = path.strip_prefix(root) else { continue };
            let above_root = root.file_name().map(Path::new).unwrap_or(Path::new("")).join(in_root);
            let whole = path.strip_prefix(&self.folder).unwrap_or(&above_root);
            let names = Names { whole, in_root, in_home };
            if let Some(why) = self.never.read(names) {
                return Some((Denial::All, why));
            }
            strictest = strictest.or_else(|| write(names).map(|why| (Denial::Write, why)));
        }
        strictest
    }

    /// All protected names that there are in the roots now.
    ///
    /// # Errors
    /// Fails if a folder cannot be searched that a process might be able to.
    pub fn search(&self, roots: &[PathBuf]) -> Result<BTreeMap<PathBuf, Found>, WallsError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = BTreeMap::new();
        let outermost =
            roots.iter().filter(|root| !roots.iter().any(|other| other != *root && root.starts_with(other)));
        let mut waiting: Vec<PathBuf> = outermost.cloned().collect();
        while let Some(path) = waiting.pop() {
            let failed = |cause| WallsError::Search { path: path.clone(), cause };
            let folder = match self.folder(&path, roots, &mut known) {
                Ok(folder) => folder,
                // Gone since it was listed, or closed to us and so to what we start.
                Err(cause) if gone(&cause) || cause.kind() == io::ErrorKind::PermissionDenied => continue,
                Err(cause) => return Err(failed(cause)),
            };
            found.extend(folder.found);
            waiting.extend(folder.folders);
            for (path, of_git) in folder.git.iter().flat_map(|git| in_repository(git)) {
                if roots.iter().any(|root| path.starts_with(root)) {
                    found.entry(path).or_insert(of_git);
                }
            }
        }
        Ok(found)
    }

    fn folder(
        &self,
        path: &Path,
        roots: &[PathBuf],
        known: &mut HashMap<PathBuf, Folder>,
    ) -> io::Result<Folder> {
        let stat = fs::symlink_metadata(path)?;
        if !stat.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let changed = (stat.ctime(), stat.ctime_nsec(), stat.ino());
        if let Some(folder) = known.get(path).filter(|folder| folder.changed == changed) {
            return Ok(folder.clone());
        }
        let mut folder = Folder { changed, found: Vec::new(), folders: Vec::new(), git: None };
        for entry in fs::read_dir(path)? {
            let (entry, path) = match entry {
                Ok(entry) => (entry.file_type().map(|kind| (kind, entry.ino())), entry.path()),
                Err(cause) => return Err(cause),
            };
            let (kind, inode): (FileType, u64) = match entry {
                Ok(entry) => entry,
                Err(cause) if gone(&cause) => continue,
                Err(cause) => return Err(cause),
            };
            let denied = self.denies(&path, kind, roots);
            let all = matches!(denied, Some((Denial::All, _)));
            if let Some((what, why)) = denied {
                folder
                    .found
                    .push((path.clone(), Found { what, why, inode, is_link: kind.is_symlink(), by: None }));
            }
            match kind.is_dir() {
                true if !all => folder.folders.push(path),
                false if path.file_name().is_some_and(|name| name == ".git") => folder.git = Some(path),
                true | false => {}
            }
        }
        let settled = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|now| {
            now.as_secs().saturating_sub(u64::try_from(changed.0).unwrap_or(u64::MAX)) > SETTLED.as_secs()
        });
        if settled {
            known.insert(path.to_owned(), folder.clone());
        }
        Ok(folder)
    }
}

/// What is protected in the repository that a `.git` leads to.
fn in_repository(git: &Path) -> Vec<(PathBuf, Found)> {
    let is_link = fs::symlink_metadata(git).is_ok_and(|found| found.is_symlink());
    let text = || fs::read(git).ok().filter(|bytes| bytes.len() < LARGEST);
    let written = || {
        let text = String::from_utf8(text()?).ok()?;
        Some(git.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
    };
    let to = if is_link { Some(git.to_owned()) } else { written() };
    let Some(to) = to.and_then(|to| to.canonicalize().ok()) else { return Vec::new() };
    let found = OF_GIT.iter().filter_map(|name| {
        let path = to.join(name);
        let stat = fs::symlink_metadata(&path).ok()?;
        let why = format!("`{}` makes it git's", git.display());
        let by = Some(git.to_owned());
        Some((path, Found { what: Denial::Write, why, inode: stat.ino(), is_link: stat.is_symlink(), by }))
    });
    found.collect()
}

fn gone(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
