//! The links of the tree: they lead to grants, so that a path through a link outside works inside too.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;

use super::{EntryKind, TreeBuilder};
use crate::error::escape;
use crate::isolation::order::SetupError;
use crate::isolation::sys;

impl TreeBuilder<'_> {
    /// Creates the links of the profile. The folder of a link may be in a grant: then the link is there already.
    pub(super) fn links(&self) -> Result<(), SetupError> {
        for (path, to) in &self.order.profile.links {
            let make = || {
                let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(io::ErrorKind::InvalidInput.into());
                };
                let folder = self.place(above, EntryKind::Folder)?;
                if !self.may_create(folder.as_fd(), above)? {
                    return Ok(());
                }
                sys::make_link(&sys::c_path(to)?, folder.as_raw_fd(), &CString::new(name.as_bytes())?)
            };
            match make() {
                // Something else of this profile is there, or the folder would be in a grant that does not have it.
                Err(cause)
                    if matches!(cause.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {}
                made => made.map_err(SetupError::at(format!("creating the link `{}`", escape(path))))?,
            }
        }
        Ok(())
    }
}
