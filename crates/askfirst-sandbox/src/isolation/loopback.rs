//! A network with only a loopback device, which several programs share one after another or at the same time.
//!
//! A helper creates it and hands it to the launcher, and the launcher passes it on with each order. It lasts as long as
//! the launcher holds it or a program is in it. It belongs to a user namespace of its own, in which no program runs, so
//! programs have no rights over it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libc::{c_int, pid_t};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::PidfdFlags;

use super::helper_process::{self, MessageWriter, OuterIds, end};
use super::launch::{HelperStart, build_order};
use super::order::{Order, SetupError, Task};
use super::{Sandbox, passing, sys};
use crate::error::LaunchError;
use crate::profile::{OSProfile, User};
use crate::reaper;
use crate::spawn::{ChildStreams, Session, spawn};
use crate::spec::Spec;

/// A network with only a loopback device, for the programs whose [`Spec`] names it.
#[derive(Debug)]
pub struct LoopbackNetwork {
    pub(super) namespace: OwnedFd,
    pub(super) user: User,
}

impl LoopbackNetwork {
    /// Creates a network for programs that run as this user.
    ///
    /// # Errors
    ///
    /// Fails if the sandbox has no namespaces of its own.
    pub fn create(sandbox: &Sandbox, user: User) -> Result<Self, LaunchError> {
        let system = |doing| LaunchError::system::<io::Error>(doing);
        let profile = OSProfile { user, ..OSProfile::nothing() };
        let order = build_order(sandbox, &profile, &Spec::new("none", "/"), Task::Network)?;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|cause| system("creating a socket")(cause.into()))?;
        let HelperStart::New { prepared, extra, .. } = HelperStart::new(sandbox, order, theirs, None)? else {
            return Err(system("starting a helper")(io::ErrorKind::InvalidInput.into()));
        };
        let null = || File::options().read(true).write(true).open("/dev/null");
        let streams = null().and_then(|stdin| ChildStreams::new(stdin, null()?, null()?));
        let streams = streams.map_err(system("opening `/dev/null`"))?;
        let pid = spawn(&prepared, &streams, &extra, Session::New).map_err(system("starting the helper"))?;
        // The helper has the only other end now, so its end is noticed.
        drop(extra);
        let received = passing::receive(&ours);
        if let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            reaper::reap_now(&process);
        }
        match received.map_err(system("receiving the network"))?.and_then(|mut fds| fds.pop()) {
            Some(namespace) => Ok(Self { namespace, user }),
            None => Err(LaunchError::Sandbox {
                step: "creating the network of the session".to_owned(),
                cause: io::ErrorKind::UnexpectedEof.into(),
            }),
        }
    }
}

/// Runs the helper that creates a network: sends the network to the launcher.
pub(super) fn create_in_helper(order: &Order, launcher: &MessageWriter) -> Result<i32, SetupError> {
    let failed = || SetupError::at::<io::Error>("creating the network of the session");
    helper_process::change_user(order)?;
    let outer_ids = OuterIds::now();
    sys::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET).map_err(failed())?;
    outer_ids.map()?;
    sys::raise_loopback().map_err(failed())?;
    let proc = sys::open_path(libc::AT_FDCWD, c"/proc").map_err(failed())?;
    let network = sys::open_own_network(proc.as_fd()).map_err(failed())?;
    launcher.send_descriptor(network.as_fd()).map_err(failed())?;
    Ok(0)
}

/// Forks this process. The child is in the network, and has new namespaces of the given kinds. Returns 0 in the child.
///
/// The network belongs to another user namespace. Only a process in that one may enter the network, and no process can
/// leave a user namespace again. So a process in between enters both, starts the child as a child of this process, and
/// ends.
///
/// Only for a process with a single thread.
pub(super) fn fork_inside(network: BorrowedFd<'_>, namespaces: c_int) -> io::Result<pid_t> {
    let (mut answer, mut tell) = io::pipe()?;
    let between = sys::fork_into(0)?;
    if between == 0 {
        drop(answer);
        let entered = sys::enter_owner(network).and_then(|()| sys::enter_network(network));
        let number = match entered.and_then(|()| sys::fork_into(namespaces | libc::CLONE_PARENT)) {
            Ok(0) => return Ok(0),
            Ok(pid) => pid,
            Err(cause) => -cause.raw_os_error().unwrap_or(libc::EIO),
        };
        // If this fails, the other side reads too little.
        let _ = tell.write_all(&number.to_ne_bytes());
        end(0);
    }
    drop(tell);
    let mut bytes = [0; size_of::<pid_t>()];
    let read = answer.read_exact(&mut bytes);
    sys::wait_for(between);
    read?;
    match pid_t::from_ne_bytes(bytes) {
        number @ ..0 => Err(io::Error::from_raw_os_error(-number)),
        pid => Ok(pid),
    }
}
