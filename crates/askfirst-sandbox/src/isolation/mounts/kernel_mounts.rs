//! The parts of the tree that come from the kernel: `/dev` and `/proc`. The first of two threads that is free puts them in
//! place.

use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use super::{TreeBuilder, device_of};
use crate::isolation::order::{Order, SetupError};
use crate::profile::OSProfile;

/// The mounts that are not in place yet. A thread holds the lock of a part while it puts that part in place.
pub(in crate::isolation) struct KernelMounts {
    root: OwnedFd,
    devices: Mutex<Option<Vec<(CString, OwnedFd)>>>,
    proc: Mutex<Option<OwnedFd>>,
}

/// Whether no path of the order is in `/dev` or `/proc`, so that it does not matter which is mounted first.
pub(super) fn is_independent(order: &Order) -> bool {
    let OSProfile { readable, writable, scratch, denied, system, links, private, kept, .. } = &order.profile;
    let grants = readable.iter().chain(writable).chain(scratch).map(|grant| &grant.path);
    let others = denied.iter().map(|denied| &denied.path).chain(system).chain(private).chain([&order.folder]);
    let links = links.iter().map(|(path, _)| path).chain(kept.iter().map(|kept| &kept.at));
    !grants.chain(others).chain(links).any(|path| path.starts_with("/dev") || path.starts_with("/proc"))
}

impl KernelMounts {
    pub(super) fn new(root: OwnedFd, devices: Vec<(CString, OwnedFd)>, proc: OwnedFd) -> Self {
        Self { root, devices: Mutex::new(Some(devices)), proc: Mutex::new(Some(proc)) }
    }

    /// Puts those parts in place that the other thread has not begun with.
    pub(in crate::isolation) fn attach(&self, order: &Order) -> Result<(), SetupError> {
        if let Ok(mut devices) = self.devices.try_lock() {
            devices.take().map_or(Ok(()), |devices| self.builder(order)?.dev(devices))?;
        }
        if let Ok(mut proc) = self.proc.try_lock() {
            proc.take().map_or(Ok(()), |proc| self.builder(order)?.proc(proc))?;
        }
        Ok(())
    }

    /// Waits until the other thread is done. That thread reports its own errors.
    pub(super) fn wait(&self) {
        drop(self.devices.lock().unwrap_or_else(PoisonError::into_inner));
        drop(self.proc.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn builder<'o>(&self, order: &'o Order) -> Result<TreeBuilder<'o>, SetupError> {
        let root = || {
            let root = self.root.try_clone()?;
            Ok((device_of(root.as_fd())?, root))
        };
        let (device, root) = root().map_err(SetupError::at::<io::Error>("inspecting the root"))?;
        Ok(TreeBuilder { order, root, ours: vec![device], folders: HashMap::new() })
    }
}
