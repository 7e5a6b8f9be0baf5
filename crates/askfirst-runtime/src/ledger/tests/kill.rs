//! Killing a writer at any step loses no entry that was confirmed as logged.

use std::fs::File;
use std::io;
use std::process::{Child, Output};
use std::sync::atomic::AtomicUsize;

use super::super::disk::spare_name;
use super::*;

/// A disk that kills the process at a step, counted from 0 over every write, sync, rename, creation and new head.
pub(super) struct Dying {
    left: AtomicUsize,
    how: How,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    Before,
    Halfway,
    After,
}

impl Dying {
    pub(super) fn new(step: usize, how: &str) -> Self {
        let how = match how {
            "before" => How::Before,
            "halfway" => How::Halfway,
            "after" => How::After,
            other => panic!("no such way to die: {other}"),
        };
        Self { left: AtomicUsize::new(step + 1), how }
    }

    fn step<T>(&self, half: impl FnOnce(), whole: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let now = self.left.fetch_sub(1, Ordering::Relaxed) == 1;
        if now && self.how == How::Before {
            die();
        }
        if now && self.how == How::Halfway {
            half();
            die();
        }
        let done = whole();
        if now {
            die();
        }
        done
    }
}

fn die() {
    let me = rustix::process::getpid();
    rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
    loop {
        std::thread::park();
    }
}

impl Disk for Dying {
    fn open(&self, path: &Path) -> io::Result<File> {
        RealDisk.open(path)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        self.step(|| (), || RealDisk.create(path))
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let half = || drop(RealDisk.append(file, &bytes[..bytes.len() / 2]));
        self.step(half, || RealDisk.append(file, bytes))
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.step(|| (), || RealDisk.sync(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|| (), || RealDisk.rename(from, to))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.step(|| (), || RealDisk.sync_folder(folder))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let half = || std::fs::write(spare_name(path), &bytes[..bytes.len() / 2]).unwrap();
        self.step(half, || RealDisk.replace(path, bytes))
    }
}

// invariant: 8
/// With a single writer, every step is reached, and the next writer finds exactly what that step left.
#[test]
fn killed_writer_loses_no_recorded_entry() {
    for how in ["before", "halfway", "after"] {
        let mut died = 0;
        for step in 0.. {
            let (_folder, path) = scratch();
            let output =
                processes::start(&format!("die w 8 1000 {step} {how}"), &path).wait_with_output().unwrap();
            let killed = verify_with_head(&path, None, path.parent().unwrap());
            let blames_head = |fault: &VerifyFault| fault.what.contains("stored head");
            assert!(!killed.is_ok_and(|checked| checked.faults.iter().any(blames_head)), "{how} step {step}");
            open_small(&path, 1000).append(&executed("after"), Durability::Synced).unwrap();
            check(&path, std::slice::from_ref(&output), &format!("{how} step {step}"));
            if output.status.success() {
                break;
            }
            died += 1;
        }
        assert!(died > 30, "only {died} steps {how}");
    }
}

/// Three other writers are active, so that one of them finds the bytes left behind.
#[test]
fn other_writers_go_on_after_one_is_killed() {
    for how in ["before", "halfway", "after"] {
        for step in 0..24 {
            let (_folder, path) = scratch();
            let jobs =
                (0..3).map(|n| format!("write w{n} 12 1500")).chain([format!("die d 12 1500 {step} {how}")]);
            let children: Vec<Child> = jobs.map(|job| processes::start(&job, &path)).collect();
            let outputs: Vec<Output> =
                children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
            let survivors = outputs.iter().filter(|output| output.status.success()).count();
            assert!(survivors >= 3, "{outputs:?}");
            open_small(&path, 1500).append(&executed("after"), Durability::Synced).unwrap();
            check(&path, &outputs, &format!("{how} step {step}"));
        }
    }
}

/// Checks the log and its stored head: a killed writer never leaves a head that is ahead of the log.
fn check(path: &Path, outputs: &[Output], when: &str) {
    assert_eq!(faults(path), Vec::<String>::new(), "{when}");
    let found = call_ids(path);
    for id in outputs.iter().flat_map(processes::acknowledged) {
        assert_eq!(found.iter().filter(|other| **other == id).count(), 1, "{id} killed {when}");
    }
}
