//! Python objects that the native half holds for long, where Python's collector can find them: a callback may well hold
//! what holds it.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// A Python object that belongs to exactly one of our own, which shows it to the collector.
pub(crate) struct Held(Mutex<Option<Py<PyAny>>>);

impl Held {
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        Self(Mutex::new(Some(object)))
    }

    /// The object. Once the collector took it, whoever needs it fails, and a call that rests on it is refused.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let object = held.as_ref().map(|object| object.bind(py).clone());
        object.ok_or_else(|| PyRuntimeError::new_err("what is to be called was thrown away"))
    }

    /// Shows it to the collector. What is in use right now is not shown, and so stays.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.try_lock() {
            Ok(held) => visit.call(held.as_ref()),
            Err(_) => Ok(()),
        }
    }

    /// Lets it go.
    pub(crate) fn clear(&self) {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(taken);
    }
}
