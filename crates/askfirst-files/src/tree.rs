//! Walks a folder by its handle without following links: for lists, searches, moves and recursive deletes.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use askfirst_config::PathMode;
use rustix::fs::{Dir, FileType, fstat};
use rustix::io::Errno;

use super::error::CallError;
use super::handle::{self, ObjectKind, size_of};
use super::location::Location;
use super::place::{RootView, changed_meanwhile};
use super::plan::Access;

/// The maximum depth of a walk. Deeper folders are skipped.
const MAX_DEPTH: usize = 256;
/// The maximum number of files and folders in a folder that one call moves or deletes.
const MAX_WHOLE: u64 = 10_000;
/// Counting the content of a folder stops at this number of files and folders.
const MAX_COUNTED: u64 = 1_000_000;

/// One file or folder that a walk visits.
pub(crate) struct WalkEntry<'a> {
    /// The folder that contains it.
    pub(crate) folder: BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
    /// The path from the start of the walk.
    pub(crate) path: &'a Path,
    pub(crate) kind: ObjectKind,
    /// The depth below the start of the walk, starting at 1.
    pub(crate) depth: usize,
}

/// The next step of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkStep {
    /// Enter the entry if it is a folder.
    Enter,
    /// Skip the content of the entry.
    Skip,
    /// End the walk.
    Stop,
}

/// The result of a walk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WalkSummary {
    /// The number of folders that could not be entered, or that are too deep.
    pub(crate) skipped_folders: u64,
}

/// Walks a folder without following links. Visits each folder before its content.
pub(crate) fn walk(
    start: OwnedFd,
    label: &str,
    visit: &mut dyn FnMut(&WalkEntry<'_>) -> Result<WalkStep, CallError>,
) -> Result<WalkSummary, CallError> {
    let fault = |error: Errno| CallError::failed(&format!("cannot list `{label}`"), error);
    let mut summary = WalkSummary::default();
    let mut stack: Vec<Dir> = vec![Dir::new(start).map_err(fault)?];
    let mut path = PathBuf::new();
    loop {
        let depth = stack.len();
        let Some(dir) = stack.last_mut() else { break };
        let Some(entry) = dir.read() else {
            stack.pop();
            path.pop();
            continue;
        };
        let entry = entry.map_err(fault)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let folder = dir.fd().map_err(fault)?;
        let kind = match entry.file_type() {
            FileType::Unknown => match handle::stat_name(folder, name) {
                Ok(Some(stat)) => ObjectKind::of(&stat),
                Ok(None) | Err(_) => continue,
            },
            kind => ObjectKind::of_type(kind),
        };
        path.push(name);
        match visit(&WalkEntry { folder, name, path: &path, kind, depth })? {
            WalkStep::Stop => break,
            WalkStep::Enter if kind == ObjectKind::Folder => {
                match handle::open_folder(folder, Path::new(name)).and_then(Dir::new) {
                    // The name stays in the path until the walk leaves the folder.
                    Ok(inner) if depth < MAX_DEPTH => {
                        stack.push(inner);
                        continue;
                    }
                    Ok(_) | Err(_) => summary.skipped_folders += 1,
                }
            }
            WalkStep::Skip | WalkStep::Enter => {}
        }
        path.pop();
    }
    Ok(summary)
}

/// Opens a located folder, and checks that it is still the same folder.
pub(crate) fn open_folder(view: &RootView<'_>, location: &Location) -> Result<OwnedFd, CallError> {
    let Some(object) = &location.object else {
        return Err(CallError::Failed(format!("the folder `{}` does not exist", location.label)));
    };
    if object.kind != ObjectKind::Folder {
        return Err(CallError::Failed(format!(
            "`{}` is a {}, not a folder",
            location.label,
            object.kind.as_str()
        )));
    }
    let root = view.root(location.root)?;
    let folder = handle::open_folder(root.folder.as_fd(), &location.path).map_err(|e| match e {
        Errno::LOOP | Errno::NOENT | Errno::NOTDIR => changed_meanwhile(&location.label),
        error => CallError::failed(&format!("cannot open `{}`", location.label), error),
    })?;
    let stat =
        fstat(&folder).map_err(|e| CallError::failed(&format!("cannot inspect `{}`", location.label), e))?;
    let real = view.real_path(location)?;
    let is_in_place = handle::real_path(&folder).is_ok_and(|now| now == real);
    if is_in_place && handle::is_same_file(&stat, &object.stat) {
        Ok(folder)
    } else {
        Err(changed_meanwhile(&location.label))
    }
}

/// Checks that a folder may be deleted, or moved to `to`, with everything in it.
pub(crate) fn check_content(
    view: &RootView<'_>,
    location: &Location,
    to: Option<&Location>,
) -> Result<(), CallError> {
    let mut count = 0_u64;
    let summary = walk(open_folder(view, location)?, &location.label, &mut |entry| {
        count += 1;
        let label = view.label(location.root, &location.path.join(entry.path));
        if count > MAX_WHOLE {
            let text = format!(
                "`{}` contains more than {MAX_WHOLE} files and folders; hint: use a separate call for each part",
                location.label
            );
            return Err(CallError::Blocked(text));
        }
        let real = view.real_path(location)?.join(entry.path);
        check_entry(view, location, entry, (&real, &label))?;
        if let Some(to) = to {
            let new = view.real_path(to)?.join(entry.path);
            view.refuse_never(&new, &label, Access::Write)?;
            if entry.kind == ObjectKind::File {
                let stat = handle::stat_name(entry.folder, entry.name).ok().flatten();
                let bytes = stat.as_ref().map_or(0, size_of);
                if !to.rights.allows_name(entry.name) || !to.rights.allows_size(bytes) {
                    let text = format!("the suffix or size of `{label}` is not allowed in `{}`", to.label);
                    return Err(CallError::Blocked(text));
                }
            }
        }
        Ok(WalkStep::Enter)
    })?;
    if summary.skipped_folders > 0 {
        let text = format!("`{}` contains folders that cannot be opened", location.label);
        return Err(CallError::Blocked(text));
    }
    Ok(())
}

/// Checks that one entry has no stricter rules than the folder that is moved or deleted.
fn check_entry(
    view: &RootView<'_>,
    location: &Location,
    entry: &WalkEntry<'_>,
    (real, label): (&Path, &str),
) -> Result<(), CallError> {
    view.refuse_never(real, label, Access::Write)?;
    let rights = view.governing_root(real).map(|(_, _, rights)| rights);
    let is_allowed = rights.is_some_and(|rights| {
        let (own, outer) = (rights.approval, location.rights.approval);
        rights.mode == PathMode::Rw
            && own.write <= outer.write
            && own.read <= outer.read
            && (entry.kind == ObjectKind::Folder || rights.allows_name(entry.name))
    });
    if is_allowed {
        Ok(())
    } else {
        Err(CallError::Blocked(format!("`{label}` has its own rules; hint: use a separate call for it")))
    }
}

/// The numbers of files, folders and bytes in a folder.
pub(crate) type FolderTotals = (u64, u64, u64);

/// Counts the content of a folder. Omits folders that cannot be opened.
pub(crate) fn count_content(view: &RootView<'_>, location: &Location) -> Result<FolderTotals, CallError> {
    let (mut files, mut folders, mut bytes) = (0_u64, 0_u64, 0_u64);
    walk(open_folder(view, location)?, &location.label, &mut |entry| {
        match entry.kind {
            ObjectKind::Folder => folders += 1,
            ObjectKind::File | ObjectKind::Link | ObjectKind::Other(_) => files += 1,
        }
        let stat = handle::stat_name(entry.folder, entry.name).ok().flatten();
        bytes += stat.as_ref().filter(|_| entry.kind == ObjectKind::File).map_or(0, size_of);
        Ok(if files + folders >= MAX_COUNTED { WalkStep::Stop } else { WalkStep::Enter })
    })?;
    Ok((files, folders, bytes))
}
