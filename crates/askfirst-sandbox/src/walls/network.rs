//! A network with nobody else in it, and leaving the old root. The kernel takes as long for these as we do for the files,
//! so a second thread asks for them meanwhile; the first enters the network, and nothing runs before.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::mechanism::Mechanism;
use super::order::{Failed, Order};
use super::sys;
use super::turns::Turns;
use crate::profile::Network;

/// A network while it is made, if there is to be one.
pub(super) struct Making<'scope>(ScopedJoinHandle<'scope, Result<Option<File>, Failed>>);

/// Begins, before the host's `/proc` is covered. `after` is done by the same thread.
pub(super) fn begin<'scope>(
    order: &Order,
    turns: &Turns,
    scope: &'scope Scope<'scope, '_>,
    after: impl FnOnce() -> Result<(), Failed> + Send + 'scope,
) -> Result<Making<'scope>, Failed> {
    // Both use the same memory: setting some aside for the second would take longer than they wait for each other.
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the C library.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1)
    };
    let proc = sys::look(libc::AT_FDCWD, c"/proc").map_err(Failed::at("making the network"))?;
    let own = match order.profile.network {
        Network::Own => order.has(Mechanism::NetworkNamespace),
        Network::Shared => false,
    };
    turns.free();
    let made = thread::Builder::new().spawn_scoped(scope, move || {
        let network = own.then(|| make(&proc)).transpose()?;
        after()?;
        Ok(network)
    });
    turns.keep();
    Ok(Making(made.map_err(Failed::at("starting a thread"))?))
}

fn make(proc: &OwnedFd) -> Result<File, Failed> {
    sys::leave_network().map_err(Failed::at("making the network"))?;
    sys::raise_loopback().map_err(Failed::at("raising the loopback device"))?;
    sys::own_network(proc.as_fd()).map_err(Failed::at("making the network"))
}

impl Making<'_> {
    /// Waits for all of it and enters it: this thread, and what it starts.
    pub(super) fn enter(self) -> Result<(), Failed> {
        let broken = || Failed { step: "making the network".to_owned(), cause: io::ErrorKind::Other.into() };
        match self.0.join().unwrap_or_else(|_| Err(broken()))? {
            Some(network) => sys::enter_network(network.as_fd()).map_err(Failed::at("entering the network")),
            None => Ok(()),
        }
    }
}
