//! A change set: all that a view would change in its root, as data.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::object::{Digest, Object, ObjectKind, raw};

/// How a path gets its new state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Carrier {
    /// The object at this path moves.
    #[serde(rename = "o")]
    Own,
    /// The folder at this path stays, and gets another mode.
    #[serde(rename = "m")]
    Merged,
    /// A folder above moves, with everything in it.
    #[serde(rename = "c")]
    Above,
}

/// One path, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    #[serde(rename = "p", with = "raw")]
    pub(crate) path: Vec<u8>,
    /// The object in the root, or `None` if there is none.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Object>,
    /// The object in the view, or `None` if the view has none.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Object>,
    #[serde(rename = "w")]
    pub(crate) carrier: Carrier,
    /// Whether the new file has a name that the change set does not contain.
    #[serde(rename = "l", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_linked_elsewhere: bool,
}

/// The difference between before and after. The first that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// There was nothing.
    Added,
    /// There is nothing anymore.
    Removed,
    /// It is of another kind, such as a link in place of a file.
    Kind,
    /// The content of a file, or the target of a link.
    Content,
    /// Permissions, owner or extended attributes.
    Attributes,
    /// The modification time only.
    Times,
    /// Nothing: a folder was replaced by a new one that contains the same at this path.
    Unchanged,
}

/// A property that makes a new object special.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpecialProperty {
    /// A device, also a mark of overlayfs where none can be.
    Device,
    /// A named pipe.
    Pipe,
    /// A unix socket.
    Socket,
    /// A file that runs as its owner or group.
    SetId,
    /// A file that gives capabilities to whoever runs it.
    Capabilities,
    /// Extended attributes that the replaced object did not have.
    Attributes,
    /// Another owner than the replaced object.
    Owner,
    /// Another name of the file is not in the change set.
    LinkedElsewhere,
    /// It could not be read, so there is no digest.
    Unreadable,
}

impl Change {
    /// The path beneath the root.
    #[must_use]
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    /// Returns true if the object moves together with a folder above it.
    #[must_use]
    pub fn is_carried(&self) -> bool {
        self.carrier == Carrier::Above
    }

    /// Returns the difference.
    #[must_use]
    pub fn kind(&self) -> ChangeKind {
        let (Some(before), Some(after)) = (&self.before, &self.after) else {
            return if self.before.is_some() { ChangeKind::Removed } else { ChangeKind::Added };
        };
        let is_link = |object: &Object| matches!(object.kind, ObjectKind::Link(_));
        if before.kind != after.kind && !(is_link(before) && is_link(after)) {
            ChangeKind::Kind
        } else if !before.has_same_content(after) {
            ChangeKind::Content
        } else if before.mode != after.mode || !before.has_same_extras(after) {
            ChangeKind::Attributes
        } else if before.kind == ObjectKind::File && before.modified != after.modified {
            ChangeKind::Times
        } else {
            ChangeKind::Unchanged
        }
    }

    /// Returns all that is special about the change.
    #[must_use]
    pub fn special(&self) -> Vec<SpecialProperty> {
        let mut found = Vec::new();
        let mut add = |is: bool, special| found.extend(is.then_some(special));
        let unreadable = [&self.before, &self.after].into_iter().flatten().any(|object| object.is_unreadable);
        add(unreadable, SpecialProperty::Unreadable);
        let Some(after) = &self.after else { return found };
        add(after.kind == ObjectKind::Device, SpecialProperty::Device);
        add(after.kind == ObjectKind::Pipe, SpecialProperty::Pipe);
        add(after.kind == ObjectKind::Socket, SpecialProperty::Socket);
        add(after.mode & 0o6000 != 0 && !after.is_folder(), SpecialProperty::SetId);
        add(after.has_capabilities, SpecialProperty::Capabilities);
        let before = self.before.as_ref();
        let known = after.attributes.is_none() || before.is_some_and(|b| b.attributes == after.attributes);
        add(!known || after.has_forged_marks, SpecialProperty::Attributes);
        add(before.is_some_and(|before| before.owner != after.owner), SpecialProperty::Owner);
        add(self.is_linked_elsewhere, SpecialProperty::LinkedElsewhere);
        found
    }
}

/// Which folder a change set belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootId {
    /// The device number. It may be another one after a restart of the machine.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
}

/// All changes of a view, in the order of their paths: a folder comes before its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSet {
    pub(crate) root: RootId,
    pub(crate) rows: Vec<Change>,
    digest: Digest,
}

impl ChangeSet {
    pub(crate) fn new(root: RootId, mut rows: Vec<Change>) -> Self {
        find_links_elsewhere(&mut rows);
        let digest = digest(root, &rows);
        Self { root, rows, digest }
    }

    /// Returns the changes, without the paths at which a new folder contains the same as the old one.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.rows.iter().filter(|row| row.kind() != ChangeKind::Unchanged)
    }

    /// Returns every path that a commit checks, including unchanged ones in a replaced folder.
    #[must_use]
    pub fn rows(&self) -> &[Change] {
        &self.rows
    }

    /// Returns true if nothing would change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The digest of everything that a person can see of these changes. A permit to commit them names it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The root of the view.
    #[must_use]
    pub fn root(&self) -> RootId {
        self.root
    }

    /// How many bytes the store keeps for undo after a commit.
    #[must_use]
    pub fn replaced_bytes(&self) -> u64 {
        bytes(self.rows.iter().filter_map(|row| row.before.as_ref()))
    }
}

pub(crate) fn bytes<'a>(objects: impl Iterator<Item = &'a Object>) -> u64 {
    objects.fold(0, |sum, object| sum.saturating_add(object.size).saturating_add(512))
}

fn digest(root: RootId, rows: &[Change]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(b"askfirst changes 1");
    hasher.update(root.device.to_le_bytes());
    hasher.update(root.inode.to_le_bytes());
    for row in rows {
        hasher.update((row.path.len() as u64).to_le_bytes());
        hasher.update(&row.path);
        for side in [&row.before, &row.after] {
            hasher.update([u8::from(side.is_some())]);
            if let Some(object) = side {
                object.add_to(&mut hasher);
            }
        }
        hasher.update([row.carrier as u8, u8::from(row.is_linked_elsewhere)]);
    }
    Digest::finish(hasher)
}

/// Marks the new files that have more names than the change set contains.
fn find_links_elsewhere(rows: &mut [Change]) {
    let mut names: HashMap<u64, u32> = HashMap::new();
    let has_links = |object: &&Object| object.links > 1;
    for object in rows.iter().filter_map(|row| row.after.as_ref()).filter(has_links) {
        *names.entry(object.inode).or_default() += 1;
    }
    for row in rows {
        let object = row.after.as_ref().filter(has_links);
        let all = object.is_none_or(|object| names.get(&object.inode) == Some(&object.links));
        row.is_linked_elsewhere = !all;
    }
}
