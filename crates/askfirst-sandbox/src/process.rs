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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Alive,
    /// Alive, but for its first thread.
    Headless,
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
    /// Not ours to read. Our own are hidden for a moment, too, while they become another program.
    Hidden,
    /// It has ended meanwhile.
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

    /// `pid (name) state parent group session …`; the name may hold anything, even `)` and line ends.
    pub(crate) fn parse(pid: i32, text: &[u8]) -> Option<Self> {
        const KERNEL: u64 = 0x0020_0000;
        let after_name = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(text.get(after_name + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let ended = matches!(*fields.first()?, "Z" | "X");
        let kind = if number::<u64>(&fields, 6)? & KERNEL != 0 {
            Kind::Kernel
        } else if !ended {
            Kind::Alive
        } else if number::<u64>(&fields, 17)? > 1 {
            Kind::Headless
        } else {
            Kind::Ended
        };
        Some(Self {
            pid,
            parent: number(&fields, 1)?,
            session: number(&fields, 3)?,
            started: number(&fields, 19)?,
            kind,
        })
    }

    /// What tells it from every other, before and after.
    pub(crate) fn name(&self) -> (i32, u64) {
        (self.pid, self.started)
    }

    pub(crate) fn environ(&self) -> Environ {
        match self.kind {
            Kind::Alive => Environ::read(&format!("/proc/{}/environ", self.pid)),
            Kind::Headless => self.environ_of_a_thread(),
            Kind::Ended | Kind::Kernel => Environ::Gone,
        }
    }

    fn environ_of_a_thread(&self) -> Environ {
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

    pub(crate) fn is_of_this_user(&self) -> bool {
        let user = rustix::process::getuid().as_raw().to_string();
        let status = fs::read(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:"));
        line.and_then(|line| std::str::from_utf8(line).ok())
            .and_then(|line| line.split_ascii_whitespace().next())
            .is_some_and(|real| real == user)
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
