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

/// What is not in place yet. Whoever puts a part in place holds its lock meanwhile.
pub(in crate::walls) struct OfKernel {
    root: OwnedFd,
    devices: Mutex<Option<Vec<(CString, OwnedFd)>>>,
    proc: Mutex<Option<OwnedFd>>,
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
        Self { root, devices: Mutex::new(Some(devices)), proc: Mutex::new(Some(proc)) }
    }

    /// Puts in place what nobody else has begun with.
    pub(in crate::walls) fn put(&self, order: &Order) -> Result<(), Failed> {
        if let Ok(mut devices) = self.devices.try_lock() {
            devices.take().map_or(Ok(()), |devices| self.building(order)?.dev(devices))?;
        }
        if let Ok(mut proc) = self.proc.try_lock() {
            proc.take().map_or(Ok(()), |proc| self.building(order)?.proc(proc))?;
        }
        Ok(())
    }

    /// Waits until nobody puts anything in place any more. Whether it has failed, the thread tells that did it.
    pub(super) fn wait(&self) {
        drop(self.devices.lock().unwrap_or_else(PoisonError::into_inner));
        drop(self.proc.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn building<'o>(&self, order: &'o Order) -> Result<Building<'o>, Failed> {
        let root = || {
            let root = self.root.try_clone()?;
            Ok((device_of(root.as_fd())?, root))
        };
        let (device, root) = root().map_err(Failed::at::<io::Error>("looking at the root"))?;
        Ok(Building { order, root, ours: vec![device], folders: HashMap::new() })
    }
}
