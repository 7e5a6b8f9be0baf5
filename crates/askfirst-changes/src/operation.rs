//! The operations of a commit: each moves or exchanges one object in one step, and can be done backward.

use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};

use crate::beneath;
use crate::change::{Carrier, Change, ChangeKind};
use crate::error::{ChangeError, failed};
use crate::object::{Object, ObjectKind, raw};

/// The way of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From before to after.
    Forward,
    /// From after to before.
    Backward,
}

/// One kind of operation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Action {
    /// Moves a new object into the root.
    Add,
    /// Moves an object out of the root.
    Remove,
    /// Exchanges an object of the root with a new one.
    Replace,
    /// Sets permissions and time of a file.
    Attributes,
    /// Sets the permissions of a folder.
    Mode {
        /// The folder's inode.
        inode: u64,
        before: u32,
        after: u32,
        /// All modes that the folder may have in between. For a folder that must become writable first: the mode
        /// before, the writable one, and the mode in the end.
        known: Vec<u32>,
    },
}

/// One step of a commit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Operation {
    pub(crate) action: Action,
    #[serde(with = "raw")]
    pub(crate) path: Vec<u8>,
    /// The rows at and below this path: the first, and the one after the last.
    pub(crate) rows: (usize, usize),
    /// The number of the copy of what it replaced, if that is not the number of the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<usize>,
}

/// Returns the operations for these rows, in order: folders become writable, then new and changed objects, then
/// removals, then the permissions of folders.
pub(crate) fn plan(root: &OwnedFd, rows: &[Change]) -> Result<Vec<Operation>, ChangeError> {
    let (mut moves, mut removals, mut merged) = (Vec::new(), Vec::new(), Vec::new());
    let starts: Vec<usize> =
        (0..rows.len()).filter(|at| rows.get(*at).is_some_and(|row| !row.is_carried())).collect();
    let ends = starts.iter().skip(1).copied().chain([rows.len()]);
    for (start, end) in starts.iter().copied().zip(ends) {
        let Some(row) = rows.get(start) else { continue };
        let action = action(row)?;
        let operation = Operation { path: row.path.clone(), rows: (start, end), action, copy: None };
        match operation.action {
            Action::Remove => removals.push(operation),
            Action::Mode { .. } => merged.push(operation),
            Action::Add | Action::Replace | Action::Attributes => moves.push(operation),
        }
    }
    moves.append(&mut removals);
    let opened = open_protected(root, &moves, &mut merged)?;
    merged.reverse();
    Ok(opened.into_iter().chain(moves).chain(merged).collect())
}

fn action(row: &Change) -> Result<Action, ChangeError> {
    let (Some(before), Some(after)) = (&row.before, &row.after) else {
        return Ok(if row.before.is_some() { Action::Remove } else { Action::Add });
    };
    if row.carrier == Carrier::Merged {
        if !before.has_same_extras(after) {
            let reason = "the owner or the attributes of a folder changed";
            return Err(ChangeError::Unsupported { path: row.path().to_owned(), reason });
        }
        let (inode, before, after) = (before.inode, before.mode, after.mode);
        return Ok(Action::Mode { inode, before, after, known: vec![before, after] });
    }
    let is_file = before.kind == ObjectKind::File && before.has_same_extras(after);
    let keeps_content = matches!(row.kind(), ChangeKind::Attributes | ChangeKind::Times);
    Ok(if is_file && keeps_content { Action::Attributes } else { Action::Replace })
}

/// Returns operations that make the folders writable in which names change, and adds the operations that set their
/// permissions afterward.
fn open_protected(
    root: &OwnedFd,
    moves: &[Operation],
    merged: &mut Vec<Operation>,
) -> Result<Vec<Operation>, ChangeError> {
    let mut opened: Vec<Operation> = Vec::new();
    let mut last: Option<&[u8]> = None;
    for operation in moves {
        let parent = beneath::split(&operation.path).0;
        if last == Some(parent) || matches!(operation.action, Action::Attributes) {
            continue;
        }
        last = Some(parent);
        // A folder that is gone is a conflict, which the check reports.
        let Ok(folder) = beneath::open_lookup(root, parent) else { continue };
        let stat = rustix::fs::fstat(folder).map_err(failed("inspect", parent))?;
        let (mode, inode) = (stat.st_mode & 0o7777, stat.st_ino);
        if mode & 0o300 == 0o300 || opened.iter().any(|operation| operation.path == parent) {
            continue;
        }
        let found = merged.iter().position(|operation| operation.path == parent);
        let at = found.unwrap_or(merged.len());
        let end = match found.and_then(|at| merged.get(at)).map(|operation| &operation.action) {
            Some(Action::Mode { after, .. }) => *after,
            _ => mode,
        };
        let open = mode | 0o700;
        let known = vec![mode, open, end];
        let operation = |before, after| Operation {
            action: Action::Mode { inode, before, after, known: known.clone() },
            path: parent.to_vec(),
            rows: (0, 0),
            copy: None,
        };
        opened.push(operation(mode, open));
        if found.is_some() {
            merged.remove(at);
        }
        merged.insert(at, operation(open, end));
    }
    Ok(opened)
}

impl Operation {
    /// The name of its object in a folder of copies. `number` is the number of the operation.
    pub(crate) fn copy_name(&self, number: usize) -> Vec<u8> {
        self.copy.unwrap_or(number).to_string().into_bytes()
    }

    /// The rows at and below the path of the operation.
    pub(crate) fn rows<'a>(&self, rows: &'a [Change]) -> &'a [Change] {
        rows.get(self.rows.0..self.rows.1).unwrap_or_default()
    }

    /// Returns true if the object stays where it is, and only its attributes change.
    pub(crate) fn stays(&self) -> bool {
        matches!(self.action, Action::Mode { .. } | Action::Attributes)
    }

    /// The objects of the operation itself, before and after.
    pub(crate) fn objects<'a>(&self, rows: &'a [Change]) -> (Option<&'a Object>, Option<&'a Object>) {
        let row = self.rows(rows).first();
        (row.and_then(|row| row.before.as_ref()), row.and_then(|row| row.after.as_ref()))
    }
}
