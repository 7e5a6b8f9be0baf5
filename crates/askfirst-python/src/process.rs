//! A fork copies our memory but none of our threads: what was made in one process is refused in another.

use pyo3::PyResult;
use pyo3::exceptions::PyRuntimeError;

/// Something that belongs to the process that made it. In a forked child it is neither used nor taken apart: a lock in
/// it may be held by a thread that is not there.
pub(crate) struct Ours<T> {
    value: Option<T>,
    process: u32,
}

impl<T> Ours<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), process: std::process::id() }
    }

    /// The value, unless this is another process.
    pub(crate) fn get(&self) -> PyResult<&T> {
        self.value.as_ref().filter(|_| self.process == std::process::id()).ok_or_else(|| {
            PyRuntimeError::new_err(
                "this belongs to another process, which forked: make a new session or controller here",
            )
        })
    }
}

impl<T> Drop for Ours<T> {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.value.take());
        }
    }
}
