//! Creates the network of the sandbox and detaches the old root, on a second thread.
//!
//! The kernel needs about as long for these as the first thread needs for the file tree. The first thread then enters the
//! network, and the program starts only after the second thread has ended.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, RecvError, channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use super::cpu_pin::CpuPin;
use super::order::{Order, OwnNetwork, SetupError};
use super::sys;
use crate::profile::Network;

/// A network that is being created, if the order asks for one.
pub(super) struct NetworkSetup<'scope> {
    thread: SetupThread<'scope>,
    created: Receiver<Option<File>>,
}

/// The second thread, which has created the network and does the rest of its work.
pub(super) struct SetupThread<'scope>(ScopedJoinHandle<'scope, Result<(), SetupError>>);

/// Starts the second thread, before the host's `/proc` is covered. The thread also calls `after`.
pub(super) fn start<'scope>(
    order: &Order,
    cpu_pin: &CpuPin,
    scope: &'scope Scope<'scope, '_>,
    after: impl FnOnce() -> Result<(), SetupError> + Send + 'scope,
) -> Result<NetworkSetup<'scope>, SetupError> {
    // Both threads share one arena. Creating a second one would take longer than the threads wait for each other.
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a number of the C library.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1)
    };
    let proc = sys::open_path(libc::AT_FDCWD, c"/proc").map_err(SetupError::at("creating the network"))?;
    let own = order.profile.network == Network::Own && order.own_network == OwnNetwork::New;
    let (sender, created) = channel();
    cpu_pin.release();
    let thread = thread::Builder::new().spawn_scoped(scope, move || {
        let network = own.then(|| create(&proc)).transpose()?;
        // If the receiver is gone, the first thread has failed and reports its own error.
        sender.send(network).unwrap_or(());
        after()
    });
    cpu_pin.pin();
    Ok(NetworkSetup { thread: SetupThread(thread.map_err(SetupError::at("starting a thread"))?), created })
}

fn create(proc: &OwnedFd) -> Result<File, SetupError> {
    sys::unshare(libc::CLONE_NEWNET).map_err(SetupError::at("creating the network"))?;
    sys::raise_loopback().map_err(SetupError::at("enabling the loopback device"))?;
    sys::open_own_network(proc.as_fd()).map_err(SetupError::at("creating the network"))
}

impl<'scope> NetworkSetup<'scope> {
    /// Waits for the network and moves this thread, and what it starts, into it.
    pub(super) fn enter(self) -> Result<SetupThread<'scope>, SetupError> {
        match self.created.recv() {
            Ok(Some(network)) => {
                sys::enter_network(network.as_fd()).map_err(SetupError::at("entering the network"))?;
            }
            Ok(None) => {}
            Err(RecvError) => return Err(self.thread.join().err().unwrap_or_else(thread_failed)),
        }
        Ok(self.thread)
    }
}

impl SetupThread<'_> {
    /// Waits until the second thread has finished its work.
    pub(super) fn join(self) -> Result<(), SetupError> {
        self.0.join().unwrap_or_else(|_| Err(thread_failed()))
    }
}

fn thread_failed() -> SetupError {
    SetupError { step: "creating the network".to_owned(), cause: io::ErrorKind::Other.into() }
}
