//! Running helpers that wait for their next order, so that a start does not include starting a helper.
//!
//! A helper has the privileges that its launcher had when the helper was started. So a process that drops privileges later
//! must not use a pool. A helper is not used if the user or groups have changed since.

use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags};

use super::helper::{Helper, POOLED_NAME, Program};
use super::passing;
use crate::error::LaunchError;
use crate::marker::{self, Marker};
use crate::prepare::{SpawnArgs, c_string, open_folder};
use crate::reaper;
use crate::spawn::{ChildStreams, ExtraFds, Session, spawn};

/// The maximum number of idle helpers.
const MAX_IDLE: usize = 4;

/// The idle helpers.
#[derive(Default)]
pub(super) struct Pool {
    idle: Mutex<Vec<IdleHelper>>,
    /// Whether programs whose output is captured start a helper if none is idle, and keep it.
    keeps: bool,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool")
    }
}

/// A helper that waits for an order. Dropping it ends it.
pub(super) struct IdleHelper {
    /// The socket for orders; `None` once the helper is ending.
    orders: Option<OwnedFd>,
    process: Option<OwnedFd>,
    pub(super) pid: Pid,
    pub(super) marker: Marker,
    credentials: Credentials,
}

/// The user and groups of this process, and its pid: a forked child must not use helpers of its parent.
#[derive(PartialEq, Eq)]
struct Credentials {
    process: u32,
    user: u32,
    group: u32,
    groups: Vec<u32>,
}

impl Credentials {
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
    /// A pool that keeps its helpers.
    pub(super) fn keeping() -> Self {
        Self { keeps: true, ..Self::default() }
    }

    /// Takes an idle helper. A pool that keeps helpers starts one if none is idle.
    pub(super) fn take(&self, helper: &Helper) -> Result<Option<IdleHelper>, LaunchError> {
        let credentials = Credentials::now().map_err(LaunchError::system("reading the groups"))?;
        loop {
            let waiting = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match waiting {
                Some(waiting) if waiting.credentials == credentials && waiting.is_running() => {
                    return Ok(Some(waiting));
                }
                Some(_) => {}
                None if self.keeps => return IdleHelper::start(helper, credentials).map(Some),
                None => return Ok(None),
            }
        }
    }

    /// Starts a helper. An error shows when a program starts, since that starts one too.
    pub(super) fn start(&self, helper: &Helper) {
        if let Ok(started) = Credentials::now()
            .map_err(LaunchError::system("reading the groups"))
            .and_then(|credentials| IdleHelper::start(helper, credentials))
        {
            self.put(started);
        }
    }

    /// ChildStreams all idle helpers and collects them.
    pub(super) fn end(&self) {
        let mut all = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        // Close all sockets first, so that the helpers end in parallel.
        all.iter_mut().for_each(|waiting| drop(waiting.orders.take()));
        for mut waiting in all {
            if let Some(process) = waiting.process.take()
                && waiting.credentials.process == std::process::id()
            {
                reaper::reap_now(&process);
            }
        }
    }

    /// The pids of the idle helpers.
    #[cfg(test)]
    pub(super) fn pids(&self) -> Vec<i32> {
        let all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|waiting| waiting.pid.as_raw_nonzero().get()).collect()
    }

    /// Returns a helper to the pool. If the pool is full, the helper ends.
    pub(super) fn put(&self, waiting: IdleHelper) {
        let mut all = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MAX_IDLE {
            all.push(waiting);
        }
    }
}

impl IdleHelper {
    fn start(helper: &Helper, credentials: Credentials) -> Result<Self, LaunchError> {
        let system = |doing| LaunchError::system::<io::Error>(doing);
        let (orders, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|cause| system("creating a socket")(cause.into()))?;
        let marker = Marker::fresh().map_err(system("reading random bytes"))?;
        let mark = [marker::VARIABLE.as_bytes(), b"=", marker.value().as_bytes()].concat();
        let mut extra = vec![theirs];
        let path = match &helper.0 {
            Program::Own => c"/proc/self/exe",
            Program::File(file) => {
                extra.push(file.try_clone().map_err(system("duplicating the helper descriptor"))?);
                c"/proc/self/fd/4"
            }
        };
        let prepared = SpawnArgs {
            path: path.to_owned(),
            argv: vec![CString::new(POOLED_NAME).map_err(|cause| system("naming the helper")(cause.into()))?],
            envp: vec![c_string(&mark, || crate::SpecPart::Program)?],
            folder: open_folder(Path::new("/"))?,
            marker,
        };
        let null = || File::options().read(true).write(true).open("/dev/null");
        let ends = null()
            .and_then(|stdin| ChildStreams::new(stdin, null()?, null()?))
            .map_err(system("opening `/dev/null`"))?;
        let extra = ExtraFds::new(extra).map_err(system("duplicating descriptors"))?;
        let pid = spawn(&prepared, &ends, &extra, Session::New).map_err(system("starting the helper"))?;
        let process = rustix::process::pidfd_open(pid, PidfdFlags::empty())
            .map_err(|cause| system("starting the helper")(cause.into()))?;
        Ok(Self { orders: Some(orders), process: Some(process), pid, marker: prepared.marker, credentials })
    }

    #[cfg(test)]
    pub(super) fn as_if_started_by(&mut self, user: u32) {
        self.credentials.user = user;
    }

    /// Whether the helper is still running.
    fn is_running(&self) -> bool {
        let Some(process) = &self.process else { return false };
        let mut polls = [PollFd::new(process, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut polls, Some(&now)) == Ok(0)
    }

    /// Sends an order, together with the pipe for messages, the streams of the program and the network, if one is passed.
    pub(super) fn send(
        &self,
        order: &OwnedFd,
        messages: &OwnedFd,
        ends: &ChildStreams,
        network: Option<BorrowedFd<'_>>,
    ) -> io::Result<Pid> {
        let orders = self.orders.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let passed = [order, messages, &ends.stdin, &ends.stdout, &ends.stderr].map(AsFd::as_fd);
        let passed: Vec<BorrowedFd<'_>> = passed.into_iter().chain(network).collect();
        passing::send(orders, &passed)?;
        Ok(self.pid)
    }
}

impl Drop for IdleHelper {
    fn drop(&mut self) {
        // The helper ends when its socket is closed.
        drop(self.orders.take());
        if self.credentials.process == std::process::id()
            && let Some(process) = self.process.take()
        {
            reaper::reap_later(process);
        }
    }
}
