//! Collects the changes of a view: compares the upper layer of an overlay with the root below it.
//!
//! The view must be unmounted and its processes must have ended, because a live process could still write.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::beneath::{self, MAX_PATH, NameInFolder};
use crate::change::{Carrier, Change, ChangeSet, RootId};
use crate::error::{ChangeError, TooLarge, failed};
use crate::marks::{Marks, is_whiteout_device};
use crate::object::{Digest, Object, ObjectKind};

/// The path of the root itself.
pub(crate) const TOP: &[u8] = b".";

/// The deepest folders that any limit allows: the walk calls itself for each.
const MAX_DEPTH: usize = 256;

/// How many bytes to read at a time.
const BUFFER: usize = 128 * 1024;

/// How much a change set may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectLimits {
    /// Files, folders and links on both sides together.
    pub files: usize,
    /// Folders within folders; at most 256.
    pub depth: usize,
    /// Bytes of content on both sides together, holes included.
    pub bytes: u64,
}

impl Default for CollectLimits {
    fn default() -> Self {
        Self { files: 400_000, depth: 128, bytes: 8 << 30 }
    }
}

/// Collects the changes that the upper layer `upper` makes to `root`.
///
/// # Errors
///
/// Fails if the changes exceed the limits, or if a folder cannot be read.
pub fn collect(root: impl AsFd, upper: impl AsFd, limits: &CollectLimits) -> Result<ChangeSet, ChangeError> {
    let root = root.as_fd();
    let mut walk = Walk::new(*limits);
    let lower = beneath::open_folder(root, b"").map_err(failed("open", b"."))?;
    let upper = beneath::open_folder(upper, b"").map_err(failed("open", b"."))?;
    walk.compare_tops(&lower, &upper)?;
    walk.merge(Some(&lower), &upper, false, 0)?;
    Ok(ChangeSet::new(root_id(root)?, walk.rows))
}

pub(crate) fn root_id(root: impl AsFd) -> Result<RootId, ChangeError> {
    let found = rustix::fs::fstat(root).map_err(failed("inspect", b"."))?;
    Ok(RootId { device: found.st_dev, inode: found.st_ino })
}

/// An object, with its descriptor if it is a folder.
struct OpenObject {
    object: Object,
    folder: Option<OwnedFd>,
    marks: Marks,
}

/// How much of an object to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Everything.
    Content,
    /// All but the content and the attributes, for a check that a moved folder is still the same.
    Versions,
}

/// A walk through one or two folders at a time.
pub(crate) struct Walk {
    left: CollectLimits,
    limits: CollectLimits,
    pub(crate) depth: Depth,
    /// Whether an unchanged path gets a row too.
    pub(crate) keeps_unchanged: bool,
    path: Vec<u8>,
    buffer: Vec<u8>,
    pub(crate) rows: Vec<Change>,
}

impl Walk {
    pub(crate) fn new(limits: CollectLimits) -> Self {
        let limits = CollectLimits { depth: limits.depth.min(MAX_DEPTH), ..limits };
        Self {
            left: limits,
            limits,
            depth: Depth::Content,
            keeps_unchanged: false,
            path: Vec::new(),
            buffer: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// A walk for checks, with the limits of a set that was already collected.
    pub(crate) fn unlimited(depth: Depth) -> Self {
        let limits = CollectLimits { files: usize::MAX, depth: MAX_DEPTH, bytes: u64::MAX };
        Self { depth, ..Self::new(limits) }
    }

    fn fault(&self, action: &'static str) -> impl FnOnce(Errno) -> ChangeError + '_ {
        failed(action, &self.path)
    }

    /// Reads everything at one path, with everything below it, from one or two folders.
    pub(crate) fn pair(
        &mut self,
        path: &[u8],
        lower: Option<(&OwnedFd, &[u8])>,
        upper: Option<(&OwnedFd, &[u8])>,
        carrier: Carrier,
    ) -> Result<(), ChangeError> {
        self.path = path.to_vec();
        let side = |walk: &mut Self, side: Option<(&OwnedFd, &[u8])>| match side {
            Some((folder, name)) => walk.see(folder, name, false),
            None => Ok(None),
        };
        let (before, after) = (side(self, lower)?, side(self, upper)?);
        if carrier == Carrier::Merged {
            self.push(before.as_ref(), after.as_ref(), carrier);
            return Ok(());
        }
        self.row(before, after, carrier, 0)
    }

    /// Compares the permissions of the root itself. The rest of the upper layer's top does not belong to the view.
    fn compare_tops(&mut self, lower: &OwnedFd, upper: &OwnedFd) -> Result<(), ChangeError> {
        let fault = || failed("inspect", TOP);
        let before = Object::new(&rustix::fs::fstat(lower).map_err(fault())?);
        let mode = Object::new(&rustix::fs::fstat(upper).map_err(fault())?).mode;
        if before.mode != mode {
            let (before, after) = (Some(before.clone()), Some(Object { mode, ..before }));
            let (path, carrier) = (TOP.to_vec(), Carrier::Merged);
            self.rows.push(Change { path, before, after, carrier, is_linked_elsewhere: false });
        }
        Ok(())
    }

    /// Compares the names in a folder of the upper layer with the folder of the root that it covers.
    fn merge(
        &mut self,
        lower: Option<&OwnedFd>,
        upper: &OwnedFd,
        has_empty_whiteouts: bool,
        depth: usize,
    ) -> Result<(), ChangeError> {
        for (name, is_file) in self.names(Some(upper))? {
            let length = self.enter(&name, depth)?;
            let before = lower.map_or(Ok(None), |lower| self.see(lower, &name, false))?;
            let after = self.see(upper, &name, is_file)?;
            let after =
                after.filter(|seen| !(seen.marks.is_whiteout && has_empty_whiteouts || seen.marks.is_device));
            self.compare(before, after, depth)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    /// Compares one name of the upper layer with the root.
    fn compare(
        &mut self,
        before: Option<OpenObject>,
        after: Option<OpenObject>,
        depth: usize,
    ) -> Result<(), ChangeError> {
        if let (Some(old), Some(new)) = (&before, &after)
            && let (Some(lower), Some(upper)) = (&old.folder, &new.folder)
            && !new.marks.is_opaque
        {
            self.push(before.as_ref(), after.as_ref(), Carrier::Merged);
            return self.merge(Some(lower), upper, new.marks.has_empty_whiteouts, depth + 1);
        }
        let is_folder = |seen: &Option<OpenObject>| seen.as_ref().is_some_and(|seen| seen.object.is_folder());
        let is_opaque = after.as_ref().is_some_and(|new| new.marks.is_opaque);
        if is_folder(&before) && is_folder(&after) && !is_opaque {
            let path = PathBuf::from(OsStr::from_bytes(&self.path));
            return Err(ChangeError::Unsupported { path, reason: "the folder cannot be read" });
        }
        self.row(before, after, Carrier::Own, depth)
    }

    /// Adds a row for this path and rows for everything below it.
    fn row(
        &mut self,
        before: Option<OpenObject>,
        after: Option<OpenObject>,
        carrier: Carrier,
        depth: usize,
    ) -> Result<(), ChangeError> {
        self.push(before.as_ref(), after.as_ref(), carrier);
        let lower = before.and_then(|seen| seen.folder);
        let upper = after.and_then(|seen| seen.folder);
        let mut names = self.names(lower.as_ref())?;
        names.extend(self.names(upper.as_ref())?);
        if lower.is_some() && upper.is_some() {
            // One name may be of two kinds.
            names.iter_mut().for_each(|(_, is_file)| *is_file = false);
            names.sort_unstable();
            names.dedup();
        }
        for (name, is_file) in names {
            let length = self.enter(&name, depth)?;
            let before = lower.as_ref().map_or(Ok(None), |folder| self.see(folder, &name, is_file))?;
            let after = upper.as_ref().map_or(Ok(None), |folder| self.see(folder, &name, is_file))?;
            self.row(before, after, Carrier::Above, depth + 1)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn push(&mut self, before: Option<&OpenObject>, after: Option<&OpenObject>, carrier: Carrier) {
        let object = |seen: Option<&OpenObject>| seen.map(|seen| seen.object.clone());
        let (before, after) = (object(before), object(after));
        if before.is_none() && after.is_none() {
            return;
        }
        let row = Change { path: self.path.clone(), before, after, carrier, is_linked_elsewhere: false };
        // A copied-up file without any change leaves no row.
        let is_folder = row.after.as_ref().is_some_and(Object::is_folder);
        let is_same = row.kind() == crate::ChangeKind::Unchanged;
        if !is_same || self.keeps_unchanged || !drops(carrier, is_folder) {
            self.rows.push(row);
        }
    }

    /// Appends a name to the path, and returns the former length of the path.
    fn enter(&mut self, name: &[u8], depth: usize) -> Result<usize, ChangeError> {
        let length = self.path.len();
        if length > 0 {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        if self.path.len() > MAX_PATH {
            return Err(TooLarge::Path(MAX_PATH).into());
        }
        if depth >= self.limits.depth {
            return Err(TooLarge::Depth(self.limits.depth).into());
        }
        Ok(length)
    }

    /// Returns the names in a folder, each of which counts.
    fn names(&mut self, folder: Option<&OwnedFd>) -> Result<Vec<NameInFolder>, ChangeError> {
        let Some(folder) = folder else { return Ok(Vec::new()) };
        let names = beneath::typed_names(folder.as_fd(), self.left.files).map_err(self.fault("list"))?;
        let left = self.left.files.checked_sub(names.len()).ok_or(TooLarge::Files(self.limits.files))?;
        self.left.files = left;
        Ok(names)
    }

    /// Reads one object. A name that is known to be a file's is opened without a look at it first.
    fn see(
        &mut self,
        folder: &OwnedFd,
        name: &[u8],
        is_file: bool,
    ) -> Result<Option<OpenObject>, ChangeError> {
        if is_file
            && self.depth == Depth::Content
            && let Ok(file) = beneath::open_file(folder, name)
        {
            let stat = rustix::fs::fstat(&file).map_err(self.fault("inspect"))?;
            return self.see_open_file(&file, Object::new(&stat)).map(Some);
        }
        let Some(stat) = beneath::stat(folder, name).map_err(self.fault("inspect"))? else { return Ok(None) };
        let mut seen = OpenObject { object: Object::new(&stat), folder: None, marks: Marks::default() };
        match seen.object.kind {
            ObjectKind::File if self.depth == Depth::Content => {
                return self.see_file(folder, name, seen).map(Some);
            }
            ObjectKind::Folder => match beneath::open_folder(folder, name) {
                Ok(opened) => {
                    if self.depth == Depth::Content {
                        seen.marks =
                            Marks::read(opened.as_fd(), &mut seen.object).map_err(self.fault("inspect"))?;
                    }
                    seen.folder = Some(opened);
                }
                Err(Errno::ACCESS) => seen.object.is_unreadable = true,
                Err(error) => return Err(self.fault("open")(error)),
            },
            ObjectKind::Link(_) => {
                let target = rustix::fs::readlinkat(folder, name, Vec::new()).map_err(self.fault("read"))?;
                seen.object.kind = ObjectKind::Link(target.into_bytes());
            }
            ObjectKind::Device => seen.marks.is_device = is_whiteout_device(&stat),
            ObjectKind::File | ObjectKind::Pipe | ObjectKind::Socket => {}
        }
        Ok(Some(seen))
    }

    fn see_file(
        &mut self,
        folder: &OwnedFd,
        name: &[u8],
        mut seen: OpenObject,
    ) -> Result<OpenObject, ChangeError> {
        match beneath::open_file(folder, name) {
            // If another file has taken the place since the look at it, the commit will see another inode.
            Ok(file) => self.see_open_file(&file, seen.object),
            Err(Errno::ACCESS | Errno::PERM) => {
                seen.object.is_unreadable = true;
                Ok(seen)
            }
            Err(error) => Err(self.fault("open")(error)),
        }
    }

    fn see_open_file(&mut self, file: &OwnedFd, mut object: Object) -> Result<OpenObject, ChangeError> {
        if object.kind != ObjectKind::File {
            // Something else has taken its place since the folder was listed.
            return Err(self.fault("read")(Errno::AGAIN));
        }
        let left = self.left.bytes.checked_sub(object.size).ok_or(TooLarge::Bytes(self.limits.bytes))?;
        self.left.bytes = left;
        let marks = Marks::read(file.as_fd(), &mut object).map_err(self.fault("inspect"))?;
        object.digest = Some(self.digest(file.as_fd(), object.size)?);
        Ok(OpenObject { object, folder: None, marks })
    }

    /// Reads as much of a file as it contained when it was inspected.
    fn digest(&mut self, file: BorrowedFd<'_>, size: u64) -> Result<Digest, ChangeError> {
        let mut hasher = Sha256::new();
        let mut left = size;
        self.buffer.resize(BUFFER, 0);
        while left > 0 {
            let want = usize::try_from(left).unwrap_or(usize::MAX).min(BUFFER);
            let buffer = self.buffer.get_mut(..want).unwrap_or_default();
            let read = match rustix::io::read(file, buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(self.fault("read")(error)),
            };
            hasher.update(self.buffer.get(..read).unwrap_or_default());
            left = left.saturating_sub(read as u64);
        }
        Ok(Digest::finish(hasher))
    }
}

/// Returns true if an unchanged path needs no row.
fn drops(carrier: Carrier, is_folder: bool) -> bool {
    match carrier {
        Carrier::Own => !is_folder,
        Carrier::Merged => true,
        Carrier::Above => false,
    }
}
