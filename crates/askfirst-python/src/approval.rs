//! A person's approval, for Python to pass to the next submission of the same call.

use std::sync::{Mutex, PoisonError};

use askfirst::machine::PersonApproval;
use pyo3::prelude::*;

/// A person's approval of one call. It answers the same request about the same call once more.
#[pyclass(frozen, module = "askfirst")]
pub struct Approval(Mutex<Option<PersonApproval>>);

impl Approval {
    pub(crate) fn new(approval: PersonApproval) -> Self {
        Self(Mutex::new(Some(approval)))
    }

    /// Takes the approval. Only the first caller gets it.
    pub(crate) fn take(&self) -> Option<PersonApproval> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
