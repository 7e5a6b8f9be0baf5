//! A helper that takes one order after another from its launcher and forks a PID 1 for each.
//!
//! It never enters a namespace itself and keeps no state of an order, so every order finds it unchanged.
//! It ends together with its launcher, and so does everything that it has started.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::helper_process::{self, MessageWriter, ORDER, end};
use super::order::{Backend, Order, OwnNetwork, SetupError, Task};
use super::{init, passing, sys};
use crate::profile::User;

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
            let Some(handed) = passing::receive(launcher).map_err(SetupError::at("waiting for an order"))?
            else {
                end(0)
            };
            let ours = [launcher.as_raw_fd(), signals.as_raw_fd(), null.as_raw_fd()];
            _hold = carry_out(handed, null.as_fd(), &ours)?;
        }
    }
}

/// Carries out one order, which comes with the message pipe, the three streams and the network, if it is passed one. An
/// error before the fork of PID 1 is reported like any other.
fn carry_out(
    mut handed: Vec<OwnedFd>,
    null: BorrowedFd<'_>,
    ours: &[RawFd],
) -> Result<Option<io::PipeWriter>, SetupError> {
    let network = if handed.len() > 5 { handed.pop() } else { None };
    let invalid = |_| SetupError::at::<io::Error>("receiving an order")(io::ErrorKind::InvalidData.into());
    let [order, messages, stdin, stdout, stderr] = handed.try_into().map_err(invalid)?;
    install_streams([stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
    drop((stdin, stdout, stderr));
    let messages = MessageWriter::new(messages);
    let init_process = helper_process::read_order(order).and_then(|order| {
        check_reusable(&order, network.is_some())?;
        helper_process::change_user(&order)?;
        helper_process::start_init(&order, &messages, network, ours)
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

/// Rejects an order after which the helper could not take another one, since a changed user id cannot be changed back, and
/// one without the network that belongs to it.
fn check_reusable(order: &Order, has_network: bool) -> Result<(), SetupError> {
    match (order.backend, order.profile.user, order.task) {
        (Backend::Namespaces, User::Same, Task::Program | Task::SelfTest)
            if has_network == (order.own_network == OwnNetwork::Passed) =>
        {
            Ok(())
        }
        (
            Backend::Namespaces | Backend::Bubblewrap | Backend::ContentOnly,
            User::Same | User::Other { .. },
            Task::Program | Task::SelfTest | Task::Network,
        ) => Err(SetupError {
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
