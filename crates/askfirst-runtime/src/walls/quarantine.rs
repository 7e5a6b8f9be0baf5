//! Protected names that were not there before a command: each is given a name that does nothing, before anybody is
//! told that the command is over. What `git init` makes by itself is left where it is.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};

use super::error::{WallsError, shown};
use super::found::{Found, Sort};
use super::git::Way;
use super::harmless::Judge;
use super::protected::{Inside, Known, Protected, Searched};
use super::reading::folder_at;
use askfirst_display::escape::visible_line;
use askfirst_files::never::ASIDE;

/// So often it is looked whether more is there.
const ROUNDS: usize = 5;

/// So much that was moved aside is said one by one.
const MOST_SAID: usize = 32;

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
    /// How much more was, that is not said one by one.
    pub more: usize,
    /// What could not be, or not be searched.
    pub failed: Vec<WallsError>,
    /// Whether something was left because only what appeared too leads git there.
    passed_over: bool,
}

/// What was there before a command, and where it could write.
#[derive(Debug, Clone, Copy)]
pub struct Since<'a> {
    /// What was protected, and what led git somewhere.
    pub before: &'a Known,
    /// All roots.
    pub roots: &'a [PathBuf],
    /// Those that it could write in.
    pub writable: &'a [PathBuf],
    /// Places that it could not write in: some lie in those.
    pub held: &'a [PathBuf],
}

impl Since<'_> {
    /// Whether the innermost place around a path was open to writing.
    pub(crate) fn is_open(&self, path: &Path) -> bool {
        let innermost = |places: &[PathBuf]| {
            let around = places.iter().filter(|place| path.starts_with(place));
            around.map(|place| place.components().count()).max()
        };
        innermost(self.writable) > innermost(self.held)
    }

    /// Whether something that was not there lies in a folder that was covered all the time: no command put it there.
    fn was_covered(&self, path: &Path) -> bool {
        let covered = |above: &Path| {
            let old = self.before.found.get(above).filter(|old| !old.is_link());
            let old = old.filter(|old| matches!(old.sort, Sort::Name | Sort::Aside | Sort::Closed));
            old.is_some_and(|old| above.symlink_metadata().is_ok_and(|now| now.ino() == old.inode))
        };
        !self.before.found.contains_key(path) && path.ancestors().skip(1).any(covered)
    }
}

/// Which ways count when it is asked what leads git to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    /// Those that were there before: the others may be moved aside yet.
    Old,
    /// Those that stay too.
    Staying,
}

/// Moves aside what appeared in writable roots, as far as that can be done. It is looked for until nothing more is found:
/// what was moved lies elsewhere then, and what leads somewhere still is there to stay.
pub fn quarantine(protected: &Protected, since: Since<'_>, mut open: impl FnMut(&Path) -> bool) -> Moved {
    let mut all = Moved::default();
    let mut counting = Counting::Old;
    for _ in 0..ROUNDS {
        let after = protected.search_all(since.roots, Some(since.before), &mut open);
        let done = one_round(protected, since, after, counting);
        let again = done.count() > 0 || done.passed_over && counting == Counting::Old;
        all.add(done);
        if !again {
            return all;
        }
        counting = Counting::Staying;
    }
    all.failed.extend(since.writable.first().map(|root| WallsError::Restless { path: root.clone() }));
    all
}

/// Looks once at what was found.
pub(super) fn one_round(
    protected: &Protected,
    since: Since<'_>,
    after: Searched,
    counting: Counting,
) -> Moved {
    let Since { before, roots, writable, held: _ } = since;
    let Searched { known: Known { found: now, ways, .. }, failed, unreadable } = after;
    let can_write = |path: &Path| since.is_open(path);
    let is_old = |way: &PathBuf| before.ways.get(way).is_some_and(|old| old.is_still(ways.get(way)));
    let before = &before.found;
    let may_stay = |way: &PathBuf| can_write(way) && ways.get(way).is_none_or(Way::may_stay);
    let leads = |way: &PathBuf| is_old(way) || counting == Counting::Staying && may_stay(way);
    let changed = |old: &Found, found: &Found| match found.sort {
        _ if old.sort != found.sort => true,
        Sort::Name | Sort::Link => found.is_other_than(old),
        // Git itself writes it anew.
        Sort::Repository | Sort::Aside | Sort::Closed | Sort::Pipe => false,
    };
    // What lies in a folder that was closed before could not be reached.
    let was_closed = |path: &Path| {
        path.ancestors().any(|above| before.get(above).is_some_and(|found| found.sort == Sort::Closed))
    };
    let mut done = Moved::default();
    let mut gone = Gone::default();
    // What is closed, and was not, hid from the search.
    let closed =
        now.iter().filter(|(path, found)| found.sort == Sort::Closed && !was_closed(path) && can_write(path));
    for (path, _) in closed {
        let cause = io::ErrorKind::PermissionDenied.into();
        done.failed.push(WallsError::Search { path: path.clone(), cause });
    }
    // First what cannot be searched at all: what is in it goes with it.
    for (path, cause) in failed {
        done.bury(protected, path, cause, writable, &mut gone);
    }
    let judge = Judge { roots, now: &now };
    let counts = |path: &Path, found: &Found| {
        matches!(found.sort, Sort::Name | Sort::Link | Sort::Repository)
            && can_write(path)
            && !was_closed(path)
    };
    for (path, found) in now.iter().filter(|(path, found)| counts(path, found)) {
        if before.get(path).is_some_and(|old| !changed(old, found)) {
            continue;
        }
        if !found.by.is_empty() && !found.by.iter().any(leads) {
            done.passed_over = true;
            continue;
        }
        // Whatever leads there now, it is the owner's.
        if !found.by.is_empty() && since.was_covered(path) {
            continue;
        }
        let Some(at) = gone.place_of(path, found, protected) else { continue };
        let harmless = match found.sort {
            Sort::Repository => at.parent().is_some_and(|folder| judge.is_harmless_repository(folder)),
            Sort::Name | Sort::Link | Sort::Aside | Sort::Closed | Sort::Pipe => {
                judge.is_harmless(&at, found)
            }
        };
        if harmless {
            continue;
        }
        if at.as_os_str().len() > LONGEST {
            done.bury(protected, path.clone(), rustix::io::Errno::NAMETOOLONG.into(), writable, &mut gone);
            continue;
        }
        match aside(&at) {
            Ok(to) => {
                let why = visible_line(&found.why).text();
                done.say(|| {
                    format!(
                        "`{}` appeared, but {why}; it was moved to `{}`",
                        shown(&at),
                        shown(Path::new(&to))
                    )
                });
                gone.add(protected, path.clone(), at.with_file_name(to), Inside::Searched);
            }
            // Somebody else was faster.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => done.failed.push(WallsError::Quarantine { path: at, cause }),
        }
    }
    let unreadable = unreadable.into_iter().filter(|(path, _)| gone.around(path).is_none());
    done.failed.extend(unreadable.map(|(path, cause)| WallsError::Settings { path, cause }));
    done
}

/// What was moved aside in one round: from where, and where it is now.
#[derive(Default)]
struct Gone(BTreeMap<PathBuf, PathBuf>);

impl Gone {
    fn add(&mut self, protected: &Protected, from: PathBuf, to: PathBuf, inside: Inside) {
        if let Ok(stat) = to.symlink_metadata() {
            protected.remember(to.clone(), stat.ino(), inside);
        }
        self.0.insert(from, to);
    }

    /// The innermost that something lay in.
    fn around(&self, path: &Path) -> Option<(&PathBuf, &PathBuf)> {
        if self.0.is_empty() {
            return None;
        }
        path.ancestors().find_map(|above| self.0.get_key_value(above))
    }

    /// Where something is now; nothing if it lay in something that was moved, and without that is not protected: it did
    /// nothing but for the name of that.
    fn place_of(&self, path: &Path, found: &Found, protected: &Protected) -> Option<PathBuf> {
        let Some((from, to)) = self.around(path) else { return Some(path.to_owned()) };
        let rest = path.strip_prefix(from).ok().filter(|rest| !rest.as_os_str().is_empty())?;
        let at = to.join(rest);
        let kind = FileType::from_raw_mode(at.symlink_metadata().ok()?.mode());
        let by_itself = found.sort == Sort::Repository || !found.by.is_empty();
        let is_short = at.as_os_str().len() <= LONGEST;
        (is_short && (by_itself || protected.denies_anywhere(rest, kind))).then_some(at)
    }
}

impl Moved {
    /// How much was moved aside.
    fn count(&self) -> usize {
        self.said.len() + self.more
    }

    fn say(&mut self, line: impl FnOnce() -> String) {
        match self.said.len() < MOST_SAID {
            true => self.said.push(line()),
            false => self.more += 1,
        }
    }

    /// Adds what a later round did. What failed in an earlier one may have been moved since.
    fn add(&mut self, later: Self) {
        self.more += later.more;
        later.said.into_iter().for_each(|line| self.say(|| line));
        self.failed = later.failed;
    }

    /// Moves aside a folder around something that no path is long enough for: nobody can look at what is in it, or cover
    /// it. What cannot be searched for another reason is noted.
    fn bury(
        &mut self,
        protected: &Protected,
        path: PathBuf,
        cause: io::Error,
        writable: &[PathBuf],
        gone: &mut Gone,
    ) {
        if gone.around(&path).is_some() {
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
                self.say(|| {
                    let (place, to) = (shown(&place), shown(Path::new(&to)));
                    format!("`{place}` holds paths too long to be searched; it was moved to `{to}`")
                });
                let to = place.with_file_name(to);
                gone.add(protected, place, to, Inside::Unknown);
            }
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => self.failed.push(WallsError::Quarantine { path: place, cause }),
        }
    }
}

/// Opens a folder again that was closed meanwhile, so that it can be searched: nothing may hide in it. Says which, in
/// words.
///
/// # Errors
/// Fails if it cannot be opened.
pub fn reopen(path: &Path) -> io::Result<String> {
    open_to_owner(&folder_at(path, OFlags::PATH)?)?;
    Ok(format!("`{}` was closed; it was opened again to be searched", shown(path)))
}

/// Gives the owner of a folder all rights to it.
fn open_to_owner(folder: &OwnedFd) -> io::Result<Mode> {
    let was = Mode::from_raw_mode(rustix::fs::fstat(folder)?.st_mode & 0o7777);
    // What was opened by its place alone has no other way to its mode.
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), was | Mode::RWXU)?;
    Ok(was)
}

/// Gives it another name in its folder, without following any link. Where the folder was closed to that, it is opened.
fn aside(path: &Path) -> io::Result<OsString> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = folder_at(above, OFlags::PATH)?;
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
