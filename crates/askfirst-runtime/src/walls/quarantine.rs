//! Protected names that were not there before a command: each is given a name that does nothing, before anybody is
//! told that the command is over. What `git init` makes by itself is left where it is.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};

use super::error::{WallsError, shown};
use super::found::{Found, Sort};
use super::harmless::{is_harmless, is_harmless_repository};
use super::protected::Searched;
use crate::present::escape::visible_line;
use crate::tools::filesystem::never::ASIDE;

/// So many bytes of a name stay.
const KEPT: usize = 200;

/// So many names are tried.
const NAMES: usize = 16;

/// A longer path has no room for the name that something is given here.
const LONGEST: usize = 4096 - 256;

/// So long, and so many levels deep, is the path of a folder at the most that is moved aside with what is too deep in it:
/// whatever a person made lies above.
const SHORT: usize = 2048;
const DEEPEST: usize = 128;

/// What was done about what appeared.
#[derive(Debug, Default)]
pub struct Moved {
    /// What was moved aside, in words.
    pub said: Vec<String>,
    /// What could not be, or not be searched.
    pub failed: Vec<WallsError>,
}

/// Moves aside what appeared in writable roots, as far as that can be done.
pub fn quarantine(before: &BTreeMap<PathBuf, Found>, after: Searched, writable: &[PathBuf]) -> Moved {
    // What leads git somewhere is moved itself; then what lies there is nobody's settings.
    // Settings that somebody outside has replaced meanwhile are new; a program cannot, since they are covered. What else
    // leads somewhere may be made anew by git or by a program, and leads there still.
    let is_old = |path: &PathBuf| match (before.get(path), after.found.get(path)) {
        (Some(old), Some(now)) => {
            old.sort == Sort::Repository || is_git(path) || old.is_link() || old.inode == now.inode
        }
        (Some(_), None) => true,
        (None, _) => false,
    };
    let by_new = |found: &Found| !found.by.is_empty() && !found.by.iter().any(is_old);
    let changed = |old: &Found, found: &Found| match found.sort {
        _ if old.sort != found.sort => true,
        Sort::Name => found.is_other_than(old),
        // Git itself writes it anew.
        Sort::Repository | Sort::Closed | Sort::Pipe => false,
    };
    let counts = |found: &Found| matches!(found.sort, Sort::Name | Sort::Repository) && !by_new(found);
    // What lies in a folder that was closed before could not be reached.
    let was_closed = |path: &Path| {
        path.ancestors().any(|above| before.get(above).is_some_and(|found| found.sort == Sort::Closed))
    };
    let new = after
        .found
        .iter()
        .filter(|(path, found)| counts(found) && !was_closed(path) && !has_name_of_moved(path))
        .filter(|(path, found)| before.get(*path).is_none_or(|old| changed(old, found)));
    let mut done = Moved::default();
    let mut gone: Vec<PathBuf> = Vec::new();
    // What is closed, and was not, hid from the search.
    let closed = after.found.iter().filter(|(path, found)| {
        found.sort == Sort::Closed && !was_closed(path) && writable.iter().any(|root| path.starts_with(root))
    });
    for (path, _) in closed {
        let cause = io::ErrorKind::PermissionDenied.into();
        done.failed.push(WallsError::Search { path: path.clone(), cause });
    }
    let unreadable = after.unreadable;
    // First what cannot be searched at all: what is in it goes with it.
    for (path, cause) in after.failed {
        done.bury(path, cause, writable, &mut gone);
    }
    for (path, found) in new.filter(|(path, _)| writable.iter().any(|root| path.starts_with(root))) {
        // What lies in something that was moved went with it, and what lies in something older was covered.
        let harmless = || match found.sort {
            Sort::Repository => path.parent().is_some_and(is_harmless_repository),
            Sort::Name | Sort::Closed | Sort::Pipe => is_harmless(path),
        };
        if gone.iter().any(|above| path.starts_with(above)) || harmless() {
            continue;
        }
        if path.as_os_str().len() > LONGEST {
            done.bury(path.clone(), rustix::io::Errno::NAMETOOLONG.into(), writable, &mut gone);
            continue;
        }
        match aside(path) {
            Ok(to) => {
                let (path_shown, to) = (shown(path), shown(Path::new(&to)));
                let why = visible_line(&found.why).text();
                done.said.push(format!("`{path_shown}` appeared, but {why}; it was moved to `{to}`"));
                gone.push(path.clone());
            }
            // Somebody else was faster.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => done.failed.push(WallsError::Quarantine { path: path.clone(), cause }),
        }
    }
    let unreadable =
        unreadable.into_iter().filter(|(path, _)| !gone.iter().any(|above| path.starts_with(above)));
    done.failed.extend(unreadable.map(|(path, cause)| WallsError::Settings { path, cause }));
    done
}

impl Moved {
    /// Moves aside a folder around something that no path is long enough for: nobody can look at what is in it, or cover
    /// it. What cannot be searched for another reason is noted.
    fn bury(&mut self, path: PathBuf, cause: io::Error, writable: &[PathBuf], gone: &mut Vec<PathBuf>) {
        if gone.iter().any(|above| path.starts_with(above)) {
            return;
        }
        let too_long = rustix::io::Errno::NAMETOOLONG.raw_os_error();
        let Some(root) = writable.iter().filter(|root| path.starts_with(root)).max() else {
            return self.failed.push(WallsError::Search { path, cause });
        };
        let levels = root.components().count() + DEEPEST;
        let fits = |above: &&Path| {
            let short = above.as_os_str().len() <= SHORT && above.components().count() <= levels;
            short && above.starts_with(root) && above != root
        };
        let place = path.ancestors().skip(1).find(fits).map(Path::to_owned);
        let Some(place) = place.filter(|_| cause.raw_os_error() == Some(too_long)) else {
            return self.failed.push(WallsError::Search { path, cause });
        };
        match aside(&place) {
            Ok(to) => {
                let (place_shown, to) = (shown(&place), shown(Path::new(&to)));
                self.said.push(format!(
                    "`{place_shown}` holds paths too long to be searched; it was moved to `{to}`"
                ));
                gone.push(place);
            }
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => self.failed.push(WallsError::Quarantine { path: place, cause }),
        }
    }
}

fn is_git(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ".git")
}

/// Whether something has a name that is given here: it does nothing any more, and is closed to programs.
fn has_name_of_moved(path: &Path) -> bool {
    let Some(name) = path.file_name().map(OsStr::as_bytes) else { return false };
    let number = |rest: &[u8]| rest.is_empty() || rest.len() == 17 && rest.starts_with(b"-");
    let at = memchr::memmem::rfind(name, ASIDE.as_bytes());
    at.and_then(|at| name.get(at + ASIDE.len()..)).is_some_and(number)
}

/// Opens a folder again that was closed meanwhile, so that it can be searched: nothing may hide in it. Says which, in
/// words.
///
/// # Errors
/// Fails if it cannot be opened.
pub fn reopen(path: &Path) -> io::Result<String> {
    open_to_owner(&folder(path)?)?;
    Ok(format!("`{}` was closed; it was opened again to be searched", shown(path)))
}

/// Gives the owner of a folder all rights to it.
fn open_to_owner(folder: &OwnedFd) -> io::Result<Mode> {
    let was = Mode::from_raw_mode(rustix::fs::fstat(folder)?.st_mode & 0o7777);
    // What was opened by its place alone has no other way to its mode.
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), was | Mode::RWXU)?;
    Ok(was)
}

/// A folder by its place, without following any link.
fn folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    let folder = rustix::fs::openat2(
        rustix::fs::CWD,
        path,
        flags,
        Mode::empty(),
        rustix::fs::ResolveFlags::NO_SYMLINKS,
    )?;
    #[cfg(not(target_os = "linux"))]
    let folder = rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty())?;
    Ok(folder)
}

/// Gives it another name in its folder, without following any link. Where the folder was closed to that, it is opened.
fn aside(path: &Path) -> io::Result<OsString> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = folder(above)?;
    match renamed(&folder, name) {
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            let was = open_to_owner(&folder)?;
            let done = renamed(&folder, name);
            rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), was)?;
            done
        }
        done => done,
    }
}

fn renamed(folder: &OwnedFd, name: &OsStr) -> io::Result<OsString> {
    for number in 0..NAMES {
        let mut to = OsString::from_vec(name.as_bytes().iter().take(KEPT).copied().collect());
        to.push(ASIDE);
        if number > 0 {
            // Whoever put it there may have taken the names that follow too.
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
