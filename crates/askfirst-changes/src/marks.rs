//! The marks that overlayfs leaves in an upper layer that is mounted with `userxattr`.
//!
//! A program in the view cannot forge them: overlayfs stores its `user.overlay.*` as `user.overlay.overlay.*`.

use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::beneath;
use crate::object::{Digest, Object};

const PREFIX: &[u8] = b"user.overlay.";
const ESCAPED: &[u8] = b"user.overlay.overlay.";
/// The label that SELinux gives each file by the rules of the machine.
const LABEL: &[u8] = b"security.selinux";
const CAPABILITY: &[u8] = b"security.capability";

/// The marks of one object.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each mark stands alone")]
pub(crate) struct Marks {
    /// The folder hides the folder of the root.
    pub(crate) is_opaque: bool,
    /// Empty files in this folder can be whiteouts.
    pub(crate) has_empty_whiteouts: bool,
    /// The file is a whiteout if its folder has such.
    pub(crate) is_whiteout: bool,
    /// The object is a whiteout.
    pub(crate) is_device: bool,
}

/// Returns true for the device 0/0, which hides a name of the root.
pub(crate) fn is_whiteout_device(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0
}

/// Returns true for an attribute that a commit removes: a mark, or an escaped one.
pub(crate) fn is_mark(name: &[u8]) -> bool {
    name.starts_with(PREFIX)
}

impl Marks {
    /// Reads the marks, and adds the other attributes to `object`.
    pub(crate) fn read(file: BorrowedFd<'_>, object: &mut Object) -> Result<Self, Errno> {
        let mut marks = Self::default();
        let mut names = beneath::attribute_names(file)?;
        if names.is_empty() {
            return Ok(marks);
        }
        names.sort_unstable();
        let mut foreign = Sha256::new();
        let mut is_foreign = false;
        for name in names.iter().filter(|name| *name != LABEL) {
            object.is_marked |= is_mark(name);
            if name.starts_with(ESCAPED) {
                object.has_forged_marks = true;
                continue;
            }
            if is_mark(name) {
                marks.add(file, object, name)?;
                continue;
            }
            let value = beneath::attribute(file, name)?;
            object.has_capabilities |= name == CAPABILITY;
            is_foreign = true;
            for part in [name, &value] {
                foreign.update((part.len() as u64).to_le_bytes());
                foreign.update(part);
            }
        }
        object.attributes = is_foreign.then(|| Digest::finish(foreign));
        Ok(marks)
    }

    fn add(&mut self, file: BorrowedFd<'_>, object: &Object, name: &[u8]) -> Result<(), Errno> {
        match name.strip_prefix(PREFIX) {
            Some(b"opaque") => {
                let value = beneath::attribute(file, name)?;
                self.is_opaque = value == b"y";
                self.has_empty_whiteouts = value == b"x";
            }
            Some(b"whiteout") => self.is_whiteout = object.size == 0,
            _ => {}
        }
        Ok(())
    }
}
