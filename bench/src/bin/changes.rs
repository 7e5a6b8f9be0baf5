//! Measures collect, commit and undo of a change set, for changed files, a new folder and a removed folder.
//!
//! `changes FOLDER` chooses the disk, and `changes FOLDER COUNT ...` the numbers of files. The upper layers are made by
//! hand, so that no mount is measured. Times are processor times, so that others on the machine disturb little. A commit
//! that survives power cuts waits for the disk, so its time is wall-clock time.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use askfirst_bench::{Failure, in_words, median};
use askfirst_changes::{ChangeSet, ChangeStore, CollectLimits, CommitOptions, Durability, collect};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::time::{ClockId, clock_gettime};

/// The kinds of change, each with what its upper layer contains.
const KINDS: [(&str, Kind); 3] =
    [("changed", Kind::Changed), ("in a new folder", Kind::Added), ("in a removed folder", Kind::Removed)];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Changed,
    Added,
    Removed,
}

/// The times of one turn in nanoseconds.
#[derive(Default)]
struct Times {
    collect: Vec<f64>,
    commit: Vec<f64>,
    synced: Vec<f64>,
    undo: Vec<f64>,
}

fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let counts: Result<Vec<usize>, _> = std::env::args().skip(2).map(|count| count.parse()).collect();
    let counts = counts.map(|counts| if counts.is_empty() { vec![10, 1_000, 50_000] } else { counts })?;
    let folder = folder.join(format!("askfirst-changes-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let done = measure(&folder, &counts);
    fs::remove_dir_all(&folder)?;
    done
}

fn measure(folder: &Path, counts: &[usize]) -> Result<(), Failure> {
    for count in counts.iter().copied() {
        for (name, kind) in KINDS {
            let mut times = Times::default();
            let turns = if count > 10_000 { 3 } else { 7 };
            for turn in 0..turns {
                for durability in [Durability::Kill, Durability::PowerCut] {
                    let place = folder.join(format!("{count}-{turn}-{durability:?}"));
                    one_turn(&place, kind, count, durability, &mut times)?;
                    fs::remove_dir_all(place)?;
                }
            }
            print(&format!("{count} {name}"), count, &mut times);
        }
    }
    Ok(())
}

fn one_turn(
    place: &Path,
    kind: Kind,
    count: usize,
    durability: Durability,
    times: &mut Times,
) -> Result<(), Failure> {
    let root = place.join("root");
    fs::create_dir_all(root.join("some"))?;
    fs::create_dir(place.join("state"))?;
    let store = ChangeStore::open(File::open(place.join("state"))?)?;
    let root_handle: OwnedFd = File::open(&root)?.into();
    let pending = store.begin(&root_handle)?;
    let upper = place.join("state/commits").join(pending.id()).join("upper");
    match kind {
        Kind::Changed => {
            fill(&root.join("folder"), count, "old")?;
            fill(&upper.join("folder"), count, "new and longer")?;
        }
        Kind::Added => fill(&upper.join("folder"), count, "new")?,
        Kind::Removed => {
            fill(&root.join("folder"), count, "old")?;
            mknodat(CWD, upper.join("folder"), FileType::CharacterDevice, Mode::empty(), 0)?;
        }
    }
    rustix::fs::syncfs(&root_handle)?;
    let collect = || collect(&root_handle, pending.upper(), &CollectLimits::default());
    let changes: ChangeSet = timed((ClockId::ThreadCPUTime, &mut times.collect), collect)?;
    let options = CommitOptions { durability, ..CommitOptions::default() };
    let commit_times = match durability {
        Durability::Kill => (ClockId::ThreadCPUTime, &mut times.commit),
        Durability::PowerCut => (ClockId::Monotonic, &mut times.synced),
    };
    timed(commit_times, || pending.commit(&root_handle, pending.upper(), &changes, &options))?;
    timed((ClockId::ThreadCPUTime, &mut times.undo), || store.undo(pending.id(), &root_handle))?;
    Ok(())
}

/// Files of about a hundred bytes, a thousand to a folder.
fn fill(folder: &Path, count: usize, text: &str) -> Result<(), Failure> {
    for number in 0..count {
        let inner = folder.join((number / 1000).to_string());
        if number % 1000 == 0 {
            fs::create_dir_all(&inner)?;
        }
        fs::write(inner.join(number.to_string()), format!("{text} {number:090}"))?;
    }
    Ok(())
}

fn timed<T, E: Into<Failure>>(
    (clock, times): (ClockId, &mut Vec<f64>),
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, Failure> {
    let now = || {
        let time = clock_gettime(clock);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let start = now();
    let done = work().map_err(Into::into)?;
    times.push(now() - start);
    Ok(done)
}

fn print(label: &str, count: usize, times: &mut Times) {
    let cell = |name: &str, times: &mut Vec<f64>| {
        let time = median(times);
        format!("{name} {} ({} a file)", in_words(time), in_words(time / count as f64))
    };
    let cells = [
        cell("collect", &mut times.collect),
        cell("commit", &mut times.commit),
        cell("with sync", &mut times.synced),
        cell("undo", &mut times.undo),
    ];
    println!("{label:<30} {}", cells.join(" | "));
}
