//! The memory of a session, for Python. Several controllers may share one memory.

use askfirst::ports::Clock;
use askfirst::{ApprovalDecision, ApprovalMemory, MemoryId, SharedMemory};
use askfirst_runtime::clock::SystemClock;
use pyo3::prelude::*;
use std::time::Duration;

use crate::convert;
use crate::process::ProcessBound;

/// The remembered decisions.
#[pyclass(frozen, module = "askfirst")]
pub struct Memory(ProcessBound<(SharedMemory, SystemClock)>);

impl Memory {
    pub(crate) fn shared(&self) -> PyResult<SharedMemory> {
        Ok(self.0.get()?.0.clone())
    }
}

#[pymethods]
impl Memory {
    /// Creates an empty memory. A decision expires after `expire` seconds.
    #[new]
    #[pyo3(signature = (expire=None))]
    fn new(expire: Option<f64>) -> Self {
        let expire = expire.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Self(ProcessBound::new((ApprovalMemory::new(expire).into(), SystemClock::start())))
    }

    /// Returns the decision that is remembered for a tool and a payload.
    fn lookup<'py>(
        &self,
        py: Python<'py>,
        tool_name: &str,
        payload: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let payload = convert::to_value(payload)?;
        let (memory, clock) = self.0.get()?;
        let found = memory.lock().lookup(tool_name, &payload, clock.now());
        found.map(|decision| convert::typed_to_python(py, &decision)).transpose()
    }

    /// Remembers a decision if its scope says so. Returns its number.
    fn store(
        &self,
        tool_name: &str,
        payload: &Bound<'_, PyAny>,
        decision: &Bound<'_, PyAny>,
    ) -> PyResult<Option<u64>> {
        let payload = convert::to_value(payload)?;
        let decision: ApprovalDecision = convert::to_typed(decision)?;
        let (memory, clock) = self.0.get()?;
        Ok(memory.lock().store(tool_name, &payload, decision, clock.now()).map(|id| id.0))
    }

    /// Forgets all decisions.
    fn clear(&self) -> PyResult<()> {
        self.0.get()?.0.lock().clear();
        Ok(())
    }

    /// Forgets one decision. Returns whether it existed.
    fn revoke(&self, number: u64) -> PyResult<bool> {
        Ok(self.0.get()?.0.lock().revoke(MemoryId(number)))
    }

    /// Returns the remembered decisions, oldest first.
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (memory, clock) = self.0.get()?;
        let list: Vec<_> = memory.lock().list(clock.now()).into_iter().cloned().collect();
        convert::typed_to_python(py, &list)
    }
}
