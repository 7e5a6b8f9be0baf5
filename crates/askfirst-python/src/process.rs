//! Refuses native objects in a forked child.
//!
//! A fork copies the memory of the process but none of its threads, so objects of the parent cannot work in the child.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::PyResult;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The number of forks between the process that loaded the library and this one.
///
/// Python reports each fork in the child. Asking the system for the process id on each use would be too slow.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// A value that only the process that created it may use.
///
/// A forked child neither uses nor drops the value: a thread that does not exist there may hold one of its locks.
pub(crate) struct ProcessBound<T> {
    value: Option<T>,
    forks: u32,
}

impl<T> ProcessBound<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// Returns the value, or `None` in another process.
    pub(crate) fn here(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_here())
    }

    /// Returns the value. Fails in another process.
    pub(crate) fn get(&self) -> PyResult<&T> {
        self.here().ok_or_else(|| {
            PyRuntimeError::new_err(
                "this object belongs to the process before the fork; hint: create a new session or controller here",
            )
        })
    }

    fn is_here(&self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
    }
}

impl<T> Drop for ProcessBound<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            std::mem::forget(self.value.take());
        }
    }
}

/// Counts a fork. Python calls this in the child.
#[pyfunction]
fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Makes Python report forks.
pub(crate) fn register_fork_hook(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let hooks = pyo3::types::PyDict::new(module.py());
    hooks.set_item("after_in_child", wrap_pyfunction!(forked, module)?)?;
    module.py().import("os")?.call_method("register_at_fork", (), Some(&hooks))?;
    Ok(())
}
