//! A fork copies our memory but none of our threads: what was made in one process is refused in another.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::PyResult;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// How often this process and those it came from forked since the library was loaded. Told by Python, which a child that
/// goes on with Python cannot do without; asking the system each time would cost more than all else.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Something that belongs to the process that made it. In a forked child it is neither used nor taken apart: a lock in
/// it may be held by a thread that is not there.
pub(crate) struct Ours<T> {
    value: Option<T>,
    forks: u32,
}

impl<T> Ours<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Some(value), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// The value, unless this is another process.
    pub(crate) fn here(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_here())
    }

    /// The same, where it is an error.
    pub(crate) fn get(&self) -> PyResult<&T> {
        self.here().ok_or_else(|| {
            PyRuntimeError::new_err(
                "this belongs to another process, which forked: make a new session or controller here",
            )
        })
    }

    fn is_here(&self) -> bool {
        self.forks == FORKS.load(Ordering::Relaxed)
    }
}

impl<T> Drop for Ours<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            std::mem::forget(self.value.take());
        }
    }
}

/// Says that this is the child of a fork.
#[pyfunction]
fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Has Python tell of forks.
pub(crate) fn hear_of_forks(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let hooks = pyo3::types::PyDict::new(module.py());
    hooks.set_item("after_in_child", wrap_pyfunction!(forked, module)?)?;
    module.py().import("os")?.call_method("register_at_fork", (), Some(&hooks))?;
    Ok(())
}
