//! Stops the process, or fails a call, at a chosen step.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// The fault at the chosen step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Kill,
    FullDisk,
    /// An editor saves a file in the root.
    Save,
}

thread_local! {
    static LEFT: Cell<Option<(u64, Fault)>> = const { Cell::new(None) };
    static EDITED: RefCell<PathBuf> = const { RefCell::new(PathBuf::new()) };
    static SAVED: Cell<bool> = const { Cell::new(false) };
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// Chooses the step. `None` lets all steps pass.
pub(crate) fn choose(at: Option<(u64, Fault)>) {
    LEFT.set(at);
    TAKEN.set(0);
}

/// Names the file that an editor saves.
pub(crate) fn edit(path: &Path) {
    EDITED.set(path.to_owned());
    SAVED.set(false);
}

/// Whether the editor could save.
pub(crate) fn saved() -> bool {
    SAVED.get()
}

/// The number of steps since the last choice.
pub(crate) fn taken() -> u64 {
    TAKEN.get()
}

/// Comes before each change of the disk.
pub(crate) fn step() -> Result<(), Errno> {
    TAKEN.set(TAKEN.get() + 1);
    match LEFT.get() {
        Some((0, Fault::Kill)) => {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            Ok(())
        }
        Some((0, Fault::Save)) => {
            LEFT.set(None);
            let path = EDITED.take();
            // The folder may be gone already, and then the editor cannot save.
            let saved = std::fs::write(path.with_extension("saved"), "editor")
                .and_then(|()| std::fs::rename(path.with_extension("saved"), &path));
            SAVED.set(saved.is_ok());
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
