//! Finds the processes of one launch among all; counts none as its own without a reason.

use std::collections::HashSet;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::marker::Marker;
use crate::process::{self, Environ, Kind, Process};
use crate::tree::Hold;

/// How often the list of processes is read again because some have gone and others come.
const LISTS: u32 = 50;

/// How often, in one look, processes that show no environment are looked at again, and the wait in between.
const GLANCES: u32 = 20;
const GLANCE: Duration = Duration::from_micros(100);

/// The search for what came from one program.
pub(crate) struct Search<'a> {
    leader: i32,
    /// What started before the program did not come from it.
    since: u64,
    marker: &'a Marker,
    /// Seen before, by pid and start time: ours even if they have lost their parents since.
    known: HashSet<(i32, u64)>,
}

/// What one look at all processes has found.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) alive: Vec<Process>,
    /// How many of `alive` were not seen before.
    pub(crate) fresh: usize,
    pub(crate) doubt: Doubt,
}

/// Whether some that were seen may be ours, or ours may not have been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Doubt {
    #[default]
    None,
    Some,
}

/// What one process is to us.
enum Relation {
    Ours,
    Other,
    /// It shows no environment. One of ours looks so for a moment, while it becomes another program.
    Unclear,
    /// It has ended since it was listed, and may have started another.
    Gone,
}

impl<'a> Search<'a> {
    /// For the program with this pid, which must not have been collected yet.
    pub(crate) fn new(leader: i32, marker: &'a Marker) -> Self {
        let since = Process::read(leader).map_or(0, |leader| leader.started);
        Self { leader, since, marker, known: HashSet::new() }
    }

    /// Whether the program has ended and nobody on the system has started anything after it. Then there is no need
    /// to look: a number that is still held is not given out again, so this cannot be a later round of numbers.
    pub(crate) fn is_last(&self, hold: Hold) -> bool {
        hold == Hold::Held
            && Process::read(self.leader).is_some_and(|leader| leader.kind == Kind::Ended)
            && process::last_number() == Some(self.leader)
    }

    /// Signals ours as they are found: those in the program's session, those that carry its mark, those known, and
    /// the children of these.
    pub(crate) fn signal_all(&mut self, hold: Hold, signal: Signal) -> io::Result<Seen> {
        let (mut seen, mut listed, mut others) = (Seen::default(), HashSet::new(), Vec::new());
        let mut glances = GLANCES;
        // One that goes on by starting another and ending would slip through a single list.
        for round in 0.. {
            let mut gone = false;
            let new: Vec<i32> = process::pids()?.filter(|pid| listed.insert(*pid)).collect();
            for pid in new {
                let Some(process) = Process::read(pid) else {
                    gone = true;
                    continue;
                };
                match self.relation(&process, hold, &mut glances) {
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
            if round == LISTS {
                seen.doubt = Doubt::Some;
                break;
            }
        }
        for child in children(&seen.alive, others) {
            child.signal(signal);
            seen.alive.push(child);
        }
        seen.fresh = seen.alive.iter().filter(|process| self.known.insert(process.name())).count();
        Ok(seen)
    }

    fn relation(&self, process: &Process, hold: Hold, glances: &mut u32) -> Relation {
        let session = match hold {
            Hold::Held => Some(self.leader),
            // The number may be another's by now.
            Hold::Lost | Hold::Over => None,
        };
        if process.started < self.since || u32::try_from(process.pid) == Ok(std::process::id()) {
            return Relation::Other;
        }
        match process.kind {
            Kind::Kernel => return Relation::Other,
            // It had ended before the first list, so what it started is in there.
            Kind::Ended if process.pid == self.leader => return Relation::Other,
            Kind::Ended => return Relation::Gone,
            Kind::Alive | Kind::Headless => {}
        }
        if Some(process.session) == session || self.known.contains(&process.name()) {
            return Relation::Ours;
        }
        loop {
            match process.environ() {
                Environ::Bytes(bytes) if self.marker.is_in(&bytes) => return Relation::Ours,
                Environ::Bytes(_) => return Relation::Other,
                Environ::Gone => return Relation::Gone,
                Environ::Hidden if !process.is_of_this_user() => return Relation::Other,
                Environ::Empty | Environ::Hidden if *glances == 0 => return Relation::Unclear,
                Environ::Empty | Environ::Hidden => {
                    *glances -= 1;
                    thread::sleep(GLANCE);
                }
            }
        }
    }
}

/// Those of `others` that came from `parents`, over any number of generations.
fn children(parents: &[Process], mut others: Vec<Process>) -> Vec<Process> {
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
