//! Stops the process, or fails a call, at a chosen step.

use std::cell::Cell;

use rustix::io::Errno;

/// What happens at the chosen step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Kill,
    FullDisk,
}

thread_local! {
    static LEFT: Cell<Option<(u64, Fault)>> = const { Cell::new(None) };
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// Chooses the step. `None` lets all steps pass.
pub(crate) fn choose(at: Option<(u64, Fault)>) {
    crate::step::before_each_step(step);
    LEFT.set(at);
    TAKEN.set(0);
}

/// The number of steps since the last choice.
pub(crate) fn taken() -> u64 {
    TAKEN.get()
}

/// Comes before each change of the disk.
fn step() -> Result<(), Errno> {
    TAKEN.set(TAKEN.get() + 1);
    match LEFT.get() {
        Some((0, Fault::Kill)) => {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            Ok(())
        }
        Some((0, Fault::FullDisk)) => {
            LEFT.set(None);
            Err(Errno::NOSPC)
        }
        Some((left, fault)) => {
            LEFT.set(Some((left - 1, fault)));
            Ok(())
        }
        None => Ok(()),
    }
}
