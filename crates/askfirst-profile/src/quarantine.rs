//! Quarantines protected names that a command created: gives each a name without effect, before the command's result is
//! returned. Names that `git init` creates on its own stay.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use askfirst_display::escape::visible_line;
use askfirst_files::never::ASIDE;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};

use super::entry::{EntryKind, ProtectedEntry};
use super::error::{SandboxError, show};
use super::git::GitPointer;
use super::harmless::HarmlessCheck;
use super::protected::{ProtectedNames, QuarantineContent, SearchResult, Snapshot};
use super::reading::folder_at;

/// The maximum number of rounds. Each round searches for more.
const MAX_ROUNDS: usize = 5;

/// The maximum number of quarantined entries that are reported one by one.
const MAX_REPORTED: usize = 32;

/// The number of bytes of the old name that the new name keeps.
const KEPT_BYTES: usize = 200;

/// The maximum number of new names that are tried.
const MAX_NAMES: usize = 16;

/// The maximum length of a path that still leaves space for the new name.
const MAX_PATH: usize = 4096 - 256;

/// The maximum path length and depth of a folder that is quarantined because its content is nested too deeply. Files that
/// a person created are above that depth.
const MAX_FOLDER_PATH: usize = 2048;
const MAX_FOLDER_DEPTH: usize = 128;

/// The result of a quarantine.
#[derive(Debug, Default)]
pub struct QuarantineReport {
    /// The quarantined entries, one sentence each.
    pub lines: Vec<String>,
    /// The number of quarantined entries beyond those in `lines`.
    pub more: usize,
    /// The entries that could not be renamed, and the folders that could not be searched.
    pub failed: Vec<SandboxError>,
    /// Whether an entry was skipped because only new git pointers refer to it.
    skipped: bool,
}

/// The state before a command, and the paths that the command could write.
#[derive(Debug, Clone, Copy)]
pub struct QuarantineScope<'a> {
    /// The protected names and git pointers before the command.
    pub before: &'a Snapshot,
    /// All roots.
    pub roots: &'a [PathBuf],
    /// The points that the command could write.
    pub writable: &'a [PathBuf],
    /// The points that it could not write. Some are inside writable ones.
    pub read_only: &'a [PathBuf],
}

impl QuarantineScope<'_> {
    /// Whether the command could write at the innermost point around a path.
    pub fn is_open(&self, path: &Path) -> bool {
        let innermost = |places: &[PathBuf]| {
            let around = places.iter().filter(|place| path.starts_with(place));
            around.map(|place| place.components().count()).max()
        };
        innermost(self.writable) > innermost(self.read_only)
    }

    /// Whether a new entry is in a folder that was covered during the whole command, so that the command did not create it.
    fn was_covered(&self, path: &Path) -> bool {
        let covered = |above: &Path| {
            let old = self.before.found.get(above).filter(|old| !old.is_link());
            let old = old.filter(|old| {
                matches!(old.kind, EntryKind::Name | EntryKind::Quarantined | EntryKind::Closed)
            });
            old.is_some_and(|old| above.symlink_metadata().is_ok_and(|now| now.ino() == old.inode))
        };
        !self.before.found.contains_key(path) && path.ancestors().skip(1).any(covered)
    }
}

/// Which git pointers count when an entry is protected only because of a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointerFilter {
    /// Pointers that existed before. New ones may still be quarantined.
    Existing,
    /// Also new pointers that will stay.
    Remaining,
}

/// Quarantines the protected names that appeared in writable roots.
///
/// Searches again until nothing more is found: quarantined entries have new paths then, and the remaining new git pointers
/// will stay.
pub fn quarantine(
    protected: &ProtectedNames,
    scope: QuarantineScope<'_>,
    mut open: impl FnMut(&Path) -> bool,
) -> QuarantineReport {
    let mut all = QuarantineReport::default();
    let mut filter = PointerFilter::Existing;
    for _ in 0..MAX_ROUNDS {
        let after = protected.search_all(scope.roots, Some(scope.before), &mut open);
        let report = quarantine_round(protected, scope, after, filter);
        let again = report.count() > 0 || report.skipped && filter == PointerFilter::Existing;
        all.add(report);
        if !again {
            return all;
        }
        filter = PointerFilter::Remaining;
    }
    all.failed.extend(scope.writable.first().map(|root| SandboxError::KeepsAppearing { path: root.clone() }));
    all
}

/// Handles the result of one search.
pub(super) fn quarantine_round(
    protected: &ProtectedNames,
    scope: QuarantineScope<'_>,
    after: SearchResult,
    filter: PointerFilter,
) -> QuarantineReport {
    let QuarantineScope { before, roots, writable, read_only: _ } = scope;
    let SearchResult { known: Snapshot { found: now, git_pointers: pointers, .. }, failed, unreadable } =
        after;
    let can_write = |path: &Path| scope.is_open(path);
    let is_old = |pointer: &PathBuf| {
        before.git_pointers.get(pointer).is_some_and(|old| old.is_unchanged(pointers.get(pointer)))
    };
    let before = &before.found;
    let may_stay =
        |pointer: &PathBuf| can_write(pointer) && pointers.get(pointer).is_none_or(GitPointer::may_stay);
    let leads =
        |pointer: &PathBuf| is_old(pointer) || filter == PointerFilter::Remaining && may_stay(pointer);
    let changed = |old: &ProtectedEntry, found: &ProtectedEntry| match found.kind {
        _ if old.kind != found.kind => true,
        EntryKind::Name | EntryKind::Link => found.is_other_than(old),
        // Git itself rewrites `HEAD`.
        EntryKind::Repository | EntryKind::Quarantined | EntryKind::Closed | EntryKind::Pipe => false,
    };
    // The command could not reach anything in a folder that was closed before.
    let was_closed = |path: &Path| {
        path.ancestors().any(|above| before.get(above).is_some_and(|found| found.kind == EntryKind::Closed))
    };
    let mut report = QuarantineReport::default();
    let mut moved = QuarantinedPaths::default();
    // A folder that is closed now, and was not before, hides its content from the search.
    let closed = now
        .iter()
        .filter(|(path, found)| found.kind == EntryKind::Closed && !was_closed(path) && can_write(path));
    for (path, _) in closed {
        let cause = io::ErrorKind::PermissionDenied.into();
        report.failed.push(SandboxError::Search { path: path.clone(), cause });
    }
    // Handle folders that cannot be searched first, since everything inside them moves with them.
    for (path, cause) in failed {
        report.quarantine_deep(protected, path, cause, writable, &mut moved);
    }
    let check = HarmlessCheck { roots, now: &now };
    let counts = |path: &Path, found: &ProtectedEntry| {
        matches!(found.kind, EntryKind::Name | EntryKind::Link | EntryKind::Repository)
            && can_write(path)
            && !was_closed(path)
    };
    for (path, found) in now.iter().filter(|(path, found)| counts(path, found)) {
        if before.get(path).is_some_and(|old| !changed(old, found)) {
            continue;
        }
        if !found.pointers.is_empty() && !found.pointers.iter().any(leads) {
            report.skipped = true;
            continue;
        }
        // The command did not create it. It belongs to the user, whichever pointer refers to it now.
        if !found.pointers.is_empty() && scope.was_covered(path) {
            continue;
        }
        let Some(at) = moved.current_path(path, found, protected) else { continue };
        let harmless = match found.kind {
            EntryKind::Repository => at.parent().is_some_and(|folder| check.is_harmless_repository(folder)),
            EntryKind::Name
            | EntryKind::Link
            | EntryKind::Quarantined
            | EntryKind::Closed
            | EntryKind::Pipe => check.is_harmless(&at, found),
        };
        if harmless {
            continue;
        }
        if at.as_os_str().len() > MAX_PATH {
            report.quarantine_deep(
                protected,
                path.clone(),
                rustix::io::Errno::NAMETOOLONG.into(),
                writable,
                &mut moved,
            );
            continue;
        }
        match rename_away(&at) {
            Ok(to) => {
                let why = visible_line(&found.reason).text();
                report.report(|| {
                    format!(
                        "`{}` appeared, but {why}; askfirst moved it to `{}`",
                        show(&at),
                        show(Path::new(&to))
                    )
                });
                moved.add(protected, path.clone(), at.with_file_name(to), QuarantineContent::Searched);
            }
            // Another process has already removed it.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => report.failed.push(SandboxError::Quarantine { path: at, cause }),
        }
    }
    let unreadable = unreadable.into_iter().filter(|(path, _)| moved.around(path).is_none());
    report.failed.extend(unreadable.map(|(path, cause)| SandboxError::GitSettings { path, cause }));
    report
}

/// The entries that one round quarantined: old path to new path.
#[derive(Default)]
struct QuarantinedPaths(BTreeMap<PathBuf, PathBuf>);

impl QuarantinedPaths {
    fn add(&mut self, protected: &ProtectedNames, from: PathBuf, to: PathBuf, inside: QuarantineContent) {
        if let Ok(stat) = to.symlink_metadata() {
            protected.remember(to.clone(), stat.ino(), inside);
        }
        self.0.insert(from, to);
    }

    /// Returns the innermost quarantined entry that contained a path.
    fn around(&self, path: &Path) -> Option<(&PathBuf, &PathBuf)> {
        if self.0.is_empty() {
            return None;
        }
        path.ancestors().find_map(|above| self.0.get_key_value(above))
    }

    /// Returns the current path of an entry. Returns `None` if it was inside a quarantined folder and is protected only
    /// because of that folder's name.
    fn current_path(
        &self,
        path: &Path,
        found: &ProtectedEntry,
        protected: &ProtectedNames,
    ) -> Option<PathBuf> {
        let Some((from, to)) = self.around(path) else { return Some(path.to_owned()) };
        let rest = path.strip_prefix(from).ok().filter(|rest| !rest.as_os_str().is_empty())?;
        let at = to.join(rest);
        let kind = FileType::from_raw_mode(at.symlink_metadata().ok()?.mode());
        let by_itself = found.kind == EntryKind::Repository || !found.pointers.is_empty();
        let is_short = at.as_os_str().len() <= MAX_PATH;
        (is_short && (by_itself || protected.denies_anywhere(rest, kind))).then_some(at)
    }
}

impl QuarantineReport {
    /// The number of quarantined entries.
    fn count(&self) -> usize {
        self.lines.len() + self.more
    }

    fn report(&mut self, line: impl FnOnce() -> String) {
        match self.lines.len() < MAX_REPORTED {
            true => self.lines.push(line()),
            false => self.more += 1,
        }
    }

    /// Adds the result of a later round. It replaces the errors, since the later round tried those again.
    fn add(&mut self, later: Self) {
        self.more += later.more;
        later.lines.into_iter().for_each(|line| self.report(|| line));
        self.failed = later.failed;
    }

    /// Quarantines a folder around a path that is too long to be searched or covered. Other search errors are recorded.
    fn quarantine_deep(
        &mut self,
        protected: &ProtectedNames,
        path: PathBuf,
        cause: io::Error,
        writable: &[PathBuf],
        moved: &mut QuarantinedPaths,
    ) {
        if moved.around(&path).is_some() {
            return;
        }
        let too_long = rustix::io::Errno::NAMETOOLONG.raw_os_error();
        let Some(root) = writable.iter().filter(|root| path.starts_with(root)).max() else {
            return self.failed.push(SandboxError::Search { path, cause });
        };
        let levels = root.components().count() + MAX_FOLDER_DEPTH;
        let fits = |above: &&Path| {
            let short = above.as_os_str().len() <= MAX_FOLDER_PATH && above.components().count() <= levels;
            short && above.starts_with(root) && above != root
        };
        let place = path.ancestors().skip(1).find(fits).map(Path::to_owned);
        let Some(place) = place.filter(|_| cause.raw_os_error() == Some(too_long)) else {
            return self.failed.push(SandboxError::Search { path, cause });
        };
        match rename_away(&place) {
            Ok(to) => {
                self.report(|| {
                    let (place, to) = (show(&place), show(Path::new(&to)));
                    format!(
                        "`{place}` contains paths that are too long to search; askfirst moved it to `{to}`"
                    )
                });
                let to = place.with_file_name(to);
                moved.add(protected, place, to, QuarantineContent::Unknown);
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => self.failed.push(SandboxError::Quarantine { path: place, cause }),
        }
    }
}

/// Opens a folder that a command has closed, so that it can be searched. Returns a sentence about it.
///
/// # Errors
///
/// Fails if it cannot be opened.
pub fn reopen(path: &Path) -> io::Result<String> {
    open_to_owner(&folder_at(path, OFlags::PATH)?)?;
    Ok(format!("the command closed `{}`; askfirst opened it again to search it", show(path)))
}

/// Gives the owner of a folder all rights to it. Returns the old mode.
fn open_to_owner(folder: &OwnedFd) -> io::Result<Mode> {
    let was = Mode::from_raw_mode(rustix::fs::fstat(folder)?.st_mode & 0o7777);
    // A handle that was opened with `O_PATH` gives access to the mode only through `/proc`.
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), was | Mode::RWXU)?;
    Ok(was)
}

/// Renames an entry in its folder without following any link. Opens the folder first if it is closed. Returns the new name.
fn rename_away(path: &Path) -> io::Result<OsString> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = folder_at(above, OFlags::PATH)?;
    match rename_with_suffix(&folder, name) {
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            let was = open_to_owner(&folder)?;
            let done = rename_with_suffix(&folder, name);
            rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), was)?;
            done
        }
        done => done,
    }
}

fn rename_with_suffix(folder: &OwnedFd, name: &OsStr) -> io::Result<OsString> {
    for number in 0..MAX_NAMES {
        let mut to = OsString::from_vec(name.as_bytes().iter().take(KEPT_BYTES).copied().collect());
        to.push(ASIDE);
        if number > 0 {
            // The command may have created the next numbered names too, so use a random one.
            to.push(format!("-{:016x}", RandomState::new().hash_one(number)));
        }
        match rustix::fs::renameat_with(folder, name, folder, &to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(to),
            Err(rustix::io::Errno::EXIST) => {}
            Err(rustix::io::Errno::INVAL) => {
                if rustix::fs::statat(folder, &to, AtFlags::SYMLINK_NOFOLLOW).is_err() {
                    rustix::fs::renameat(folder, name, folder, &to)?;
                    return Ok(to);
                }
            }
            Err(cause) => return Err(cause.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
