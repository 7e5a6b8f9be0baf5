//! The way into Python for threads that Python does not wait for. It closes before the interpreter is taken apart: who
//! is inside comes out first, and nobody enters any more, since the interpreter ends such threads where they stand.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use pyo3::marker::Ungil;
use pyo3::prelude::*;

/// How long the end of the program waits for those inside.
const PATIENCE: Duration = Duration::from_secs(1);

struct Gate {
    inside: usize,
    /// Who closed it: the main thread, which goes on.
    closed: Option<ThreadId>,
}

static GATE: Mutex<Gate> = Mutex::new(Gate { inside: 0, closed: None });
static LEFT: Condvar = Condvar::new();

fn gate() -> MutexGuard<'static, Gate> {
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Being inside.
pub(crate) struct Inside;

impl Inside {
    /// Enters, unless the gate is closed.
    pub(crate) fn enter() -> Option<Self> {
        let mut gate = gate();
        if gate.closed.is_some_and(|by| by != std::thread::current().id()) {
            return None;
        }
        gate.inside += 1;
        Some(Self)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        gate().inside -= 1;
        LEFT.notify_all();
    }
}

/// Enters Python, unless it has ended or is about to.
pub(crate) fn attach<R>(f: impl for<'py> FnOnce(Python<'py>) -> R) -> Option<R> {
    let _inside = Inside::enter()?;
    Python::try_attach(f)
}

/// Works without Python's lock, and takes it again. A thread that comes back after the end stays outside for good.
pub(crate) fn detach<T: Send + Ungil>(py: Python<'_>, f: impl FnOnce() -> T + Send + Ungil) -> T {
    let (result, _inside) = py.detach(|| {
        let result = f();
        loop {
            if let Some(inside) = Inside::enter() {
                return (result, inside);
            }
            std::thread::park();
        }
    });
    result
}

/// Closes the gate. To be called when the interpreter is about to end.
#[pyfunction]
pub(crate) fn close(py: Python<'_>) {
    py.detach(|| {
        let mut gate = gate();
        gate.closed = Some(std::thread::current().id());
        drop(LEFT.wait_timeout_while(gate, PATIENCE, |gate| gate.inside > 0));
    });
}
