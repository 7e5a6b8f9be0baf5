//! What of the tree comes from the kernel, `/dev` and `/proc`: whoever of two threads is done with the rest puts it in
//! place.

use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use super::{Building, device_of};
use crate::profile::OSProfile;
use crate::walls::order::{Failed, Order};

/// What is not in place yet.
pub(in crate::walls) struct OfKernel {
    root: OwnedFd,
    parts: Mutex<Vec<Part>>,
}

enum Part {
    Dev(Vec<(CString, OwnedFd)>),
    Proc(OwnedFd),
}

/// Whether nothing of an order lies where `/dev` and `/proc` are made, so that it does not matter which is made first.
pub(super) fn is_apart(order: &Order) -> bool {
    let OSProfile { readable, writable, denied, system, private, .. } = &order.profile;
    let grants = readable.iter().chain(writable).map(|grant| &grant.path);
    let others = denied.iter().map(|denied| &denied.path).chain(system).chain(private).chain([&order.folder]);
    !grants.chain(others).any(|path| path.starts_with("/dev") || path.starts_with("/proc"))
}

impl OfKernel {
    pub(super) fn new(root: OwnedFd, devices: Vec<(CString, OwnedFd)>, proc: OwnedFd) -> Self {
        Self { root, parts: Mutex::new(vec![Part::Dev(devices), Part::Proc(proc)]) }
    }

    /// Puts in place what nobody else has begun with.
    pub(in crate::walls) fn put(&self, order: &Order) -> Result<(), Failed> {
        while let Some(part) = self.next() {
            let root = || {
                let root = self.root.try_clone()?;
                Ok((device_of(root.as_fd())?, root))
            };
            let (device, root) = root().map_err(Failed::at::<io::Error>("looking at the root"))?;
            let building = Building { order, root, ours: vec![device], folders: HashMap::new() };
            match part {
                Part::Dev(devices) => building.dev(devices)?,
                Part::Proc(proc) => building.proc(proc)?,
            }
        }
        Ok(())
    }

    fn next(&self) -> Option<Part> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}
