//! Python callables that the native half keeps, visible to Python's garbage collector.
//!
//! A callback often refers to the object that keeps it. Only the collector can free such a cycle.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// A Python callable with exactly one native owner, which shows it to the collector.
pub(crate) struct PythonCallback(Mutex<Option<Py<PyAny>>>);

impl PythonCallback {
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        Self(Mutex::new(Some(object)))
    }

    /// Returns the callable. Fails if the collector has freed it; askfirst then refuses the call that needs it.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let object = held.as_ref().map(|object| object.bind(py).clone());
        object.ok_or_else(|| PyRuntimeError::new_err("the callback no longer exists"))
    }

    /// Shows the callable to the collector. A callable in use at this moment is not shown, so it stays alive.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.try_lock() {
            Ok(held) => visit.call(held.as_ref()),
            Err(_) => Ok(()),
        }
    }

    /// Drops the callable.
    pub(crate) fn clear(&self) {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(taken);
    }
}
