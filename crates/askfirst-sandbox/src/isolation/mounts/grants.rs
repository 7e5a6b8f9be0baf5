//! Mounts what is granted: the files themselves, or a view of them.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use super::mounting;
use crate::error::escape;
use crate::isolation::order::SetupError;
use crate::isolation::sys::{self, MountScope, NO_DEVICES, NO_SET_ID, READ_ONLY};
use crate::profile::{Grant, Identity, KeptFolder, Mode, OSProfile, View, depth};

pub(super) fn copy(of: &OwnedFd, mode: Mode) -> io::Result<OwnedFd> {
    let copy = sys::copy_tree(of.as_fd())?;
    let write = match mode {
        Mode::Read | Mode::Scratch => READ_ONLY,
        Mode::Write => 0,
    };
    sys::set_attributes(copy.as_fd(), write | NO_SET_ID | NO_DEVICES, MountScope::Tree)?;
    Ok(copy)
}

/// Opens the mount of a grant. For a folder with a throw-away layer, that is the folder itself, without a mount yet.
pub(super) fn pick_grant(profile: &OSProfile, grant: &Grant, mode: Mode) -> Result<OwnedFd, SetupError> {
    let handle = open_grant(grant)?;
    if mode == Mode::Scratch {
        return Ok(handle);
    }
    match profile.views.iter().find(|view| mode == Mode::Write && view.root == grant.path) {
        Some(view) => overlay(&handle, view),
        None => copy(&handle, mode).map_err(mounting(&grant.path)),
    }
}

/// Copies a folder that the caller keeps.
pub(super) fn pick_kept(kept: &KeptFolder) -> Result<OwnedFd, SetupError> {
    let handle = open_grant(&kept.folder)?;
    copy(&handle, Mode::Write).map_err(mounting(&kept.folder.path))
}

/// Mounts a view: an overlay whose lower layer is the folder of the grant.
fn overlay(lower: &OwnedFd, view: &View) -> Result<OwnedFd, SetupError> {
    let (upper, work) = (open_grant(&view.upper)?, open_grant(&view.work)?);
    new_overlay([lower, &upper, &work])
        .map_err(SetupError::at(format!("making a view of `{}`", escape(&view.root))))
}

/// Creates an overlay of the lower layer, the upper layer and the work folder.
pub(super) fn new_overlay(layers: [&OwnedFd; 3]) -> io::Result<OwnedFd> {
    // The kernel resolves these links at once. `/proc` is still that of the old tree.
    let path = |layer: &OwnedFd| CString::new(format!("/proc/self/fd/{}", layer.as_raw_fd()));
    let [lower, upper, work] = layers.map(path);
    let options: [(&CStr, &CStr); 7] = [
        (c"lowerdir", &lower?),
        (c"upperdir", &upper?),
        (c"workdir", &work?),
        (c"userxattr", c""),
        (c"index", c"off"),
        (c"xino", c"off"),
        (c"volatile", c""),
    ];
    sys::new_mount(c"overlay", &options, NO_SET_ID | NO_DEVICES)
}

/// Opens the file or folder of a grant, which must be the one that the caller checked.
fn open_grant(grant: &Grant) -> Result<OwnedFd, SetupError> {
    let failed = || mounting(&grant.path);
    if depth(&grant.path) < 2 {
        return Err(failed()(io::Error::from_raw_os_error(libc::EINVAL)));
    }
    let path = sys::c_path(&grant.path).map_err(failed())?;
    let handle = sys::open_path(libc::AT_FDCWD, &path).map_err(failed())?;
    let found = sys::stat(handle.as_fd()).map_err(failed())?;
    if found.st_mode & libc::S_IFMT == libc::S_IFLNK {
        return Err(failed()(io::Error::from_raw_os_error(libc::ELOOP)));
    }
    let identity = Identity { device: found.st_dev, inode: found.st_ino };
    if identity != grant.identity {
        return Err(SetupError {
            step: format!("mounting `{}` (it has been replaced since the check)", escape(&grant.path)),
            cause: io::Error::from_raw_os_error(libc::ESTALE),
        });
    }
    Ok(handle)
}
