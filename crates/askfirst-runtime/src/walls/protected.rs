//! Which names in the roots are protected: the rules of the file tools, looked up in what is there. A folder that has
//! not changed since it was read is not read again.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use askfirst_sandbox::Denial;
use rustix::fs::{Access, AtFlags, Dir, FileType, OFlags};

use super::error::WallsError;
use super::found::{Found, Sort, Stamp};
use super::git::{Marks, To, Way, Ways, is_known_to_rules, settings_of_all};
use super::links::linked_below;
use super::reading::folder_at;
use askfirst_config::{Config, Settings};
use askfirst_files::never::{Names, Never, is_aside};

/// A folder that changed this short a time before it was read may have changed again at the same tick.
const SETTLED: Duration = Duration::from_secs(2);

/// So many folders in each other are searched.
const DEEPEST: usize = 512;

/// The rules about names, and what was found by them.
pub struct Protected {
    never: Never,
    folder: PathBuf,
    home: Option<PathBuf>,
    /// Settings of git's that hold for every repository.
    pub(super) settings: Vec<PathBuf>,
    known: Mutex<HashMap<PathBuf, Folder>>,
    /// What was moved aside in this session, by its new name and its number.
    moved: Mutex<HashMap<PathBuf, (u64, Inside)>>,
}

/// Whether anybody knows what is in something that was moved aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    Searched,
    /// It is too deep.
    Unknown,
}

/// What there is at one time.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// What is protected.
    pub found: BTreeMap<PathBuf, Found>,
    /// What leads git somewhere, in the roots or not.
    pub ways: BTreeMap<PathBuf, Way>,
    /// The files with other names, in what is protected.
    pub linked: Vec<PathBuf>,
}

/// What a search gave.
#[derive(Debug)]
pub struct Searched {
    /// What there is.
    pub known: Known,
    /// Folders that could not be searched, and why.
    pub failed: Vec<(PathBuf, io::Error)>,
    /// What might lead git somewhere and could not be read, and why.
    pub unreadable: Vec<(PathBuf, io::Error)>,
}

#[derive(Clone)]
struct Folder {
    changed: (i64, i64, u64),
    /// What is protected, and whether it is a file: what else is known of a file is asked each time.
    found: Vec<(PathBuf, Found, bool)>,
    folders: Vec<PathBuf>,
    /// Folders that are closed to programs, by their number.
    hidden: Vec<(PathBuf, u64)>,
    /// A `.git` that is no folder.
    git: Option<PathBuf>,
    /// Whether git takes it for a repository although it is not called `.git`.
    repository: bool,
}

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
        let (known, moved) = (Mutex::default(), Mutex::default());
        let home = home.map(real);
        let settings = settings_of_all(home.as_deref());
        let folder = real(config.folder.clone());
        Ok(Self { never, folder, home, settings, known, moved })
    }

    /// Whether a place is protected, by any name that a rule may know it by.
    fn denies(&self, path: &Path, kind: FileType, roots: &[PathBuf]) -> Option<(Denial, String, Sort)> {
        let in_home = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        let (mut strictest, mut link) = (None, None);
        for root in roots {
            let Ok(in_root) = path.strip_prefix(root) else { continue };
            let above_root = root.file_name().map(Path::new).unwrap_or(Path::new("")).join(in_root);
            let whole = path.strip_prefix(&self.folder).unwrap_or(&above_root);
            let names = Names { whole, in_root, in_home };
            if let Some(why) = self.never.read_by_rule(names) {
                return Some((Denial::All, why, Sort::Name));
            }
            strictest =
                strictest.or_else(|| self.write(names, kind).map(|why| (Denial::Write, why, Sort::Name)));
            if kind == FileType::Symlink {
                link = link.or_else(|| Some((Denial::Write, self.never.link_by_rule(names)?, Sort::Link)));
            }
        }
        strictest.or(link)
    }

    fn write(&self, names: Names<'_>, kind: FileType) -> Option<String> {
        match kind == FileType::Directory {
            true => self.never.write_folder_by_rule(names),
            false => self.never.write_by_rule(names),
        }
    }

    /// Whether something is protected wherever the folder is that this path leads from.
    pub(super) fn denies_anywhere(&self, path: &Path, kind: FileType) -> bool {
        let names = Names { whole: path, in_root: path, in_home: None };
        let link = || self.never.link_by_rule(names).filter(|_| kind == FileType::Symlink);
        self.never.read_by_rule(names).or_else(|| self.write(names, kind)).or_else(link).is_some()
    }

    /// Remembers what was moved aside: nothing else of such a name is taken for it.
    pub(super) fn remember(&self, path: PathBuf, inode: u64, inside: Inside) {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner).insert(path, (inode, inside));
    }

    /// What is known of something that was moved aside in this session.
    fn remembered(&self, path: &Path, inode: u64) -> Option<Inside> {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.get(path).filter(|(number, _)| *number == inode).map(|(_, inside)| *inside)
    }

    /// Whether a folder that is closed to programs is searched all the same: it was not closed before.
    fn looks_into(&self, path: &Path, inode: u64, before: Option<&Known>) -> bool {
        let was_closed = |old: &Found| old.inode == inode && old.what == Denial::All;
        before.is_some_and(|before| !before.found.get(path).is_some_and(was_closed))
            && self.remembered(path, inode) != Some(Inside::Unknown)
    }

    /// All protected names that there are in the roots now.
    ///
    /// # Errors
    /// Fails if a folder cannot be searched that a process might be able to, or if nobody knows where settings lead.
    pub fn search(&self, roots: &[PathBuf]) -> Result<Known, WallsError> {
        let Searched { known, failed, unreadable } = self.search_all(roots, None, |_| false);
        let failed = failed.into_iter().map(|(path, cause)| WallsError::Search { path, cause });
        let unreadable = unreadable.into_iter().map(|(path, cause)| WallsError::Settings { path, cause });
        failed.chain(unreadable).next().map_or(Ok(known), Err)
    }

    /// The same as far as it can be searched, with what cannot. Folders that are closed are searched if `open` opens them,
    /// and what is closed to programs if it was not so before.
    pub fn search_all(
        &self,
        roots: &[PathBuf],
        before: Option<&Known>,
        mut open: impl FnMut(&Path) -> bool,
    ) -> Searched {
        let mut failed = Vec::new();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = BTreeMap::new();
        let mut ways = Ways::new(roots, self.home.as_deref(), before.map(|before| &before.ways));
        ways.outside(&self.settings);
        let outermost =
            roots.iter().filter(|root| !roots.iter().any(|other| other != *root && root.starts_with(other)));
        let mut waiting: Vec<PathBuf> = outermost.cloned().collect();
        while let Some(path) = waiting.pop() {
            let searched = match self.folder(&path, roots, &mut known) {
                Ok(_) if is_too_deep(&path, roots) => Err(rustix::io::Errno::NAMETOOLONG.into()),
                Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied && open(&path) => {
                    self.folder(&path, roots, &mut known)
                }
                searched => searched,
            };
            let folder = match searched {
                Ok(folder) => folder,
                // Gone since it was listed, or another thing is in its place.
                Err(cause) if gone(&cause) => continue,
                Err(cause) if is_link(&cause) && !roots.contains(&path) => continue,
                Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
                    let why = "it cannot be searched for protected names".to_owned();
                    found.extend(
                        Found::at(&path, Denial::All, why, Sort::Closed).map(|found| (path.clone(), found)),
                    );
                    continue;
                }
                Err(cause) => {
                    failed.push((path, cause));
                    continue;
                }
            };
            for (path, protected, is_file) in folder.found.iter().cloned() {
                // What had one name and was covered has one still.
                let same = |old: &&Found| old.inode == protected.inode && !old.is_linked();
                let old = before.and_then(|before| before.found.get(&path)).filter(same);
                let file = match old {
                    Some(old) => old.file.clone(),
                    None => is_file.then(|| Stamp::at(&path)).flatten(),
                };
                found.insert(path, Found { file, ..protected });
            }
            waiting.extend(folder.folders.iter().cloned());
            let hidden = folder.hidden.iter().filter(|(path, inode)| self.looks_into(path, *inode, before));
            waiting.extend(hidden.map(|(path, _)| path.clone()));
            follow(&path, &folder, &mut found, &mut ways);
        }
        by_links(&found, &mut ways);
        for (path, of_git) in std::mem::take(&mut ways.led) {
            // A root is not made read only as a whole.
            if roots.iter().any(|root| path.starts_with(root)) && !roots.contains(&path) {
                add(&mut found, path, of_git);
            }
        }
        let linked = if before.is_none() { linked(&found) } else { Vec::new() };
        Searched { known: Known { found, ways: ways.all, linked }, failed, unreadable: ways.unreadable }
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
        self.read(path, roots, known)
    }

    /// Reads a folder by one handle: what is noted of it is what is in it, also if another is put in its place meanwhile.
    fn read(
        &self,
        path: &Path,
        roots: &[PathBuf],
        known: &mut HashMap<PathBuf, Folder>,
    ) -> io::Result<Folder> {
        let mut handle = Dir::new(folder_at(path, OFlags::RDONLY)?)?;
        // Names in it are known now, but nothing can be said of them if it is closed to searching.
        rustix::fs::accessat(handle.fd()?, ".", Access::EXEC_OK, AtFlags::empty())?;
        let stat = handle.stat()?;
        let changed = (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or_default(), stat.st_ino);
        let mut folder = Folder {
            changed,
            found: Vec::new(),
            folders: Vec::new(),
            hidden: Vec::new(),
            git: None,
            repository: false,
        };
        let mut marks = Marks::default();
        while let Some(entry) = handle.read() {
            let entry = entry?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            let (path, inode) = (path.join(OsStr::from_bytes(entry.file_name().to_bytes())), entry.ino());
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    match rustix::fs::statat(handle.fd()?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                        Err(cause) if gone(&cause.into()) => continue,
                        Err(cause) => return Err(cause.into()),
                    }
                }
                kind => kind,
            };
            let denied = match path.file_name().is_some_and(is_aside) {
                false => self.denies(&path, kind, roots),
                true => {
                    let by_rule = self.denies(&path, kind, roots);
                    let by_rule = by_rule.filter(|_| self.remembered(&path, inode).is_none());
                    let named = by_rule.map(|(_, why, _)| (Denial::All, why, Sort::Name));
                    named.or_else(|| Some((Denial::All, "it was moved aside".to_owned(), Sort::Aside)))
                }
            };
            let all = matches!(denied, Some((Denial::All, ..)));
            if let Some((what, why, sort)) = denied {
                let leads = (kind == FileType::Symlink).then(|| {
                    let to =
                        handle.fd().and_then(|at| rustix::fs::readlinkat(at, entry.file_name(), Vec::new()));
                    to.map(|to| OsString::from_vec(to.into_bytes()).into()).unwrap_or_default()
                });
                let found = Found { what, why, inode, leads, sort, by: Vec::new(), file: None };
                folder.found.push((path.clone(), found, kind == FileType::RegularFile));
            } else if kind == FileType::Fifo {
                let why = "it is a named pipe".to_owned();
                let (what, sort) = (Denial::All, Sort::Pipe);
                let found = Found { what, why, inode, leads: None, sort, by: Vec::new(), file: None };
                folder.found.push((path.clone(), found, false));
            }
            marks.see(&path, kind);
            match kind == FileType::Directory {
                true if all => folder.hidden.push((path, inode)),
                true => folder.folders.push(path),
                false if path.file_name().is_some_and(|name| name == ".git") => folder.git = Some(path),
                false => {}
            }
        }
        folder.repository = marks.are_there() && !is_known_to_rules(path, roots, &marks);
        let settled = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|now| {
            now.as_secs().saturating_sub(u64::try_from(changed.0).unwrap_or(u64::MAX)) > SETTLED.as_secs()
        });
        if settled {
            known.insert(path.to_owned(), folder.clone());
        }
        Ok(folder)
    }
}

/// The files with other names. What lies in a folder that git is led to is not found one by one.
fn linked(found: &BTreeMap<PathBuf, Found>) -> Vec<PathBuf> {
    let files = found.iter().filter(|(_, found)| found.is_linked()).map(|(path, _)| path.clone());
    let folders = found.iter().filter(|(_, it)| !it.by.is_empty() && it.file.is_none() && !it.is_link());
    files.chain(folders.flat_map(|(path, _)| linked_below(path))).collect()
}

/// Follows whatever leads git somewhere from a folder.
fn follow(path: &Path, folder: &Folder, found: &mut BTreeMap<PathBuf, Found>, ways: &mut Ways<'_>) {
    if folder.repository {
        let head = path.join("HEAD");
        let why = "git takes the folder for a repository".to_owned();
        if let Some(mark) = Found::at(&head, Denial::Write, why.clone(), Sort::Repository) {
            // As what it is to git, whatever else it is.
            found.insert(head.clone(), mark);
            ways.in_repository(path, &head, path, &why);
        }
    } else if path.file_name().is_some_and(|name| name == ".git") {
        ways.in_git(path);
    }
    if let Some(git) = &folder.git {
        ways.by_git(git);
    }
}

/// Follows links that are protected, one step: by name, or as what git is led to. Those in a folder that is protected as a
/// whole lead to files only.
fn by_links(found: &BTreeMap<PathBuf, Found>, ways: &mut Ways<'_>) {
    let by_name = found.iter().filter(|(_, it)| it.is_link() && it.sort == Sort::Name);
    let inside = |path: &Path| path.parent().is_some_and(|above| found.contains_key(above));
    let to = |path: &Path| if inside(path) { To::Files } else { To::Anything };
    let mut links: Vec<_> = by_name.map(|(path, it)| (path.clone(), it.what, to(path))).collect();
    for (path, it) in &ways.led {
        if it.is_link() {
            links.push((path.clone(), it.what, To::Anything));
        } else if it.file.is_none() && !found.contains_key(path) {
            links.extend(links_in(path).map(|link| (link, it.what, To::Files)));
        }
    }
    for (link, what, to) in links {
        ways.by_link(&link, what, to);
    }
}

/// The links in a folder.
fn links_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())).map(|entry| entry.path())
}

/// Adds what git is led to, by one way more if it was found before. What a rule protects needs none.
fn add(found: &mut BTreeMap<PathBuf, Found>, path: PathBuf, new: Found) {
    match found.entry(path) {
        Entry::Vacant(place) => drop(place.insert(new)),
        Entry::Occupied(mut old) => {
            let old = old.get_mut();
            old.what = old.what.max(new.what);
            if old.sort == Sort::Name && !old.by.is_empty() {
                old.by.extend(new.by);
            }
        }
    }
}

/// Whether a folder lies deeper than anybody builds: to look at each level would take ever longer.
fn is_too_deep(path: &Path, roots: &[PathBuf]) -> bool {
    // Each level takes two bytes of a path at the least.
    path.as_os_str().len() > 2 * DEEPEST
        && roots.iter().filter_map(|root| path.strip_prefix(root).ok()).all(|it| it.iter().count() > DEEPEST)
}

fn is_link(cause: &io::Error) -> bool {
    cause.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

fn gone(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
