//! Walking a folder by its handle, link by no link: for lists, searches, and for what is moved or deleted whole.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use askfirst_config::PathMode;
use rustix::fs::{Dir, FileType, fstat};
use rustix::io::Errno;

use super::error::Trouble;
use super::handle::{self, Kind, size_of};
use super::place::{Ground, Spot, moved};
use super::plan::Access;

/// Folders below this are not entered.
const MAX_DEPTH: usize = 256;
/// A folder with more in it is not moved or deleted whole.
const MAX_WHOLE: u64 = 10_000;

/// One thing met on the way.
pub(crate) struct Entry<'a> {
    /// The folder that it is in.
    pub(crate) folder: BorrowedFd<'a>,
    pub(crate) name: &'a OsStr,
    /// The way to it from where the walk began.
    pub(crate) path: &'a Path,
    pub(crate) kind: Kind,
    /// How deep it lies, from 1 on.
    pub(crate) depth: usize,
}

/// What comes after an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Into it, if it is a folder.
    Into,
    /// Past it.
    Past,
    /// No further.
    Stop,
}

/// How a walk ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    /// Folders that could not be entered, or lie too deep.
    pub(crate) unseen: u64,
}

/// Walks a folder, the inner after the outer. No link is followed.
pub(crate) fn walk(
    start: OwnedFd,
    label: &str,
    visit: &mut dyn FnMut(&Entry<'_>) -> Result<Next, Trouble>,
) -> Result<Walked, Trouble> {
    let fault = |error: Errno| Trouble::failed(&format!("`{label}` cannot be listed"), error);
    let mut walked = Walked::default();
    let mut stack: Vec<Dir> = vec![Dir::new(start).map_err(fault)?];
    let mut way = PathBuf::new();
    loop {
        let depth = stack.len();
        let Some(dir) = stack.last_mut() else { break };
        let Some(entry) = dir.read() else {
            stack.pop();
            way.pop();
            continue;
        };
        let entry = entry.map_err(fault)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let folder = dir.fd().map_err(fault)?;
        let kind = match entry.file_type() {
            FileType::Unknown => match handle::look(folder, name) {
                Ok(Some(stat)) => Kind::of(&stat),
                Ok(None) | Err(_) => continue,
            },
            kind => Kind::of_type(kind),
        };
        way.push(name);
        match visit(&Entry { folder, name, path: &way, kind, depth })? {
            Next::Stop => break,
            Next::Into if kind == Kind::Folder => {
                match handle::folder(folder, Path::new(name)).and_then(Dir::new) {
                    // Its name stays on the way until it is left.
                    Ok(inner) if depth < MAX_DEPTH => {
                        stack.push(inner);
                        continue;
                    }
                    Ok(_) | Err(_) => walked.unseen += 1,
                }
            }
            Next::Past | Next::Into => {}
        }
        way.pop();
    }
    Ok(walked)
}

/// Opens a folder that was looked up, and makes sure that it is still the same.
pub(crate) fn enter(ground: &Ground<'_>, spot: &Spot) -> Result<OwnedFd, Trouble> {
    let Some(thing) = &spot.thing else {
        return Err(Trouble::Failed(format!("there is no folder `{}`", spot.label)));
    };
    if thing.kind != Kind::Folder {
        return Err(Trouble::Failed(format!("`{}` is a {}, not a folder", spot.label, thing.kind.as_str())));
    }
    let root = ground.root(spot.root)?;
    let folder = handle::folder(root.folder.as_fd(), &spot.path).map_err(|e| match e {
        Errno::LOOP | Errno::NOENT | Errno::NOTDIR => moved(&spot.label),
        error => Trouble::failed(&format!("`{}` cannot be opened", spot.label), error),
    })?;
    let stat = fstat(&folder).map_err(|e| Trouble::failed(&spot.label, e))?;
    let real = ground.real(spot)?;
    let unmoved = handle::real_of(&folder).is_ok_and(|now| now == real);
    if unmoved && handle::same(&stat, &thing.stat) { Ok(folder) } else { Err(moved(&spot.label)) }
}

/// Whether a folder may be moved (to `to`) or deleted with everything in it.
pub(crate) fn check(ground: &Ground<'_>, spot: &Spot, to: Option<&Spot>) -> Result<(), Trouble> {
    let mut count = 0_u64;
    let walked = walk(enter(ground, spot)?, &spot.label, &mut |entry| {
        count += 1;
        let label = ground.label(spot.root, &spot.path.join(entry.path));
        if count > MAX_WHOLE {
            let text = format!("`{}` has more than {MAX_WHOLE} things in it; take it in parts", spot.label);
            return Err(Trouble::Blocked(text));
        }
        inside(ground, spot, entry, &label)?;
        if let Some(to) = to {
            ground.refuse_never(&ground.real(to)?.join(entry.path), &label, Access::Write)?;
            if entry.kind == Kind::File {
                let stat = handle::look(entry.folder, entry.name).ok().flatten();
                let bytes = stat.as_ref().map_or(0, size_of);
                if !to.rights.takes(entry.name) || !to.rights.holds(bytes) {
                    let text = format!("`{label}` has no suffix or size that is allowed in `{}`", to.label);
                    return Err(Trouble::Blocked(text));
                }
            }
        }
        Ok(Next::Into)
    })?;
    if walked.unseen > 0 {
        return Err(Trouble::Blocked(format!("`{}` has folders that cannot be looked into", spot.label)));
    }
    Ok(())
}

/// Whether one thing in a folder may go where the folder goes.
pub(crate) fn inside(
    ground: &Ground<'_>,
    spot: &Spot,
    entry: &Entry<'_>,
    label: &str,
) -> Result<(), Trouble> {
    let real = ground.real(spot)?.join(entry.path);
    ground.refuse_never(&real, label, Access::Write)?;
    let rights = ground.speaks(&real).map(|(_, _, rights)| rights);
    let fits = rights.is_some_and(|rights| {
        let (own, outer) = (rights.approval, spot.rights.approval);
        rights.mode == PathMode::Rw
            && own.write <= outer.write
            && own.read <= outer.read
            && (entry.kind == Kind::Folder || rights.takes(entry.name))
    });
    if fits {
        Ok(())
    } else {
        Err(Trouble::Blocked(format!("`{label}` has rules of its own; name it by itself")))
    }
}

/// How many files, folders and bytes are in a folder.
pub(crate) type Sum = (u64, u64, u64);

/// How much is in a folder, as far as it can be seen.
pub(crate) fn sum(ground: &Ground<'_>, spot: &Spot) -> Result<Sum, Trouble> {
    let (mut files, mut folders, mut bytes) = (0_u64, 0_u64, 0_u64);
    walk(enter(ground, spot)?, &spot.label, &mut |entry| {
        match entry.kind {
            Kind::Folder => folders += 1,
            Kind::File | Kind::Link | Kind::Other(_) => files += 1,
        }
        let stat = handle::look(entry.folder, entry.name).ok().flatten();
        bytes += stat.as_ref().filter(|_| entry.kind == Kind::File).map_or(0, size_of);
        Ok(if files + folders >= 1_000_000 { Next::Stop } else { Next::Into })
    })?;
    Ok((files, folders, bytes))
}
