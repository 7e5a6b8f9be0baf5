//! Finds the processes of one launch among all processes of the machine.

use std::collections::HashSet;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::marker::Marker;
use crate::process::{self, Environ, Process, ProcessState};
use crate::tree::PidHold;

/// How often the list of processes is read again because processes have ended and started in between.
const MAX_LISTS: u32 = 50;

/// How often, in one scan, a process without a readable environment is looked at again, and the pause in between.
const ENVIRON_RETRIES: u32 = 20;
const ENVIRON_PAUSE: Duration = Duration::from_micros(100);

/// The search for the processes that one program started.
pub(crate) struct Search<'a> {
    leader: i32,
    /// The start time of the program. Older processes are not its descendants.
    since: u64,
    marker: &'a Marker,
    /// The processes found so far. They belong to the launch even after they lose their parents.
    known: HashSet<(i32, u64)>,
}

/// The result of one scan over all processes.
#[derive(Default)]
pub(crate) struct Scan {
    pub(crate) alive: Vec<Process>,
    /// How many of `alive` were not found before.
    pub(crate) fresh: usize,
    pub(crate) doubt: Doubt,
}

/// Whether a scan may have missed one of our processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Doubt {
    #[default]
    None,
    Some,
}

/// How a process relates to the launch.
enum Relation {
    Ours,
    Other,
    /// The process shows no environment. One of ours looks like that while it executes another program.
    Unclear,
    /// The process has ended since it was listed, and may have started another one.
    Gone,
}

impl<'a> Search<'a> {
    /// Creates the search for the program with this pid, whose exit status must not have been collected yet.
    pub(crate) fn new(leader: i32, marker: &'a Marker) -> Self {
        let since = Process::read(leader).map_or(0, |leader| leader.started);
        Self { leader, since, marker, known: HashSet::new() }
    }

    /// Whether the program has ended and no process was started on this machine after it. Then no scan is needed.
    ///
    /// The kernel does not reuse a pid that is still held, so the last assigned pid cannot be from a later round.
    pub(crate) fn started_last(&self, hold: PidHold) -> bool {
        hold == PidHold::Held
            && Process::read(self.leader).is_some_and(|leader| leader.state == ProcessState::Ended)
            && process::last_pid() == Some(self.leader)
    }

    /// Sends a signal to each of our processes as soon as it is found.
    ///
    /// Ours are the processes in the program's session, those with its mark, those found before, and the descendants of
    /// all these.
    pub(crate) fn signal_all(&mut self, hold: PidHold, signal: Signal) -> io::Result<Scan> {
        let (mut seen, mut listed, mut others) = (Scan::default(), HashSet::new(), Vec::new());
        let mut retries = ENVIRON_RETRIES;
        // A process that starts a successor and ends could be missing from a single list.
        for round in 0.. {
            let mut gone = false;
            let new: Vec<i32> = process::pids()?.filter(|pid| listed.insert(*pid)).collect();
            for pid in new {
                let Some(process) = Process::read(pid) else {
                    gone = true;
                    continue;
                };
                match self.relation(&process, hold, &mut retries) {
                    Relation::Ours => {
                        process.signal(signal);
                        seen.alive.push(process);
                    }
                    Relation::Other => others.push(process),
                    Relation::Unclear => {
                        seen.doubt = Doubt::Some;
                        others.push(process);
                    }
                    Relation::Gone => gone = true,
                }
            }
            if !gone {
                break;
            }
            if round == MAX_LISTS {
                seen.doubt = Doubt::Some;
                break;
            }
        }
        for child in descendants(&seen.alive, others) {
            child.signal(signal);
            seen.alive.push(child);
        }
        seen.fresh = seen.alive.iter().filter(|process| self.known.insert(process.id())).count();
        Ok(seen)
    }

    fn relation(&self, process: &Process, hold: PidHold, retries: &mut u32) -> Relation {
        let session = match hold {
            PidHold::Held => Some(self.leader),
            // The pid may belong to another process by now.
            PidHold::Lost | PidHold::Released => None,
        };
        if process.started < self.since || u32::try_from(process.pid) == Ok(std::process::id()) {
            return Relation::Other;
        }
        match process.state {
            ProcessState::Kernel => return Relation::Other,
            // It had ended before the first list, so the list contains every process that it started.
            ProcessState::Ended if process.pid == self.leader => return Relation::Other,
            ProcessState::Ended => return Relation::Gone,
            ProcessState::Alive | ProcessState::Headless => {}
        }
        if Some(process.session) == session || self.known.contains(&process.id()) {
            return Relation::Ours;
        }
        loop {
            match process.environ() {
                Environ::Bytes(bytes) if self.marker.is_in(&bytes) => return Relation::Ours,
                Environ::Bytes(_) => return Relation::Other,
                Environ::Gone => return Relation::Gone,
                Environ::Hidden if !process.belongs_to_this_user() => return Relation::Other,
                Environ::Empty | Environ::Hidden if *retries == 0 => return Relation::Unclear,
                Environ::Empty | Environ::Hidden => {
                    *retries -= 1;
                    thread::sleep(ENVIRON_PAUSE);
                }
            }
        }
    }
}

/// Returns those of `others` that descend from `parents`, over any number of generations.
fn descendants(parents: &[Process], mut others: Vec<Process>) -> Vec<Process> {
    let mut pids: HashSet<i32> = parents.iter().map(|process| process.pid).collect();
    let mut found = Vec::new();
    loop {
        let (more, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(|one| pids.contains(&one.parent));
        if more.is_empty() {
            return found;
        }
        pids.extend(more.iter().map(|process| process.pid));
        found.extend(more);
        others = rest;
    }
}

#[cfg(test)]
mod tests;
