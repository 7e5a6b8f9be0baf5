//! Admits threads that Python does not wait for into the interpreter, until the interpreter is about to end.
//!
//! The interpreter kills such threads wherever they are. So the gate closes first: it waits for the threads that are
//! inside, and admits no more.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use pyo3::marker::Ungil;
use pyo3::prelude::*;

/// How long the end of the program waits for the threads inside.
const PATIENCE: Duration = Duration::from_secs(1);

struct Gate {
    inside: usize,
    /// The thread that closed the gate. It is the main thread, and may still enter.
    closed: Option<ThreadId>,
}

static GATE: Mutex<Gate> = Mutex::new(Gate { inside: 0, closed: None });
static LEFT: Condvar = Condvar::new();

fn gate() -> MutexGuard<'static, Gate> {
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Marks a thread as inside until it is dropped.
pub(crate) struct GateGuard;

impl GateGuard {
    /// Enters, or returns `None` if the gate is closed.
    pub(crate) fn enter() -> Option<Self> {
        let mut gate = gate();
        if gate.closed.is_some_and(|by| by != std::thread::current().id()) {
            return None;
        }
        gate.inside += 1;
        Some(Self)
    }
}

impl Drop for GateGuard {
    fn drop(&mut self) {
        gate().inside -= 1;
        LEFT.notify_all();
    }
}

/// Runs a function that needs Python. Returns `None` if Python has ended or is about to.
pub(crate) fn attach<R>(f: impl for<'py> FnOnce(Python<'py>) -> R) -> Option<R> {
    let _inside = GateGuard::enter()?;
    Python::try_attach(f)
}

/// Runs a function without holding Python's lock (the GIL). A thread that returns after the gate has closed parks
/// forever.
pub(crate) fn detach<T: Send + Ungil>(py: Python<'_>, f: impl FnOnce() -> T + Send + Ungil) -> T {
    let (result, _inside) = py.detach(|| {
        let result = f();
        loop {
            if let Some(inside) = GateGuard::enter() {
                return (result, inside);
            }
            std::thread::park();
        }
    });
    result
}

/// Closes the gate. Python calls this when the interpreter is about to end.
#[pyfunction]
pub(crate) fn close(py: Python<'_>) {
    py.detach(|| {
        let mut gate = gate();
        gate.closed = Some(std::thread::current().id());
        drop(LEFT.wait_timeout_while(gate, PATIENCE, |gate| gate.inside > 0));
    });
}
