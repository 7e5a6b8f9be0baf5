//! Making folders, moving, copying and deleting, by handles and single names.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::error::Trouble;
use super::handle::{self, Kind};
use super::place::{Ground, Spot, moved};
use super::plan::Access;
use super::wish::{Depth, InTheWay};
use super::write::{Target, move_new, sync};

/// Makes a folder and those above it.
pub(crate) fn make(ground: &Ground<'_>, spot: &Spot) -> Result<Value, Trouble> {
    let fault = |e: Errno| match e {
        Errno::LOOP => moved(&spot.label),
        error => Trouble::failed(&format!("the folder `{}` cannot be made", spot.label), error),
    };
    match spot.kind() {
        Some(Kind::Folder) => return Ok(json!({"path": spot.label, "made": false})),
        Some(Kind::File | Kind::Link | Kind::Other(_)) => return Err(fault(Errno::EXIST)),
        None => {}
    }
    let root = ground.root(spot.root)?;
    let mut inner: Option<OwnedFd> = None;
    let mut names = spot.path.iter().peekable();
    while let Some(name) = names.next() {
        let folder = inner.as_ref().map_or(root.folder.as_fd(), AsFd::as_fd);
        let made = match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(fault(error)),
        };
        if made {
            sync(folder, &spot.label)?;
        }
        if !made || names.peek().is_some() {
            inner = Some(handle::folder(folder, Path::new(name)).map_err(fault)?);
        }
    }
    Ok(json!({"path": spot.label, "made": true}))
}

/// Moves a file, link or folder.
pub(crate) fn rename(
    ground: &Ground<'_>,
    from: &Spot,
    to: &Spot,
    in_the_way: InTheWay,
) -> Result<Value, Trouble> {
    let Some(thing) = &from.thing else { return Err(missing(from)) };
    refuse_in_the_way(to, in_the_way)?;
    let (folder, name) = ground.folder_of(from)?;
    let (to_folder, to_name) = ground.folder_of(to)?;
    let fault = |e: Errno| match e {
        Errno::EXIST => moved(&to.label),
        Errno::XDEV => Trouble::Failed(format!(
            "`{}` lies on another file system than `{}`, to which only files can be moved; hint: make the folder there \
             and move its files",
            from.label, to.label
        )),
        error => Trouble::failed(&format!("`{}` cannot be moved", from.label), error),
    };
    if !handle::look(&folder, &name).map_err(fault)?.is_some_and(|now| handle::same(&now, &thing.stat)) {
        return Err(moved(&from.label));
    }
    let done = match &to.thing {
        None => move_new(&folder, &name, &to_folder, &to_name),
        Some(old) => {
            let now = handle::look(&to_folder, &to_name).map_err(fault)?;
            if !now.is_some_and(|now| handle::same(&now, &old.stat)) {
                return Err(moved(&to.label));
            }
            rustix::fs::renameat(&folder, &name, &to_folder, &to_name)
        }
    };
    match done {
        Ok(()) => sync(&to_folder, &to.label)?,
        // Whole and synced at its new place before it is taken from the old one.
        Err(Errno::XDEV) if thing.kind == Kind::File => {
            copy(ground, from, to, in_the_way)?;
            delete(ground, from, Depth::Itself)?;
        }
        Err(error) => return Err(fault(error)),
    }
    sync(&folder, &from.label)?;
    Ok(json!({"path": from.label, "to": to.label, "replaced": to.thing.is_some()}))
}

/// Copies a file.
pub(crate) fn copy(
    ground: &Ground<'_>,
    from: &Spot,
    to: &Spot,
    in_the_way: InTheWay,
) -> Result<Value, Trouble> {
    refuse_in_the_way(to, in_the_way)?;
    let (source, stat) = ground.open(from)?;
    if to.thing.as_ref().is_some_and(|thing| handle::same(&thing.stat, &stat)) {
        return Err(Trouble::Failed(format!("`{}` and `{}` are the same file", from.label, to.label)));
    }
    let most = to.rights.max_file_bytes.unwrap_or(u64::MAX);
    let mut copied = 0;
    Target::new(ground, to)?.with_mode(stat.st_mode).replace(|file| {
        copied = io::copy(&mut source.take(most.saturating_add(1)), file)?;
        if copied > most { Err(io::Error::from(io::ErrorKind::FileTooLarge)) } else { Ok(()) }
    })?;
    Ok(json!({"path": from.label, "to": to.label, "bytes": copied, "replaced": to.thing.is_some()}))
}

fn refuse_in_the_way(to: &Spot, in_the_way: InTheWay) -> Result<(), Trouble> {
    match (to.kind(), in_the_way) {
        (None, _) | (Some(Kind::File | Kind::Link), InTheWay::Replace) => Ok(()),
        (Some(Kind::Folder | Kind::Other(_)), _) => {
            Err(Trouble::Failed(format!("`{}` is in the way and is not a file", to.label)))
        }
        (Some(Kind::File | Kind::Link), InTheWay::Keep) => {
            Err(Trouble::Failed(format!("`{}` exists already; hint: `overwrite`", to.label)))
        }
    }
}

fn missing(spot: &Spot) -> Trouble {
    Trouble::Failed(format!("there is no file or folder `{}`", spot.label))
}

/// Deletes a file, a link or a folder.
pub(crate) fn delete(ground: &Ground<'_>, spot: &Spot, depth: Depth) -> Result<Value, Trouble> {
    let Some(thing) = &spot.thing else { return Err(missing(spot)) };
    let (folder, name) = ground.folder_of(spot)?;
    let fault = |e: Errno| Trouble::failed(&format!("`{}` cannot be deleted", spot.label), e);
    if !handle::look(&folder, &name).map_err(fault)?.is_some_and(|now| handle::same(&now, &thing.stat)) {
        return Err(moved(&spot.label));
    }
    let mut count = 1;
    if thing.kind == Kind::Folder {
        if depth == Depth::Everything {
            let inner = super::tree::enter(ground, spot)?;
            count += empty(ground, spot, inner, &spot.path)?;
        }
        rustix::fs::unlinkat(&folder, &name, AtFlags::REMOVEDIR).map_err(|e| match e {
            Errno::NOTEMPTY => Trouble::Failed(format!("`{}` is not empty; hint: `recursive`", spot.label)),
            error => fault(error),
        })?;
    } else {
        rustix::fs::unlinkat(&folder, &name, AtFlags::empty()).map_err(fault)?;
    }
    sync(&folder, &spot.label)?;
    Ok(json!({"path": spot.label, "deleted": count}))
}

/// Deletes everything in a folder that is open. No link is followed.
fn empty(ground: &Ground<'_>, spot: &Spot, folder: OwnedFd, way: &Path) -> Result<u64, Trouble> {
    let fault =
        |e: Errno| Trouble::failed(&format!("`{}` cannot be emptied", ground.label(spot.root, way)), e);
    let mut names: Vec<OsString> = Vec::new();
    for entry in Dir::read_from(&folder).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let name = std::os::unix::ffi::OsStrExt::from_bytes(entry.file_name().to_bytes());
        let name: &std::ffi::OsStr = name;
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    let mut count = 0;
    for name in names {
        let way = way.join(&name);
        let label = ground.label(spot.root, &way);
        let below = way.strip_prefix(&spot.path).unwrap_or(&way);
        ground.refuse_never(&ground.real(spot)?.join(below), &label, Access::Write)?;
        let Some(stat) = handle::look(&folder, &name).map_err(fault)? else { continue };
        let flags = if Kind::of(&stat) == Kind::Folder {
            let inner = handle::folder(folder.as_fd(), Path::new(&name)).map_err(fault)?;
            count += empty(ground, spot, inner, &way)?;
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        rustix::fs::unlinkat(&folder, &name, flags).map_err(fault)?;
        count += 1;
    }
    Ok(count)
}
