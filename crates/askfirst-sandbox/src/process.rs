//! Reads facts about processes from `/proc`. A process that has ended or cannot be read is treated as missing.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::str::FromStr;

use rustix::process::{Pid, PidfdFlags, Signal};

/// A snapshot of a process. The pid and the start time together identify it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// In clock ticks since the system started.
    pub(crate) started: u64,
    pub(crate) state: ProcessState,
}

/// Whether a process is still running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessState {
    Alive,
    /// Alive, but its main thread has ended.
    Headless,
    /// Ended, and not yet collected by its parent.
    Ended,
    /// A kernel thread.
    Kernel,
}

/// The environment that a process was started with.
pub(crate) enum Environ {
    Bytes(Vec<u8>),
    /// The process has no environment, or is just executing another program.
    Empty,
    /// We may not read it. That also happens for a moment while one of our processes executes another program.
    Hidden,
    /// The process has ended.
    Gone,
}

impl Environ {
    fn read(path: &str) -> Self {
        match fs::read(path) {
            Ok(bytes) if bytes.is_empty() => Self::Empty,
            Ok(bytes) => Self::Bytes(bytes),
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => Self::Hidden,
            Err(_) => Self::Gone,
        }
    }
}

impl Process {
    pub(crate) fn read(pid: i32) -> Option<Self> {
        let mut text = Vec::with_capacity(512);
        File::open(format!("/proc/{pid}/stat")).ok()?.read_to_end(&mut text).ok()?;
        Self::parse(pid, &text)
    }

    /// Parses `pid (name) state parent group session …`. The name may contain any byte, even `)` and line ends.
    pub(crate) fn parse(pid: i32, text: &[u8]) -> Option<Self> {
        const KERNEL: u64 = 0x0020_0000;
        let after_name = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(text.get(after_name + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let ended = matches!(*fields.first()?, "Z" | "X");
        let state = if number::<u64>(&fields, 6)? & KERNEL != 0 {
            ProcessState::Kernel
        } else if !ended {
            ProcessState::Alive
        } else if number::<u64>(&fields, 17)? > 1 {
            ProcessState::Headless
        } else {
            ProcessState::Ended
        };
        Some(Self {
            pid,
            parent: number(&fields, 1)?,
            session: number(&fields, 3)?,
            started: number(&fields, 19)?,
            state,
        })
    }

    /// The pid and start time, which no other process ever shares.
    pub(crate) fn id(&self) -> (i32, u64) {
        (self.pid, self.started)
    }

    pub(crate) fn environ(&self) -> Environ {
        match self.state {
            ProcessState::Alive => Environ::read(&format!("/proc/{}/environ", self.pid)),
            ProcessState::Headless => self.environ_of_thread(),
            ProcessState::Ended | ProcessState::Kernel => Environ::Gone,
        }
    }

    fn environ_of_thread(&self) -> Environ {
        let Ok(threads) = fs::read_dir(format!("/proc/{}/task", self.pid)) else { return Environ::Gone };
        let numbers = threads.filter_map(|thread| thread.ok()?.file_name().into_string().ok());
        let mut last = Environ::Gone;
        for number in numbers.filter(|number| *number != self.pid.to_string()) {
            last = Environ::read(&format!("/proc/{}/task/{number}/environ", self.pid));
            match last {
                Environ::Bytes(_) => return last,
                Environ::Empty | Environ::Hidden | Environ::Gone => {}
            }
        }
        last
    }

    pub(crate) fn belongs_to_this_user(&self) -> bool {
        let user = rustix::process::getuid().as_raw().to_string();
        let status = fs::read(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:"));
        line.and_then(|line| std::str::from_utf8(line).ok())
            .and_then(|line| line.split_ascii_whitespace().next())
            .is_some_and(|real| real == user)
    }

    /// Sends a signal to this process, and not to a later one with the same pid.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        // Open first, then compare: after that, the handle cannot refer to another process.
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty());
        if Self::read(self.pid).is_some_and(|now| now.id() == self.id()) {
            // If we may not send the signal, the search later finds the process alive and reports it.
            let _ = match handle {
                Ok(handle) => rustix::process::pidfd_send_signal(handle, signal),
                Err(_) => rustix::process::kill_process(pid, signal),
            };
        }
    }
}

fn number<T: FromStr>(fields: &[&str], index: usize) -> Option<T> {
    fields.get(index)?.parse().ok()
}

/// Returns the pids of all visible processes, in ascending order.
pub(crate) fn pids() -> io::Result<impl Iterator<Item = i32>> {
    Ok(fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// The pid that the kernel assigned last, to a process or a thread, if the system tells.
pub(crate) fn last_pid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/ns_last_pid").ok()?.trim_end().parse().ok()
}

/// Counts the processes and threads of this user, except those whose owner is hidden.
pub(crate) fn tasks_of_user() -> io::Result<u64> {
    let user = rustix::process::getuid().as_raw();
    let tasks = pids()?.filter_map(|pid| {
        let folder = fs::metadata(format!("/proc/{pid}/task")).ok()?;
        // The folder has one subfolder for each thread. Each is a link to it, in addition to its own two links.
        (folder.uid() == user).then(|| folder.nlink().saturating_sub(2))
    });
    Ok(tasks.sum())
}

#[cfg(test)]
mod tests;
