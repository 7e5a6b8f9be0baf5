//! The check before a commit or an undo: both sides are as they were when they were collected or committed.

use std::path::PathBuf;

use crate::apply::Sides;
use crate::beneath;
use crate::change::{Carrier, Change};
use crate::collect::{Depth, TOP, Walk};
use crate::error::ChangeError;
use crate::object::Object;
use crate::operation::{Direction, Operation};

/// How closely an object must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    /// Not even its name has changed since it was read.
    Untouched,
    /// The same object with the same content.
    Version,
    /// Another object with the same content.
    Copy,
}

impl Match {
    fn holds(self, found: Option<&Object>, expected: Option<&Object>) -> bool {
        match (found, expected) {
            (None, None) => true,
            (Some(found), Some(expected)) => match self {
                Self::Untouched => found.is_untouched(expected),
                Self::Version => found.is_same_version(expected),
                Self::Copy => found.is_same_copy(expected),
            },
            _ => false,
        }
    }
}

/// Checks everything that operations in this direction would touch.
pub(crate) fn verify(
    sides: &mut Sides,
    rows: &[Change],
    operations: &[Operation],
    direction: Direction,
    (public, private): (Match, Match),
) -> Result<(), ChangeError> {
    let mut conflicts = Vec::new();
    let mut walk = Walk::unlimited(Depth::Content);
    walk.keeps_unchanged = true;
    for (number, operation) in operations.iter().enumerate().filter(|(_, operation)| operation.rows != (0, 0))
    {
        let expected = operation.rows(rows);
        let stays = operation.stays();
        let name = beneath::split(&operation.path).1;
        let parent = sides.root.parent(&operation.path)?.map(|parent| (parent, name));
        // The new version of an object that stays is only needed once. The top of a layer is not one of the view.
        let needless = stays && (public != Match::Untouched || operation.path == TOP);
        let kept = if needless { None } else { sides.private.place(operation, number)? };
        let kept = kept.as_ref().map(|(folder, name)| (*folder, name.as_slice()));
        walk.rows.clear();
        walk.pair(&operation.path, parent, kept, if stays { Carrier::Merged } else { Carrier::Own })?;
        let wrong = |(found, expected): &(&Change, &Change)| {
            let (now, then) = sides_of(expected, direction, stays);
            found.path != expected.path
                || !public.holds(found.before.as_ref(), now.as_ref())
                || !(kept.is_none() && stays || private.holds(found.after.as_ref(), then))
        };
        let path = |row: &Change| row.path().to_owned();
        conflicts.extend(walk.rows.iter().zip(expected).filter(wrong).map(|(found, _)| path(found)));
        if walk.rows.len() != expected.len() {
            conflicts.push(expected.first().map_or_else(PathBuf::new, path));
        }
    }
    if conflicts.is_empty() { Ok(()) } else { Err(ChangeError::Conflict(conflicts)) }
}

/// Returns the objects that the root and the private side must have before the operations run.
fn sides_of(row: &Change, direction: Direction, stays: bool) -> (Option<Object>, Option<&Object>) {
    let (mut now, then) = match direction {
        Direction::Forward => (row.before.clone(), row.after.as_ref()),
        Direction::Backward => (row.after.clone(), row.before.as_ref()),
    };
    if let (true, Some(now), Some(before)) = (stays, &mut now, &row.before) {
        now.inode = before.inode;
    }
    (now, then)
}
