//! Finds the protected names in the roots, by the rules of the file tools.
//!
//! The content of a folder is cached and read again only if the folder has changed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use askfirst_config::{Config, Settings};
use askfirst_files::never::{NeverRules, is_aside};
use askfirst_sandbox::Denial;
use askfirst_shell::Names;
use rustix::fs::{Access, AtFlags, Dir, FileType, OFlags};

use super::entry::{EntryKind, ProtectedEntry, Stamp};
use super::error::SandboxError;
use super::folder_cache::{CachedFolders, FolderStamp};
use super::git::{
    GitPointer, LinkScope, PointerSearch, RepositorySigns, global_settings, is_covered_by_rules,
};
use super::hard_links::linked_below;
use super::reading::folder_at;

/// The maximum depth of nested folders that is searched.
const MAX_DEPTH: usize = 512;

/// The rules about protected names, with a cache of the folders that were read.
pub struct ProtectedNames {
    never: NeverRules,
    folder: PathBuf,
    home: Option<PathBuf>,
    /// Git settings that apply to every repository.
    pub(super) settings: Vec<PathBuf>,
    known: Mutex<HashMap<PathBuf, Arc<FolderListing>>>,
    /// Whether a folder was read since the cache of earlier processes was read or written.
    changed: AtomicBool,
    /// The outermost roots of the last search.
    searched: Mutex<Vec<PathBuf>>,
    /// The entries that this session quarantined, by new name, with their inode numbers.
    moved: Mutex<HashMap<PathBuf, (u64, QuarantineContent)>>,
}

/// Whether the content of a quarantined entry is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuarantineContent {
    Searched,
    /// It is nested too deeply.
    Unknown,
}

/// The protected names and git pointers at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The protected entries.
    pub found: BTreeMap<PathBuf, ProtectedEntry>,
    /// The git pointers, inside and outside the roots.
    pub git_pointers: BTreeMap<PathBuf, GitPointer>,
    /// The protected files that have other hard links.
    pub linked: Vec<PathBuf>,
    /// The files and folders that git's settings name and that do not exist yet.
    pub missing: Vec<PathBuf>,
}

/// The result of a search.
#[derive(Debug)]
pub struct SearchResult {
    /// The entries that were found.
    pub known: Snapshot,
    /// Folders that could not be searched, with the error.
    pub failed: Vec<(PathBuf, io::Error)>,
    /// Possible git pointers that could not be read, with the error.
    pub unreadable: Vec<(PathBuf, io::Error)>,
}

/// The cached content of one folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FolderListing {
    pub(super) stamp: FolderStamp,
    /// The protected entries, and whether each is a regular file. The facts about a file are read again each time.
    pub(super) found: Vec<(PathBuf, ProtectedEntry, bool)>,
    pub(super) folders: Vec<PathBuf>,
    /// Folders that programs cannot open, with their inode numbers.
    pub(super) hidden: Vec<(PathBuf, u64)>,
    /// A `.git` that is not a folder.
    pub(super) git: Option<PathBuf>,
    /// Whether git treats the folder as a repository although it is not named `.git`.
    pub(super) repository: bool,
}

impl ProtectedNames {
    /// Combines the rules of all layers.
    ///
    /// # Errors
    ///
    /// Fails if a rule is invalid.
    pub fn new(config: &Config) -> Result<Self, SandboxError> {
        let layers = || std::iter::once(&config.main).chain(&config.floors);
        let read = layers().flat_map(|layer: &Settings| &layer.sandbox.never_read);
        let write = layers().flat_map(|layer: &Settings| &layer.sandbox.never_write);
        let never = NeverRules::new(read, write).map_err(|e| SandboxError::Rule(e.to_string()))?;
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        if let Some(rule) = never.about_home().filter(|_| home.is_none()) {
            return Err(SandboxError::Rule(format!("cannot apply `{rule}`: the home folder is not known")));
        }
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let (known, moved) = (Mutex::default(), Mutex::default());
        let home = home.map(real);
        let settings = global_settings(home.as_deref());
        let folder = real(config.folder.clone());
        let (changed, searched) = (AtomicBool::new(false), Mutex::default());
        Ok(Self { never, folder, home, settings, known, changed, searched, moved })
    }

    /// Uses what earlier processes found in folders that have not changed since.
    #[must_use]
    pub fn with_cached(self, cached: &mut CachedFolders) -> Self {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut cached.listings);
        self
    }

    /// Whether a folder was read since the last call.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    /// Returns the listings of the folders in the roots of the last search.
    ///
    /// A folder with quarantined entries is left out, since other processes do not know who quarantined them.
    pub(super) fn listings(&self) -> Vec<(PathBuf, Arc<FolderListing>)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waiting = self.searched.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut all = Vec::with_capacity(known.len());
        while let Some(path) = waiting.pop() {
            let Some(listing) = known.get(&path) else { continue };
            waiting
                .extend(listing.folders.iter().chain(listing.hidden.iter().map(|(path, _)| path)).cloned());
            if !listing.found.iter().any(|(path, ..)| path.file_name().is_some_and(is_aside)) {
                all.push((path, Arc::clone(listing)));
            }
        }
        all
    }

    /// Returns the denial for a path, checking every form in which a rule may name it.
    fn denies(&self, path: &Path, kind: FileType, roots: &[PathBuf]) -> Option<(Denial, String, EntryKind)> {
        let in_home = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        let (mut strictest, mut link) = (None, None);
        for root in roots {
            let Ok(in_root) = path.strip_prefix(root) else { continue };
            let above_root = root.file_name().map(Path::new).unwrap_or(Path::new("")).join(in_root);
            let whole = path.strip_prefix(&self.folder).unwrap_or(&above_root);
            let names = Names { whole, in_root, in_home };
            if let Some(why) = self.never.read_by_rule(names) {
                return Some((Denial::All, why, EntryKind::Name));
            }
            strictest = strictest
                .or_else(|| self.denies_write(names, kind).map(|why| (Denial::Write, why, EntryKind::Name)));
            if kind == FileType::Symlink {
                link =
                    link.or_else(|| Some((Denial::Write, self.never.link_by_rule(names)?, EntryKind::Link)));
            }
        }
        strictest.or(link)
    }

    fn denies_write(&self, names: Names<'_>, kind: FileType) -> Option<String> {
        match kind == FileType::Directory {
            true => self.never.write_folder_by_rule(names),
            false => self.never.write_by_rule(names),
        }
    }

    /// Whether a relative path is protected wherever its base folder is.
    pub(super) fn denies_anywhere(&self, path: &Path, kind: FileType) -> bool {
        let names = Names { whole: path, in_root: path, in_home: None };
        let link = || self.never.link_by_rule(names).filter(|_| kind == FileType::Symlink);
        self.never.read_by_rule(names).or_else(|| self.denies_write(names, kind)).or_else(link).is_some()
    }

    /// Remembers a quarantined entry. Another entry with such a name is not mistaken for it.
    pub(super) fn remember(&self, path: PathBuf, inode: u64, inside: QuarantineContent) {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner).insert(path, (inode, inside));
    }

    /// Returns what is known about an entry that this session quarantined.
    fn remembered(&self, path: &Path, inode: u64) -> Option<QuarantineContent> {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.get(path).filter(|(number, _)| *number == inode).map(|(_, inside)| *inside)
    }

    /// Whether a folder that programs cannot open is searched anyway, since they could open it before.
    fn searches_hidden(&self, path: &Path, inode: u64, before: Option<&Snapshot>) -> bool {
        let was_closed = |old: &ProtectedEntry| old.inode == inode && old.denial == Denial::All;
        before.is_some_and(|before| !before.found.get(path).is_some_and(was_closed))
            && self.remembered(path, inode) != Some(QuarantineContent::Unknown)
    }

    /// Finds all protected names in the roots.
    ///
    /// # Errors
    ///
    /// Fails if a folder cannot be searched that a process might be able to search, or if a git file cannot be read.
    pub fn search(&self, roots: &[PathBuf]) -> Result<Snapshot, SandboxError> {
        let SearchResult { known, failed, unreadable } = self.search_all(roots, None, |_| false);
        let failed = failed.into_iter().map(|(path, cause)| SandboxError::Search { path, cause });
        let unreadable =
            unreadable.into_iter().map(|(path, cause)| SandboxError::GitSettings { path, cause });
        failed.chain(unreadable).next().map_or(Ok(known), Err)
    }

    /// Version of [`search`](Self::search) that continues after errors and returns them.
    ///
    /// It searches a closed folder if `open` opens it. It searches a folder that programs cannot open if they could open
    /// it at the time of `before`.
    pub fn search_all(
        &self,
        roots: &[PathBuf],
        before: Option<&Snapshot>,
        mut open: impl FnMut(&Path) -> bool,
    ) -> SearchResult {
        let mut failed = Vec::new();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = BTreeMap::new();
        let mut pointers =
            PointerSearch::new(roots, self.home.as_deref(), before.map(|before| &before.git_pointers));
        pointers.follow_outside(&self.settings);
        let outermost =
            roots.iter().filter(|root| !roots.iter().any(|other| other != *root && root.starts_with(other)));
        let mut waiting: Vec<PathBuf> = outermost.cloned().collect();
        self.searched.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&waiting);
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
                // It was removed or replaced since it was listed.
                Err(cause) if is_gone(&cause) => continue,
                Err(cause) if is_link(&cause) && !roots.contains(&path) => continue,
                Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
                    let why = "askfirst cannot search it for protected names".to_owned();
                    found.extend(
                        ProtectedEntry::at(&path, Denial::All, why, EntryKind::Closed)
                            .map(|found| (path.clone(), found)),
                    );
                    continue;
                }
                Err(cause) => {
                    failed.push((path, cause));
                    continue;
                }
            };
            for (path, protected, is_file) in folder.found.iter().cloned() {
                // A covered file with one name still has one name.
                let same = |old: &&ProtectedEntry| old.inode == protected.inode && !old.is_linked();
                let old = before.and_then(|before| before.found.get(&path)).filter(same);
                let file = match old {
                    Some(old) => old.file.clone(),
                    None => is_file.then(|| Stamp::at(&path)).flatten(),
                };
                found.insert(path, ProtectedEntry { file, ..protected });
            }
            waiting.extend(folder.folders.iter().cloned());
            let hidden =
                folder.hidden.iter().filter(|(path, inode)| self.searches_hidden(path, *inode, before));
            waiting.extend(hidden.map(|(path, _)| path.clone()));
            follow_pointers(&path, &folder, &mut found, &mut pointers);
        }
        follow_links(&found, &mut pointers);
        for (path, of_git) in std::mem::take(&mut pointers.targets) {
            // A root is never made read-only as a whole.
            if roots.iter().any(|root| path.starts_with(root)) && !roots.contains(&path) {
                add_target(&mut found, path, of_git);
            }
        }
        let linked = if before.is_none() { linked_files(&found) } else { Vec::new() };
        SearchResult {
            known: Snapshot { found, git_pointers: pointers.all, linked, missing: pointers.missing },
            failed,
            unreadable: pointers.unreadable,
        }
    }

    /// Returns the content of a folder, from the cache if it has not changed.
    fn folder(
        &self,
        path: &Path,
        roots: &[PathBuf],
        known: &mut HashMap<PathBuf, Arc<FolderListing>>,
    ) -> io::Result<Arc<FolderListing>> {
        let stat = fs::symlink_metadata(path)?;
        if !stat.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let stamp = FolderStamp::of(&stat);
        if let Some(folder) = known.get(path).filter(|folder| folder.stamp == stamp) {
            return Ok(Arc::clone(folder));
        }
        self.read_folder(path, roots, known)
    }

    /// Reads a folder through one handle, so that the result is consistent even if the folder is replaced meanwhile.
    fn read_folder(
        &self,
        path: &Path,
        roots: &[PathBuf],
        known: &mut HashMap<PathBuf, Arc<FolderListing>>,
    ) -> io::Result<Arc<FolderListing>> {
        let mut handle = Dir::new(folder_at(path, OFlags::RDONLY)?)?;
        // Without search permission, the names can be read but nothing about the files.
        rustix::fs::accessat(handle.fd()?, ".", Access::EXEC_OK, AtFlags::empty())?;
        let stamp = FolderStamp::of_handle(&handle.stat()?);
        let mut folder = FolderListing {
            stamp,
            found: Vec::new(),
            folders: Vec::new(),
            hidden: Vec::new(),
            git: None,
            repository: false,
        };
        let mut signs = RepositorySigns::default();
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
                        Err(cause) if is_gone(&cause.into()) => continue,
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
                    let named = by_rule.map(|(_, why, _)| (Denial::All, why, EntryKind::Name));
                    named.or_else(|| {
                        Some((Denial::All, "it was quarantined earlier".to_owned(), EntryKind::Quarantined))
                    })
                }
            };
            let all = matches!(denied, Some((Denial::All, ..)));
            if let Some((denial, reason, entry_kind)) = denied {
                let link_target = (kind == FileType::Symlink).then(|| {
                    let to =
                        handle.fd().and_then(|at| rustix::fs::readlinkat(at, entry.file_name(), Vec::new()));
                    to.map(|to| OsString::from_vec(to.into_bytes()).into()).unwrap_or_default()
                });
                let found = ProtectedEntry {
                    denial,
                    reason,
                    inode,
                    link_target,
                    kind: entry_kind,
                    pointers: Vec::new(),
                    file: None,
                };
                folder.found.push((path.clone(), found, kind == FileType::RegularFile));
            } else if kind == FileType::Fifo {
                let reason = "it is a named pipe".to_owned();
                let (denial, entry_kind) = (Denial::All, EntryKind::Pipe);
                let found = ProtectedEntry {
                    denial,
                    reason,
                    inode,
                    link_target: None,
                    kind: entry_kind,
                    pointers: Vec::new(),
                    file: None,
                };
                folder.found.push((path.clone(), found, false));
            }
            signs.add(&path, kind);
            match kind == FileType::Directory {
                true if all => folder.hidden.push((path, inode)),
                true => folder.folders.push(path),
                false if path.file_name().is_some_and(|name| name == ".git") => folder.git = Some(path),
                false => {}
            }
        }
        folder.repository = signs.make_repository() && !is_covered_by_rules(path, roots, &signs);
        let folder = Arc::new(folder);
        if stamp.is_settled() {
            known.insert(path.to_owned(), Arc::clone(&folder));
            self.changed.store(true, Ordering::Relaxed);
        }
        Ok(folder)
    }
}

/// Returns the protected files with other hard links. Files in a target folder of a git pointer are not listed one by one,
/// so those folders are searched here.
fn linked_files(found: &BTreeMap<PathBuf, ProtectedEntry>) -> Vec<PathBuf> {
    let files = found.iter().filter(|(_, found)| found.is_linked()).map(|(path, _)| path.clone());
    let folders =
        found.iter().filter(|(_, it)| !it.pointers.is_empty() && it.file.is_none() && !it.is_link());
    files.chain(folders.flat_map(|(path, _)| linked_below(path))).collect()
}

/// Follows the git pointers of a folder.
fn follow_pointers(
    path: &Path,
    folder: &FolderListing,
    found: &mut BTreeMap<PathBuf, ProtectedEntry>,
    pointers: &mut PointerSearch<'_>,
) {
    if folder.repository {
        let head = path.join("HEAD");
        let why = "git treats the folder as a repository".to_owned();
        if let Some(mark) = ProtectedEntry::at(&head, Denial::Write, why.clone(), EntryKind::Repository) {
            // This entry replaces any other for the same file.
            found.insert(head.clone(), mark);
            pointers.follow_repository(path, &head, path, &why);
        }
    } else if path.file_name().is_some_and(|name| name == ".git") {
        pointers.follow_git_folder(path);
    }
    if let Some(git) = &folder.git {
        pointers.follow_git_file(git);
    }
}

/// Follows protected links by one step: links that a rule protects, and links that are targets of git pointers. HardLinks
/// inside a protected folder are followed only to files.
fn follow_links(found: &BTreeMap<PathBuf, ProtectedEntry>, pointers: &mut PointerSearch<'_>) {
    let by_name = found.iter().filter(|(_, it)| it.is_link() && it.kind == EntryKind::Name);
    let inside = |path: &Path| path.parent().is_some_and(|above| found.contains_key(above));
    let to = |path: &Path| if inside(path) { LinkScope::FilesOnly } else { LinkScope::Anything };
    let mut links: Vec<_> = by_name.map(|(path, it)| (path.clone(), it.denial, to(path))).collect();
    for (path, it) in &pointers.targets {
        if it.is_link() {
            links.push((path.clone(), it.denial, LinkScope::Anything));
        } else if it.file.is_none() && !found.contains_key(path) {
            links.extend(links_in(path).map(|link| (link, it.denial, LinkScope::FilesOnly)));
        }
    }
    for (link, what, to) in links {
        pointers.follow_link(&link, what, to);
    }
}

/// Returns the links in a folder.
fn links_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink())).map(|entry| entry.path())
}

/// Adds the target of a git pointer. If it was found before, adds the pointer to it, unless a rule protects it anyway.
fn add_target(found: &mut BTreeMap<PathBuf, ProtectedEntry>, path: PathBuf, new: ProtectedEntry) {
    match found.entry(path) {
        Entry::Vacant(place) => drop(place.insert(new)),
        Entry::Occupied(mut old) => {
            let old = old.get_mut();
            old.denial = old.denial.max(new.denial);
            if old.kind == EntryKind::Name && !old.pointers.is_empty() {
                old.pointers.extend(new.pointers);
            }
        }
    }
}

/// Whether a folder is nested too deeply to be searched in reasonable time.
fn is_too_deep(path: &Path, roots: &[PathBuf]) -> bool {
    // Each level takes at least two bytes of the path.
    path.as_os_str().len() > 2 * MAX_DEPTH
        && roots
            .iter()
            .filter_map(|root| path.strip_prefix(root).ok())
            .all(|it| it.iter().count() > MAX_DEPTH)
}

fn is_link(cause: &io::Error) -> bool {
    cause.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

fn is_gone(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
