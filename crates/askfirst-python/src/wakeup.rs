//! Wakes the code that waits for a ticket.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::Duration;

use pyo3::prelude::*;

use crate::gate;

/// Wakes the waiting threads and calls the callback when a ticket can be polled again.
#[derive(Default)]
pub(crate) struct Wakeup {
    state: Mutex<WakeupState>,
    changed: Condvar,
}

/// Whether a ticket can be polled again, and the function to call then.
#[derive(Default)]
pub(crate) struct WakeupState {
    pub(crate) woken: bool,
    pub(crate) callback: Option<Py<PyAny>>,
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.lock();
        state.woken = true;
        let callback = state.callback.take();
        drop(state);
        self.changed.notify_all();
        if let Some(callback) = callback {
            // If Python has ended, nothing needs the call.
            gate::attach(|py| call_back(py, &callback));
        }
    }
}

impl Wakeup {
    pub(crate) fn lock(&self) -> MutexGuard<'_, WakeupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn nap(&self, time: Duration) {
        let state = self.lock();
        let woken = |state: &mut WakeupState| !state.woken;
        drop(self.changed.wait_timeout_while(state, time, woken));
    }
}

fn call_back(py: Python<'_>, callback: &Py<PyAny>) {
    if let Err(error) = callback.call0(py) {
        error.write_unraisable(py, Some(callback.bind(py)));
    }
}
