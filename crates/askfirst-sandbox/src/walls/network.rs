//! A network with nobody else in it, and leaving the old root. The kernel takes as long for these as we do for the files,
//! so a second thread asks for them meanwhile; the first enters the network, and nothing runs before the second has ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, RecvError, channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::mechanism::Mechanism;
use super::order::{Failed, Order};
use super::sys;
use super::turns::Turns;
use crate::profile::Network;

/// A network while it is made, if there is to be one.
pub(super) struct Making<'scope> {
    thread: Second<'scope>,
    made: Receiver<Option<File>>,
}

/// The thread that has made it, and is at the rest of its work.
pub(super) struct Second<'scope>(ScopedJoinHandle<'scope, Result<(), Failed>>);

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
    let (tell, made) = channel();
    turns.free();
    let thread = thread::Builder::new().spawn_scoped(scope, move || {
        let network = own.then(|| make(&proc)).transpose()?;
        // Who does not listen has failed, and tells that.
        tell.send(network).unwrap_or(());
        after()
    });
    turns.keep();
    Ok(Making { thread: Second(thread.map_err(Failed::at("starting a thread"))?), made })
}

fn make(proc: &OwnedFd) -> Result<File, Failed> {
    sys::leave_network().map_err(Failed::at("making the network"))?;
    sys::raise_loopback().map_err(Failed::at("raising the loopback device"))?;
    sys::own_network(proc.as_fd()).map_err(Failed::at("making the network"))
}

impl<'scope> Making<'scope> {
    /// Waits for the network and enters it: this thread, and what it starts.
    pub(super) fn enter(self) -> Result<Second<'scope>, Failed> {
        match self.made.recv() {
            Ok(Some(network)) => {
                sys::enter_network(network.as_fd()).map_err(Failed::at("entering the network"))?;
            }
            Ok(None) => {}
            Err(RecvError) => return Err(self.thread.end().err().unwrap_or_else(broken)),
        }
        Ok(self.thread)
    }
}

impl Second<'_> {
    /// Waits until all is done that it has to do.
    pub(super) fn end(self) -> Result<(), Failed> {
        self.0.join().unwrap_or_else(|_| Err(broken()))
    }
}

fn broken() -> Failed {
    Failed { step: "making the network".to_owned(), cause: io::ErrorKind::Other.into() }
}
