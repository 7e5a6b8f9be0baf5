//! Applies operations in either direction. An operation that was already done changes nothing.
//!
//! Only this crate touches the private side, and that side tells whether a move was done. So a person's later change of
//! the root cannot confuse a recovery.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::beneath::{self, Spot};
use crate::change::{Carrier, Change};
use crate::collect::{Depth, Walk};
use crate::disk::Disk;
use crate::error::{ChangeError, failed};
use crate::marks;
use crate::object::{Object, Timestamp};
use crate::operation::{Action, Direction, Operation};

/// A folder, and the folder beneath it that was opened last.
pub(crate) struct TopFolder {
    pub(crate) top: OwnedFd,
    last: Option<(Vec<u8>, OwnedFd)>,
}

impl TopFolder {
    pub(crate) fn new(top: OwnedFd) -> Self {
        Self { top, last: None }
    }

    /// Opens the folder of a path. Returns `None` if it is not a folder of this tree.
    pub(crate) fn parent(&mut self, path: &[u8]) -> Result<Option<&OwnedFd>, ChangeError> {
        let (parent, _) = beneath::split(path);
        if self.last.as_ref().is_none_or(|(last, _)| last != parent) {
            self.last = None;
            match beneath::open_lookup(&self.top, parent) {
                Ok(folder) => self.last = Some((parent.to_vec(), folder)),
                Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => return Ok(None),
                Err(error) => return Err(failed("open", parent)(error)),
            }
        }
        Ok(self.last.as_ref().map(|(_, folder)| folder))
    }
}

/// The objects that are not in the root: first the new ones, later the replaced ones.
pub(crate) struct Private {
    /// The upper layer, or a folder with a number for each copied object.
    pub(crate) new: TopFolder,
    /// Removed objects, by the number of their operation.
    pub(crate) old: TopFolder,
    pub(crate) is_copied: bool,
}

impl Private {
    /// The private folder and name of an operation. `None` if the folder is gone.
    pub(crate) fn place<'a>(
        &'a mut self,
        operation: &Operation,
        number: usize,
    ) -> Result<Option<(&'a OwnedFd, Vec<u8>)>, ChangeError> {
        let numbered = operation.copy_name(number);
        match operation.action {
            Action::Remove => Ok(Some((&self.old.top, numbered))),
            _ if self.is_copied => Ok(Some((&self.new.top, numbered))),
            _ => {
                let name = beneath::split(&operation.path).1.to_vec();
                Ok(self.new.parent(&operation.path)?.map(|parent| (parent, name)))
            }
        }
    }
}

impl Private {
    /// Sets the permissions of the folder in the upper layer in which names change, as in the root.
    fn open_folder(&self, disk: Disk, path: &[u8], mode: u32) -> Result<(), ChangeError> {
        if self.is_copied {
            return Ok(());
        }
        let opened = beneath::open_lookup(&self.new.top, path).and_then(|folder| {
            let now = rustix::fs::fstat(&folder)?.st_mode & 0o7777;
            if now == mode { Ok(()) } else { disk.set_mode(&folder, mode) }
        });
        opened.map_err(failed("open", path))
    }
}

/// Both sides of a commit.
pub(crate) struct Sides {
    pub(crate) root: TopFolder,
    pub(crate) private: Private,
    pub(crate) disk: Disk,
}

pub(crate) fn conflict(path: &[u8]) -> ChangeError {
    ChangeError::Conflict(vec![PathBuf::from(std::ffi::OsStr::from_bytes(path))])
}

impl Sides {
    /// Does one operation, if it was not done before.
    pub(crate) fn apply(
        &mut self,
        rows: &[Change],
        operation: &Operation,
        number: usize,
        direction: Direction,
    ) -> Result<(), ChangeError> {
        let (before, after) = operation.objects(rows);
        let (from, to) = match direction {
            Direction::Forward => (before, after),
            Direction::Backward => (after, before),
        };
        match &operation.action {
            Action::Mode { inode, before, after, known } => {
                let wanted = if direction == Direction::Forward { *after } else { *before };
                let folder = self.object(&operation.path, *inode)?;
                if let [closed, open, end] = known[..] {
                    let is_over = wanted == *before && *before == closed;
                    self.private.open_folder(self.disk, &operation.path, if is_over { end } else { open })?;
                }
                set_mode(self.disk, &operation.path, &folder, wanted, known)
            }
            Action::Attributes => match (before, from, to) {
                (Some(before), Some(from), Some(to)) => {
                    self.set_attributes(&operation.path, before.inode, from, to)
                }
                _ => Ok(()),
            },
            Action::Add | Action::Remove | Action::Replace => self.shift(rows, operation, number, from, to),
        }
    }

    /// Opens an object of the root, which must have this inode.
    fn object(&mut self, path: &[u8], inode: u64) -> Result<OwnedFd, ChangeError> {
        if path.is_empty() {
            return beneath::open_folder(&self.root.top, b"").map_err(failed("open", b"."));
        }
        let folder = self.root.parent(path)?.ok_or_else(|| conflict(path))?;
        let object = beneath::open_any(folder, beneath::split(path).1).map_err(|_| conflict(path))?;
        let found = rustix::fs::fstat(&object).map_err(failed("inspect", path))?;
        if found.st_ino == inode { Ok(object) } else { Err(conflict(path)) }
    }

    fn set_attributes(
        &mut self,
        path: &[u8],
        inode: u64,
        from: &Object,
        to: &Object,
    ) -> Result<(), ChangeError> {
        let object = self.object(path, inode)?;
        let now = Object::new(&rustix::fs::fstat(&object).map_err(failed("inspect", path))?);
        let known: [Timestamp; 2] = [from.modified, to.modified];
        if !known.contains(&now.modified) || now.size != to.size {
            return Err(conflict(path));
        }
        set_mode(self.disk, path, &object, to.mode, &[from.mode, to.mode])?;
        if now.modified != to.modified {
            self.disk.set_modified(&object, to.modified).map_err(failed("set the time of", path))?;
        }
        Ok(())
    }

    /// Moves or exchanges an object between the root and the private side. `from` is in the root now, and `to` then.
    fn shift(
        &mut self,
        rows: &[Change],
        operation: &Operation,
        number: usize,
        from: Option<&Object>,
        to: Option<&Object>,
    ) -> Result<(), ChangeError> {
        let path = &operation.path;
        let (folder, name) = self.private.place(operation, number)?.ok_or_else(|| conflict(path))?;
        let inode = |found: Option<rustix::fs::Stat>| found.map(|found| found.st_ino);
        let wanted = |object: Option<&Object>| object.map(|object| object.inode);
        let kept = inode(beneath::stat(folder, &name).map_err(failed("inspect", path))?);
        let private = (folder, name.as_slice());
        if kept == wanted(from) {
            let parent = self.root.parent(path)?;
            let public = parent.map(|parent| (parent, beneath::split(path).1));
            return restore_modes(self.disk, path, public, private, from, to);
        }
        if kept != wanted(to) {
            return Err(conflict(path));
        }
        let parent = self.root.parent(path)?.ok_or_else(|| conflict(path))?;
        let public = (parent, beneath::split(path).1);
        if inode(beneath::stat(parent, public.1).map_err(failed("inspect", path))?) != wanted(from) {
            return Err(conflict(path));
        }
        swap(self.disk, path, public, private, from, to)?;
        if from.is_some() && !is_as_expected(rows, operation, private, from)? {
            swap(self.disk, path, public, private, to, from)?;
            let kept = inode(beneath::stat(private.0, private.1).map_err(failed("inspect", path))?);
            if to.is_some() && kept != wanted(to) {
                // Someone saved between the two swaps: the root gets that version, not the one before it.
                self.disk.exchange(public, private).map_err(failed("rename", path))?;
            }
            return Err(conflict(path));
        }
        Ok(())
    }

    /// Removes the marks of overlayfs from what is now in the root.
    pub(crate) fn remove_marks(&mut self, rows: &[Change]) -> Result<(), ChangeError> {
        for row in rows.iter().filter(|row| row.carrier != Carrier::Merged) {
            let marked = row.after.as_ref().filter(|after| after.is_marked);
            let Some(after) = marked else { continue };
            // A file whose attributes were set, or that a person replaced meanwhile, has another inode.
            let Ok(object) = self.object(&row.path, after.inode) else { continue };
            let fault = || failed("remove the marks of", &row.path);
            let protected = after.mode & 0o200 == 0;
            if protected {
                self.disk.set_mode(&object, after.mode | 0o200).map_err(fault())?;
            }
            for name in beneath::attribute_names(&object).map_err(fault())? {
                if marks::is_mark(&name) {
                    self.disk.remove_attribute(&object, &name).map_err(fault())?;
                }
            }
            if protected {
                self.disk.set_mode(&object, after.mode).map_err(fault())?;
            }
        }
        Ok(())
    }
}

fn set_mode(
    disk: Disk,
    path: &[u8],
    object: &OwnedFd,
    wanted: u32,
    known: &[u32],
) -> Result<(), ChangeError> {
    let now = rustix::fs::fstat(object).map_err(failed("inspect", path))?.st_mode & 0o7777;
    if now == wanted {
        return Ok(());
    }
    if !known.contains(&now) {
        return Err(conflict(path));
    }
    disk.set_mode(object, wanted).map_err(failed("set the permissions of", path))
}

/// A rename of a folder writes its `..`, for which an ordinary user needs write access to it.
fn is_protected(object: Option<&Object>) -> bool {
    object.is_some_and(|object| object.is_folder() && object.mode & 0o200 == 0)
}

fn swap(
    disk: Disk,
    path: &[u8],
    public: Spot<'_>,
    private: Spot<'_>,
    from: Option<&Object>,
    to: Option<&Object>,
) -> Result<(), ChangeError> {
    for (object, spot) in [(from, public), (to, private)] {
        if let Some(object) = object.filter(|object| is_protected(Some(object))) {
            let opened =
                beneath::open_any(spot.0, spot.1).and_then(|fd| disk.set_mode(fd, object.mode | 0o700));
            opened.map_err(failed("open", path))?;
        }
    }
    let moved = match (from.is_some(), to.is_some()) {
        (true, true) => disk.exchange(public, private),
        (true, false) => disk.rename_new(public, private),
        (false, true) => disk.rename_new(private, public),
        (false, false) => Ok(()),
    };
    match moved {
        Ok(()) => restore_modes(disk, path, Some(public), private, from, to),
        Err(error) => {
            restore_modes(disk, path, Some(private), public, from, to)?;
            let gone = matches!(error, Errno::EXIST | Errno::NOENT | Errno::NOTDIR | Errno::ISDIR);
            Err(if gone { conflict(path) } else { failed("rename", path)(error) })
        }
    }
}

/// Gives protected folders their permissions again, after `from` has become private and `to` public.
fn restore_modes(
    disk: Disk,
    path: &[u8],
    public: Option<Spot<'_>>,
    private: Spot<'_>,
    from: Option<&Object>,
    to: Option<&Object>,
) -> Result<(), ChangeError> {
    for (object, spot) in [(from, Some(private)), (to, public)] {
        let (Some(object), Some(spot)) = (object.filter(|object| is_protected(Some(object))), spot) else {
            continue;
        };
        let Ok(folder) = beneath::open_any(spot.0, spot.1) else { continue };
        let found = Object::new(&rustix::fs::fstat(&folder).map_err(failed("inspect", path))?);
        if found.inode == object.inode && found.mode == object.mode | 0o700 {
            disk.set_mode(&folder, object.mode).map_err(failed("set the permissions of", path))?;
        }
    }
    Ok(())
}

/// Returns true if what came out of the root is what was there when everything was checked.
fn is_as_expected(
    rows: &[Change],
    operation: &Operation,
    private: Spot<'_>,
    from: Option<&Object>,
) -> Result<bool, ChangeError> {
    let is_before = |row: &Change| row.before.as_ref() == from;
    let side = |row: &Change, before: bool| if before { row.before.clone() } else { row.after.clone() };
    let expected = operation.rows(rows);
    let before = expected.first().is_some_and(is_before);
    let mut walk = Walk::unlimited(Depth::Versions);
    walk.pair(&operation.path, Some(private), None, Carrier::Own)?;
    let expected: Vec<_> = expected.iter().filter_map(|row| Some((&row.path, side(row, before)?))).collect();
    let same = |(found, (path, object)): (&Change, &(&Vec<u8>, Object))| {
        found.path == **path && found.before.as_ref().is_some_and(|found| found.has_same_stamp(object))
    };
    Ok(walk.rows.len() == expected.len() && walk.rows.iter().zip(&expected).all(same))
}
