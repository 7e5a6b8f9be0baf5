//! What `/proc` says about processes, read without trust: one that is gone or unreadable is simply not there.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::str::FromStr;

use rustix::process::{Pid, PidfdFlags, Signal};

/// A process as it was when looked at. The pid and the start time together name it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// In clock ticks since the system started.
    pub(crate) started: u64,
    pub(crate) kind: Kind,
    threads: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Alive,
    /// It has ended and only waits to be collected.
    Ended,
    /// A part of the kernel.
    Kernel,
}

/// What a process was started with.
pub(crate) enum Environ {
    Bytes(Vec<u8>),
    /// It has none, or is just becoming another program.
    Empty,
    /// Not ours to read.
    Hidden,
    /// It has ended meanwhile.
    Gone,
}

impl Process {
    pub(crate) fn read(pid: i32) -> Option<Self> {
        let mut text = Vec::with_capacity(512);
        File::open(format!("/proc/{pid}/stat")).ok()?.read_to_end(&mut text).ok()?;
        Self::parse(pid, &text)
    }

    /// `pid (name) state parent group session …`; the name may hold anything, even `)` and line ends.
    pub(crate) fn parse(pid: i32, text: &[u8]) -> Option<Self> {
        const KERNEL: u64 = 0x0020_0000;
        let after_name = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(text.get(after_name + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let threads = number(&fields, 17)?;
        let kind = if number::<u64>(&fields, 6)? & KERNEL != 0 {
            Kind::Kernel
        } else if matches!(*fields.first()?, "Z" | "X") && threads <= 1 {
            Kind::Ended
        } else {
            // Among them those whose first thread has ended while others go on.
            Kind::Alive
        };
        Some(Self {
            pid,
            parent: number(&fields, 1)?,
            session: number(&fields, 3)?,
            started: number(&fields, 19)?,
            kind,
            threads,
        })
    }

    /// What tells it from every other, before and after.
    pub(crate) fn name(&self) -> (i32, u64) {
        (self.pid, self.started)
    }

    pub(crate) fn environ(&self) -> Environ {
        match fs::read(format!("/proc/{}/environ", self.pid)) {
            Ok(bytes) if !bytes.is_empty() => Environ::Bytes(bytes),
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => Environ::Hidden,
            Ok(_) | Err(_) if self.threads > 1 => self.environ_of_a_thread(),
            Ok(_) => Environ::Empty,
            Err(_) => Environ::Gone,
        }
    }

    /// The first thread may have ended, and then it has none.
    fn environ_of_a_thread(&self) -> Environ {
        let Ok(threads) = fs::read_dir(format!("/proc/{}/task", self.pid)) else { return Environ::Gone };
        let mut found = threads.filter_map(|thread| fs::read(thread.ok()?.path().join("environ")).ok());
        found.find(|bytes| !bytes.is_empty()).map_or(Environ::Empty, Environ::Bytes)
    }

    /// Signals this process and no other that has its pid by now.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        // Opened first, compared then: what the handle holds can no longer change.
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty());
        if Self::read(self.pid).is_some_and(|now| now.name() == self.name()) {
            // A process that may not be signalled is found alive afterwards, and reported.
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

/// All that can be seen now, in the order of their numbers.
pub(crate) fn pids() -> io::Result<impl Iterator<Item = i32>> {
    Ok(fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// The number given out last, to a process or a thread, where the system tells.
pub(crate) fn last_number() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/ns_last_pid").ok()?.trim_end().parse().ok()
}

/// How many processes and threads the user of this process has, but for those that hide whose they are.
pub(crate) fn tasks_of_user() -> io::Result<u64> {
    let user = rustix::process::getuid().as_raw();
    let tasks = pids()?.filter_map(|pid| {
        let folder = fs::metadata(format!("/proc/{pid}/task")).ok()?;
        // Each thread is a folder in it, and so a link to it, besides its own two.
        (folder.uid() == user).then(|| folder.nlink().saturating_sub(2))
    });
    Ok(tasks.sum())
}

#[cfg(test)]
mod tests;
