//! A commit from an upper layer on another file system, such as a tmpfs.
//!
//! Objects cannot move between file systems. So the new ones are first copied to a folder beneath the root, from which
//! they move into place. The replaced ones are copied to the store. Both happen before the journal is sealed.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Gid, Mode, SeekFrom, Stat, Uid};
use rustix::io::Errno;

use crate::apply::{Private, Sides, TopFolder, conflict};
use crate::beneath::{self, Spot};
use crate::change::{Carrier, Change};
use crate::collect::{Depth, Walk, root_id};
use crate::disk::Disk;
use crate::error::{ChangeError, failed};
use crate::journal::Journal;
use crate::marks::is_mark;
use crate::object::{Object, ObjectKind};
use crate::operation::{Action, Direction, Operation};
use crate::store::CommitFolder;
use crate::verify::{Match, verify};

/// The folder of a commit with copies of what it replaced.
pub(crate) const BEFORE: &[u8] = b"before";
/// The folder of a commit with copies of what an undo took away.
const AFTER: &[u8] = b"after";

/// Copies the new objects beneath the root, and the replaced ones to the store.
pub(crate) fn stage_commit(
    commit: &CommitFolder,
    sides: &mut Sides,
    rows: &mut [Change],
    operations: &[Operation],
) -> Result<(), ChangeError> {
    let stage = CopyStage::make(commit, &sides.root.top)?;
    let kept = fresh(commit.disk, &commit.folder, BEFORE)?;
    let (mut new, mut old) = (Copier::new(commit.disk, &stage.new), Copier::new(commit.disk, &kept));
    for (number, operation) in operations.iter().enumerate().filter(|(_, operation)| !operation.stays()) {
        if let Some((folder, name)) = sides.private.place(operation, number)? {
            new.copy(&operation.path, (folder, &name), &operation.copy_name(number))?;
        }
        if let Some(parent) = sides.root.parent(&operation.path)? {
            let place = (parent, beneath::split(&operation.path).1);
            old.copy(&operation.path, place, &operation.copy_name(number))?;
        }
    }
    stage.take_over(rows, operations, Direction::Forward)?;
    sync(commit, &sides.root.top)
}

/// Checks both sides before an undo (backward) or a redo, and copies what it needs beneath the root.
pub(crate) fn stage_turn(
    commit: &CommitFolder,
    root: &OwnedFd,
    journal: &mut Journal,
    direction: Direction,
) -> Result<(), ChangeError> {
    let open = || beneath::open_folder(root, b"").map_err(failed("open", b"."));
    let kept = |name| beneath::open_folder(&commit.folder, name).map_err(failed("open", name));
    let source = if direction == Direction::Forward { AFTER } else { BEFORE };
    let private =
        Private { new: TopFolder::new(kept(source)?), old: TopFolder::new(kept(source)?), is_copied: true };
    let mut sides = Sides { root: TopFolder::new(open()?), private, disk: commit.disk };
    let same = (Match::Version, Match::Copy);
    verify(&mut sides, &journal.rows, &journal.operations, direction, same)?;
    let stage = CopyStage::make(commit, root)?;
    let (mut new, mut old) = (Copier::new(commit.disk, &stage.new), Copier::new(commit.disk, &stage.old));
    for (number, operation) in
        journal.operations.iter().enumerate().filter(|(_, operation)| !operation.stays())
    {
        let copier = if matches!(operation.action, Action::Remove) { &mut old } else { &mut new };
        let (folder, name) = (&sides.private.new.top, operation.copy_name(number));
        copier.copy(&operation.path, (folder, &name), &name)?;
    }
    if direction == Direction::Backward && kept(AFTER).is_err() {
        keep_after(commit, &mut sides.root, &journal.operations)?;
    }
    stage.take_over(&mut journal.rows, &journal.operations, direction)?;
    sync(commit, root)
}

/// Copies what an undo takes away, so that it can be undone too.
fn keep_after(
    commit: &CommitFolder,
    root: &mut TopFolder,
    operations: &[Operation],
) -> Result<(), ChangeError> {
    let temporary = b"after.tmp";
    let folder = fresh(commit.disk, &commit.folder, temporary)?;
    let mut copier = Copier::new(commit.disk, &folder);
    for (number, operation) in operations.iter().enumerate().filter(|(_, operation)| !operation.stays()) {
        if let Some(parent) = root.parent(&operation.path)? {
            let place = (parent, beneath::split(&operation.path).1);
            copier.copy(&operation.path, place, &operation.copy_name(number))?;
        }
    }
    commit.disk.rename_over(&commit.folder, temporary, AFTER).map_err(failed("rename", AFTER))
}

fn sync(commit: &CommitFolder, root: &OwnedFd) -> Result<(), ChangeError> {
    commit.disk.sync_all(&commit.folder).map_err(failed("sync", b"commits"))?;
    commit.disk.sync_all(root).map_err(failed("sync", b"."))
}

/// Makes an empty folder, and removes what is left of an earlier one.
pub(crate) fn fresh(disk: Disk, parent: &OwnedFd, name: &[u8]) -> Result<OwnedFd, ChangeError> {
    let made = disk.remove_tree(parent, name).and_then(|()| disk.make_folder(parent, name));
    made.map_err(failed("make", name))
}

/// A folder beneath the root that holds copies until they move into place.
struct CopyStage {
    new: OwnedFd,
    old: OwnedFd,
}

impl CopyStage {
    fn make(commit: &CommitFolder, root: &OwnedFd) -> Result<Self, ChangeError> {
        commit.note_stage(root_id(root)?)?;
        let stage = fresh(commit.disk, root, &commit.stage_name())?;
        Ok(Self { new: fresh(commit.disk, &stage, b"new")?, old: fresh(commit.disk, &stage, b"old")? })
    }

    /// Puts the copies into the rows, in place of the objects that they are copies of.
    fn take_over(
        &self,
        rows: &mut [Change],
        operations: &[Operation],
        direction: Direction,
    ) -> Result<(), ChangeError> {
        let mut walk = Walk::unlimited(Depth::Content);
        for (number, operation) in operations.iter().enumerate().filter(|(_, operation)| !operation.stays()) {
            let folder = if matches!(operation.action, Action::Remove) { &self.old } else { &self.new };
            let name = operation.copy_name(number);
            walk.rows.clear();
            walk.pair(&operation.path, None, Some((folder, &name)), Carrier::Own)?;
            let mut found = walk.rows.iter();
            for row in rows.get_mut(operation.rows.0..operation.rows.1).unwrap_or_default() {
                let side = if direction == Direction::Forward { &mut row.after } else { &mut row.before };
                let Some(original) = side.as_mut() else { continue };
                let copy =
                    found.next().filter(|copy| copy.path == row.path).and_then(|copy| copy.after.clone());
                match copy.filter(|copy| copy.is_same_copy(original)) {
                    Some(copy) => *original = copy,
                    None => return Err(conflict(&row.path)),
                }
            }
        }
        Ok(())
    }
}

/// Copies trees into a folder, where each gets the number of its operation as its name.
pub(crate) struct Copier<'a> {
    disk: Disk,
    target: &'a OwnedFd,
    /// Where the first name of each file with several names was copied to.
    links: HashMap<u64, Vec<u8>>,
    buffer: Vec<u8>,
    /// Whether each copy is written to the disk at once.
    is_synced: bool,
}

impl<'a> Copier<'a> {
    fn new(disk: Disk, target: &'a OwnedFd) -> Self {
        Self { disk, target, links: HashMap::new(), buffer: vec![0; 128 * 1024], is_synced: false }
    }

    /// Writes each copy to the disk at once. For a few files, that is faster than syncing the whole file system.
    pub(crate) fn synced(disk: Disk, target: &'a OwnedFd) -> Self {
        Self { is_synced: true, ..Self::new(disk, target) }
    }

    fn sync(&self, object: impl AsFd) -> Result<(), Errno> {
        if self.is_synced { self.disk.sync(object) } else { Ok(()) }
    }

    /// Copies everything at one place. Does nothing if nothing is there.
    pub(crate) fn copy(&mut self, path: &[u8], from: Spot<'_>, name: &[u8]) -> Result<(), ChangeError> {
        let target = self.target;
        self.copy_tree(from, (target, name), name).map_err(failed("copy", path))
    }

    fn copy_tree(&mut self, from: Spot<'_>, to: Spot<'_>, whole: &[u8]) -> Result<(), Errno> {
        let Some(stat) = beneath::stat(from.0, from.1)? else { return Ok(()) };
        if crate::marks::is_whiteout_device(&stat) {
            return Ok(());
        }
        let object = Object::new(&stat);
        match &object.kind {
            ObjectKind::Folder => self.copy_folder(from, to, whole, &stat),
            ObjectKind::File if object.links > 1 && self.links.contains_key(&object.inode) => {
                self.disk.begin_change()?;
                let first = self.links.get(&object.inode).cloned().unwrap_or_default();
                rustix::fs::linkat(self.target, first, to.0, to.1, AtFlags::empty())
            }
            ObjectKind::File => {
                self.links.insert(object.inode, whole.to_vec());
                self.copy_file(from, to, &stat)
            }
            ObjectKind::Link(_) => {
                self.disk.begin_change()?;
                let target = rustix::fs::readlinkat(from.0, from.1, Vec::new())?;
                rustix::fs::symlinkat(target, to.0, to.1)?;
                keep_owner(self.disk, to, &stat)
            }
            ObjectKind::Pipe | ObjectKind::Socket => {
                self.disk.begin_change()?;
                let mode = Mode::from_raw_mode(stat.st_mode);
                rustix::fs::mknodat(to.0, to.1, FileType::from_raw_mode(stat.st_mode), mode, 0)?;
                keep_owner(self.disk, to, &stat)?;
                self.disk.set_mode(beneath::open_any(to.0, to.1)?, object.mode)
            }
            ObjectKind::Device => Err(Errno::OPNOTSUPP),
        }
    }

    fn copy_folder(&mut self, from: Spot<'_>, to: Spot<'_>, whole: &[u8], stat: &Stat) -> Result<(), Errno> {
        let source = beneath::open_folder(from.0, from.1)?;
        let target = self.disk.make_folder(to.0, to.1)?;
        for name in beneath::names(source.as_fd())? {
            let whole = [whole, b"/", &name].concat();
            self.copy_tree((&source, &name), (&target, &name), &whole)?;
        }
        copy_attributes(self.disk, source.as_fd(), target.as_fd())?;
        finish(self.disk, to, target.as_fd(), stat)?;
        self.sync(&target)
    }

    fn copy_file(&mut self, from: Spot<'_>, to: Spot<'_>, stat: &Stat) -> Result<(), Errno> {
        let source = beneath::open_file(from.0, from.1)?;
        let target = self.disk.make_file(to.0, to.1)?;
        let mut length = 0_u64;
        loop {
            let read = match rustix::io::read(&source, &mut self.buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            length += read as u64;
            let bytes = self.buffer.get(..read).unwrap_or_default();
            if bytes.iter().all(|byte| *byte == 0) {
                rustix::fs::seek(&target, SeekFrom::Start(length))?;
            } else {
                self.disk.write(&target, bytes)?;
            }
        }
        self.disk.begin_change()?;
        rustix::fs::ftruncate(&target, length)?;
        copy_attributes(self.disk, source.as_fd(), target.as_fd())?;
        finish(self.disk, to, target.as_fd(), stat)?;
        self.sync(&target)
    }
}

fn copy_attributes(disk: Disk, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<(), Errno> {
    for name in beneath::attribute_names(from)?.iter().filter(|name| !is_mark(name)) {
        let value = beneath::attribute(from, name)?;
        if beneath::attribute(to, name).ok().as_deref() != Some(&value) {
            disk.set_attribute(to, name, &value)?;
        }
    }
    Ok(())
}

fn keep_owner(disk: Disk, to: Spot<'_>, stat: &Stat) -> Result<(), Errno> {
    let made = beneath::stat(to.0, to.1)?.ok_or(Errno::NOENT)?;
    if (made.st_uid, made.st_gid) == (stat.st_uid, stat.st_gid) {
        return Ok(());
    }
    let (user, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    disk.begin_change()?;
    rustix::fs::chownat(to.0, to.1, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
}

/// Gives a copy the owner, permissions and time of the original, in this order: a new owner removes setuid.
fn finish(disk: Disk, to: Spot<'_>, target: BorrowedFd<'_>, stat: &Stat) -> Result<(), Errno> {
    keep_owner(disk, to, stat)?;
    let original = Object::new(stat);
    disk.set_mode(target, original.mode)?;
    disk.set_modified(target, original.modified)
}
