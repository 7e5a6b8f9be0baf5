//! A helper that takes one order after another from its launcher and forks a PID 1 for each.
//!
//! It never enters a namespace itself and keeps no state of an order, so every order finds it unchanged.
//! It ends together with its launcher, and so does everything that it has started.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::helper_process::{self, MessageWriter, ORDER, end};
use super::order::{Backend, Order, SetupError};
use super::{init, sys};
use crate::profile::User;

/// The descriptors that come with an order: the order, the message pipe and the three streams.
pub(super) const PASSED_FDS: usize = 5;

/// The main function of the helper. It does not return.
pub(super) fn main() -> ! {
    // SAFETY: the launcher has passed this descriptor, and no other code in this process uses it.
    let launcher = unsafe { OwnedFd::from_raw_fd(ORDER) };
    match serve(&launcher) {
        Ok(never) => match never {},
        Err(_) => end(helper_process::REPORTED),
    }
}

fn serve(launcher: &OwnedFd) -> Result<Infallible, SetupError> {
    rustix::io::fcntl_setfd(launcher, rustix::io::FdFlags::CLOEXEC)
        .map_err(SetupError::at("waiting for an order"))?;
    helper_process::disable_core_contents()?;
    init::block_signals().map_err(SetupError::at("waiting for an order"))?;
    let signals = init::signals().map_err(SetupError::at("waiting for an order"))?;
    let null = File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(SetupError::at("waiting for an order"))?;
    // Keep the pipe of the current PID 1 open, so that it can see whether this helper is alive.
    let mut _hold = None;
    loop {
        let mut polls = [init::poll_of(&signals), init::poll_of(launcher)];
        // SAFETY: the array has two entries, as the count says.
        if unsafe { libc::poll(polls.as_mut_ptr(), 2, -1) } < 0 {
            match io::Error::last_os_error() {
                cause if cause.kind() == io::ErrorKind::Interrupted => continue,
                cause => return Err(SetupError::at("waiting for an order")(cause)),
            }
        }
        let [signalled, called] = polls.map(|poll| poll.revents != 0);
        if signalled
            && init::handle_signal(&signals).map_err(SetupError::at("waiting for an order"))?
                == init::HelperRequest::Exit
        {
            end(0);
        }
        if called {
            // Without a launcher there is no work left, and no program may keep running.
            let Some(handed) = receive(launcher).map_err(SetupError::at("waiting for an order"))? else {
                end(0)
            };
            let ours = [launcher.as_raw_fd(), signals.as_raw_fd(), null.as_raw_fd()];
            _hold = carry_out(handed, null.as_fd(), &ours)?;
        }
    }
}

/// Carries out one order. An error before the fork of PID 1 is reported like any other.
fn carry_out(
    handed: [OwnedFd; PASSED_FDS],
    null: BorrowedFd<'_>,
    ours: &[RawFd],
) -> Result<Option<io::PipeWriter>, SetupError> {
    let [order, messages, stdin, stdout, stderr] = handed;
    install_streams([stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
    drop((stdin, stdout, stderr));
    let messages = MessageWriter::new(messages);
    let init_process = helper_process::read_order(order).and_then(|order| {
        check_reusable(&order)?;
        helper_process::change_user(&order)?;
        helper_process::start_init(&order, &messages, ours)
    });
    // Close our copies of the streams. Otherwise readers would not see their end.
    install_streams([null, null, null])?;
    match init_process {
        Ok(init_process) => {
            init_process.cpu_pin.release();
            Ok(Some(init_process.hold))
        }
        Err(failed) => {
            messages.send_failure(&failed);
            Ok(None)
        }
    }
}

/// Rejects an order after which the helper could not take another one. A changed user id cannot be changed back.
fn check_reusable(order: &Order) -> Result<(), SetupError> {
    match (order.backend, order.profile.user) {
        (Backend::Namespaces, User::Same) => Ok(()),
        (Backend::Bubblewrap | Backend::ContentOnly, _) | (_, User::Other { .. }) => Err(SetupError {
            step: "reading the order".to_owned(),
            cause: io::ErrorKind::InvalidInput.into(),
        }),
    }
}

/// Installs the three standard streams.
fn install_streams(ends: [BorrowedFd<'_>; 3]) -> Result<(), SetupError> {
    for (at, from) in (0..).zip(ends) {
        sys::dup_to(from, at).map_err(SetupError::at("installing the streams"))?;
    }
    Ok(())
}

/// Receives the descriptors of an order; `None` if the launcher is gone.
fn receive(launcher: &OwnedFd) -> io::Result<Option<[OwnedFd; PASSED_FDS]>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PASSED_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut parts = [io::IoSliceMut::new(&mut byte)];
    let got =
        rustix::io::retry_on_intr(|| recvmsg(launcher, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC))?;
    if got.bytes == 0 {
        return Ok(None);
    }
    let mut handed = Vec::with_capacity(PASSED_FDS);
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            handed.extend(fds);
        }
    }
    handed.try_into().map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
}
