//! Helpers that wait for their next order, so that a start need not begin with theirs.
//!
//! A helper has the rights that its launcher had when it was started. So whoever gives up rights later must not keep
//! any; where user or groups have changed meanwhile, none is used.

use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg,
    socketpair,
};
use rustix::process::{Pid, PidfdFlags};

use super::helper::{Helper, Program, STAYING};
use super::stay::HANDED;
use crate::collect;
use crate::error::LaunchError;
use crate::marker::{self, Marker};
use crate::prepare::{Prepared, c_string, enter};
use crate::spawn::{Ends, Extra, Session, spawn};

/// So many wait at the most.
const MOST: usize = 4;

/// Helpers that wait.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Waiting>>);

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

/// A helper that waits for an order. Dropping it lets it end.
pub(super) struct Waiting {
    /// Nothing once it is over.
    orders: Option<OwnedFd>,
    process: Option<OwnedFd>,
    pub(super) pid: Pid,
    pub(super) marker: Marker,
    rights: Rights,
}

/// As what this process runs, and which it is: one that is split off must not use what another has started.
#[derive(PartialEq, Eq)]
struct Rights {
    process: u32,
    user: u32,
    group: u32,
    groups: Vec<u32>,
}

impl Rights {
    fn now() -> io::Result<Self> {
        Ok(Self {
            process: std::process::id(),
            user: rustix::process::geteuid().as_raw(),
            group: rustix::process::getegid().as_raw(),
            groups: rustix::process::getgroups()?.into_iter().map(|group| group.as_raw()).collect(),
        })
    }
}

impl Pool {
    /// A helper that waits; if none does, a new one.
    pub(super) fn take(&self, helper: &Helper) -> Result<Waiting, LaunchError> {
        let rights = Rights::now().map_err(LaunchError::system("looking at groups"))?;
        loop {
            let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match waiting {
                Some(waiting) if waiting.rights == rights && waiting.is_there() => return Ok(waiting),
                Some(_) => {}
                None => return Waiting::start(helper, rights),
            }
        }
    }

    /// Lets all that wait end, and collects them.
    pub(super) fn end(&self) {
        let mut all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        // All at once, so that none is waited for alone.
        all.iter_mut().for_each(|waiting| drop(waiting.orders.take()));
        for mut waiting in all {
            if let Some(process) = waiting.process.take()
                && waiting.rights.process == std::process::id()
            {
                collect::now(&process);
            }
        }
    }

    /// Those that wait.
    #[cfg(test)]
    pub(super) fn pids(&self) -> Vec<i32> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|waiting| waiting.pid.as_raw_nonzero().get()).collect()
    }

    /// One that has done its work waits for the next.
    pub(super) fn put(&self, waiting: Waiting) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MOST {
            all.push(waiting);
        }
    }
}

impl Waiting {
    fn start(helper: &Helper, rights: Rights) -> Result<Self, LaunchError> {
        let system = |doing| LaunchError::system::<io::Error>(doing);
        let (orders, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|cause| system("making a socket")(cause.into()))?;
        let marker = Marker::fresh().map_err(system("reading random bytes"))?;
        let mark = [marker::VARIABLE.as_bytes(), b"=", marker.value().as_bytes()].concat();
        let mut extra = vec![theirs];
        let path = match &helper.0 {
            Program::Own => c"/proc/self/exe",
            Program::File(file) => {
                extra.push(file.try_clone().map_err(system("holding the helper"))?);
                c"/proc/self/fd/4"
            }
        };
        let prepared = Prepared {
            path: path.to_owned(),
            argv: vec![CString::new(STAYING).map_err(|cause| system("naming the helper")(cause.into()))?],
            envp: vec![c_string(&mark, || crate::Place::Program)?],
            folder: enter(Path::new("/"))?,
            marker,
        };
        let null = || File::options().read(true).write(true).open("/dev/null");
        let ends = null().and_then(|stdin| Ends::new(stdin, null()?, null()?)).map_err(system("opening"))?;
        let extra = Extra::new(extra).map_err(system("holding descriptors"))?;
        let pid = spawn(&prepared, &ends, &extra, Session::New).map_err(system("starting the helper"))?;
        let process = rustix::process::pidfd_open(pid, PidfdFlags::empty())
            .map_err(|cause| system("starting the helper")(cause.into()))?;
        Ok(Self { orders: Some(orders), process: Some(process), pid, marker: prepared.marker, rights })
    }

    #[cfg(test)]
    pub(super) fn as_if_started_by(&mut self, user: u32) {
        self.rights.user = user;
    }

    /// Whether it has not ended meanwhile.
    fn is_there(&self) -> bool {
        let Some(process) = &self.process else { return false };
        let mut polls = [PollFd::new(process, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut polls, Some(&now)) == Ok(0)
    }

    /// Hands an order over, with where its answer goes and the streams of its program.
    pub(super) fn hand(&self, order: &OwnedFd, answer: &OwnedFd, ends: &Ends) -> io::Result<Pid> {
        let orders = self.orders.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let handed: [BorrowedFd<'_>; HANDED] =
            [order, answer, &ends.stdin, &ends.stdout, &ends.stderr].map(AsFd::as_fd);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(&handed)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let parts = [io::IoSlice::new(b"o")];
        rustix::io::retry_on_intr(|| sendmsg(orders, &parts, &mut ancillary, SendFlags::NOSIGNAL))?;
        Ok(self.pid)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // Without a launcher it ends.
        drop(self.orders.take());
        if self.rights.process == std::process::id()
            && let Some(process) = self.process.take()
        {
            collect::later(process);
        }
    }
}
