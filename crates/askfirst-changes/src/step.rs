//! The point before each change of the disk, at which a test can stop the process or fail the call.

use std::cell::Cell;

use rustix::io::Errno;

type Hook = fn() -> Result<(), Errno>;

thread_local! {
    static HOOK: Cell<Option<Hook>> = const { Cell::new(None) };
}

/// Comes before each change of the disk.
pub(crate) fn step() -> Result<(), Errno> {
    HOOK.get().map_or(Ok(()), |hook| hook())
}

/// Calls `hook` before each change of the disk that this thread makes.
#[cfg(test)]
pub(crate) fn before_each_step(hook: Hook) {
    HOOK.set(Some(hook));
}
