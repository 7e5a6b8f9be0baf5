//! The native half of the Python package: the one pipeline, driven by hand from Python.
//!
//! It has no rules of its own. Futures are polled only from Python's threads; Python is never called while a lock of
//! the controller is held.

mod approver;
mod call;
mod controller;
mod convert;
mod gate;
mod held;
mod memory;
mod process;
mod session;
mod setup;
mod ticket;
mod tools;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    askfirst,
    ConfigError,
    PyValueError,
    "A config that cannot be used: every fault, with its place."
);

/// The native half of the package `askfirst`.
#[pymodule]
fn _askfirst(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ConfigError", module.py().get_type::<ConfigError>())?;
    module.add_class::<memory::Memory>()?;
    module.add_class::<controller::Controller>()?;
    module.add_class::<approver::Answer>()?;
    module.add_class::<setup::Config>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<ticket::Ticket>()?;
    module.add_function(wrap_pyfunction!(convert::to_json, module)?)?;
    module.add_function(wrap_pyfunction!(convert::plain, module)?)?;
    module.add_function(wrap_pyfunction!(session::submit_together, module)?)?;
    module.add_function(wrap_pyfunction!(setup::sandbox_tier, module)?)?;
    process::hear_of_forks(module)?;
    let close = wrap_pyfunction!(gate::close, module)?;
    module.py().import("atexit")?.call_method1("register", (close,))?;
    Ok(())
}
