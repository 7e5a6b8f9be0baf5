//! A helper that stays: it takes one order after another from its launcher, and splits PID 1 off for each. It never
//! enters a namespace itself and keeps nothing of an order, so the next one finds it as the first did. With its launcher
//! it ends, and with it whatever it has started.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::inside::{self, Answer, ORDER, end};
use super::order::{Failed, Order, Way};
use super::{init, sys};
use crate::profile::User;

/// What comes with an order: the order, the pipe for the answer, and the three streams.
pub(super) const HANDED: usize = 5;

/// All of the helper. It does not return.
pub(super) fn main() -> ! {
    // SAFETY: the launcher has put it in place, and nobody else in this process knows it.
    let launcher = unsafe { OwnedFd::from_raw_fd(ORDER) };
    match serve(&launcher) {
        Ok(never) => match never {},
        Err(_) => end(inside::SAID),
    }
}

fn serve(launcher: &OwnedFd) -> Result<Infallible, Failed> {
    rustix::io::fcntl_setfd(launcher, rustix::io::FdFlags::CLOEXEC).map_err(Failed::at("staying"))?;
    inside::leave_nothing()?;
    init::block_signals().map_err(Failed::at("staying"))?;
    let signals = init::signals().map_err(Failed::at("staying"))?;
    let null = File::options().read(true).write(true).open("/dev/null").map_err(Failed::at("staying"))?;
    // Held until the next one is there, so that PID 1 can tell whether we are.
    let mut _hold = None;
    loop {
        let mut polls = [init::poll_of(&signals), init::poll_of(launcher)];
        // SAFETY: two structures are passed, and two are said.
        if unsafe { libc::poll(polls.as_mut_ptr(), 2, -1) } < 0 {
            match io::Error::last_os_error() {
                cause if cause.kind() == io::ErrorKind::Interrupted => continue,
                cause => return Err(Failed::at("staying")(cause)),
            }
        }
        let [signalled, called] = polls.map(|poll| poll.revents != 0);
        if signalled && init::collect(&signals).map_err(Failed::at("staying"))? == init::Told::ToEnd {
            end(0);
        }
        if called {
            // Without a launcher there is nothing to do, and nothing may go on.
            let Some(handed) = receive(launcher).map_err(Failed::at("staying"))? else { end(0) };
            let ours = [launcher.as_raw_fd(), signals.as_raw_fd(), null.as_raw_fd()];
            _hold = take(handed, null.as_fd(), &ours)?;
        }
    }
}

/// Takes one order. What fails before PID 1 is there is said like everything else.
fn take(
    handed: [OwnedFd; HANDED],
    null: BorrowedFd<'_>,
    ours: &[RawFd],
) -> Result<Option<io::PipeWriter>, Failed> {
    let [order, answer, stdin, stdout, stderr] = handed;
    streams([stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
    drop((stdin, stdout, stderr));
    let answer = Answer::new(answer);
    let begun = inside::read_order(order).and_then(|order| {
        fits(&order)?;
        inside::become_user(&order)?;
        inside::begin(&order, &answer, ours)
    });
    // Nothing of it is held open here, or its end could not be seen.
    streams([null, null, null])?;
    match begun {
        Ok(begun) => {
            begun.turns.free();
            Ok(Some(begun.hold))
        }
        Err(failed) => {
            answer.tell(&failed);
            Ok(None)
        }
    }
}

/// Whether it is an order after which another can follow: who has become another user cannot turn back.
fn fits(order: &Order) -> Result<(), Failed> {
    match (order.way, order.profile.user) {
        (Way::Own, User::Same) => Ok(()),
        (Way::Bubblewrap | Way::ContentOnly, _) | (_, User::Other { .. }) => {
            Err(Failed { step: "reading the order".to_owned(), cause: io::ErrorKind::InvalidInput.into() })
        }
    }
}

/// Puts three streams in place.
fn streams(ends: [BorrowedFd<'_>; 3]) -> Result<(), Failed> {
    for (at, from) in (0..).zip(ends) {
        sys::put(from, at).map_err(Failed::at("putting the streams in place"))?;
    }
    Ok(())
}

/// What the launcher hands over; nothing if it is gone.
fn receive(launcher: &OwnedFd) -> io::Result<Option<[OwnedFd; HANDED]>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut parts = [io::IoSliceMut::new(&mut byte)];
    let got =
        rustix::io::retry_on_intr(|| recvmsg(launcher, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC))?;
    if got.bytes == 0 {
        return Ok(None);
    }
    let mut handed = Vec::with_capacity(HANDED);
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = message {
            handed.extend(fds);
        }
    }
    handed.try_into().map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
}
