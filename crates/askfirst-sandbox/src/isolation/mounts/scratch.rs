//! Throw-away layers: folders that the program may write for itself alone. Nothing of that reaches the folder.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use super::grants::{copy, new_overlay};
use super::mounting;
use crate::isolation::order::SetupError;
use crate::isolation::sys::{self, NO_DEVICES, NO_SET_ID};
use crate::profile::{Grant, Mode, OSProfile};

/// The maximum size of all layers together, if the profile has no limit for memory.
const SIZE: u64 = 1 << 30;

/// Mounts the folders with throw-away layers, and passes the other grants on. Without a layer, a folder is read-only.
pub(super) fn add_layers<'p>(
    profile: &OSProfile,
    grants: Vec<(&'p Grant, Mode, OwnedFd)>,
) -> Result<Vec<(&'p Grant, OwnedFd)>, SetupError> {
    let layers = if profile.scratch.is_empty() { None } else { new_layers(profile).ok() };
    let mount = |(number, (grant, mode, handle)): (usize, (&'p Grant, Mode, OwnedFd))| {
        if mode != Mode::Scratch {
            return Ok((grant, handle));
        }
        let layered = layers.as_ref().and_then(|layers| mount(&handle, layers, number).ok());
        let mount = layered.map_or_else(|| copy(&handle, Mode::Scratch), Ok);
        Ok((grant, mount.map_err(mounting(&grant.path))?))
    };
    grants.into_iter().enumerate().map(mount).collect()
}

/// Creates a file system for the layers, which nothing else in the new tree shows.
///
/// Older kernels take a layer only from a file system that is attached. So this one covers `/dev` of the old tree, whose
/// devices are open already.
fn new_layers(profile: &OSProfile) -> io::Result<OwnedFd> {
    let size = CString::new(profile.limits.memory.unwrap_or(SIZE).to_string())?;
    let layers = sys::new_mount(c"tmpfs", &[(c"mode", c"0700"), (c"size", &size)], NO_SET_ID | NO_DEVICES)?;
    sys::attach(layers.as_fd(), sys::open_path(libc::AT_FDCWD, c"/dev")?.as_fd())?;
    Ok(layers)
}

fn mount(lower: &OwnedFd, layers: &OwnedFd, number: usize) -> io::Result<OwnedFd> {
    let make = |kind: &str| {
        let name = CString::new(format!("{number}-{kind}"))?;
        sys::make_folder(layers.as_raw_fd(), &name, 0o755)?;
        sys::open_path(layers.as_raw_fd(), &name)
    };
    new_overlay([lower, &make("upper")?, &make("work")?])
}
