//! The change set of changes that no one has made yet.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::apply::TopFolder;
use crate::beneath;
use crate::change::{Carrier, Change, ChangeSet};
use crate::collect::{CollectLimits, Depth, Walk, root_id};
use crate::error::{ChangeError, failed};
use crate::object::{Object, ObjectKind};

/// The planned state of a path.
#[derive(Debug, Clone, Copy)]
pub enum PlannedState<'a> {
    /// Nothing.
    Removed,
    /// A new folder.
    Folder,
    /// A file with new content.
    File {
        /// Its permissions, if there is no file yet.
        mode: u32,
    },
    /// The object that is now at a path of a root, with everything in it.
    Moved {
        /// The root.
        root: BorrowedFd<'a>,
        /// The path beneath that root.
        path: &'a Path,
    },
}

impl ChangeSet {
    /// Returns the change set of changes that no one has made yet. It has no digests of content, so it cannot be committed.
    ///
    /// # Errors
    ///
    /// Fails if the paths cannot be inspected, or if they contain too much.
    pub fn planned<'a>(
        root: impl AsFd,
        planned: impl IntoIterator<Item = (&'a Path, PlannedState<'a>)>,
    ) -> Result<Self, ChangeError> {
        let mut sides = TopFolder::new(beneath::open_folder(&root, b"").map_err(failed("open", b"."))?);
        let mut rows = Vec::new();
        for (path, state) in planned {
            let path = path.as_os_str().as_bytes();
            let mut walk = Walk::new(CollectLimits::default());
            walk.depth = Depth::Versions;
            walk.keeps_unchanged = true;
            let name = beneath::split(path).1;
            let before = sides.parent(path)?.map(|parent| (parent, name));
            match state {
                PlannedState::Removed => walk.pair(path, before, None, Carrier::Own)?,
                PlannedState::Moved { root, path: from } => {
                    // Only a full look finds the attributes that give a program privileges.
                    walk.depth = Depth::Content;
                    let from = from.as_os_str().as_bytes();
                    let top = beneath::open_folder(root, b"").map_err(failed("open", b"."))?;
                    let mut other = TopFolder::new(top);
                    let after = other.parent(from)?.map(|parent| (parent, beneath::split(from).1));
                    walk.pair(path, before, after, Carrier::Own)?;
                }
                PlannedState::Folder => new_object(&mut walk, path, before, |_| (ObjectKind::Folder, 0o755))?,
                PlannedState::File { mode } => {
                    let permissions = |old: Option<&Object>| old.map_or(mode, |old| old.mode & 0o777);
                    new_object(&mut walk, path, before, |old| (ObjectKind::File, permissions(old)))?;
                }
            }
            rows.append(&mut walk.rows);
        }
        Ok(Self::new(root_id(root)?, rows))
    }
}

/// Adds the row of an object that a tool would make.
fn new_object(
    walk: &mut Walk,
    path: &[u8],
    before: Option<beneath::Spot<'_>>,
    made: impl FnOnce(Option<&Object>) -> (ObjectKind, u32),
) -> Result<(), ChangeError> {
    walk.pair(path, before, None, Carrier::Own)?;
    let before = walk.rows.drain(..).next().and_then(|row| row.before);
    let (kind, mode) = made(before.as_ref());
    let owner = before.as_ref().map_or((0, 0), |before| before.owner);
    let after = Object::planned(kind, mode, owner);
    let (path, carrier) = (path.to_vec(), Carrier::Own);
    walk.rows.push(Change { path, before, after: Some(after), carrier, is_linked_elsewhere: false });
    Ok(())
}
