//! The native half of the Python package. Python drives the calls of the one pipeline.
//!
//! This crate has no rules of its own. Only Python's threads poll its futures.
//! It never calls Python while it holds a lock of the controller.

mod approval;
mod approver;
mod call;
mod callback;
mod controller;
mod convert;
mod gate;
mod memory;
mod outcome;
mod process;
mod session;
mod setup;
mod ticket;
mod tools;
mod wakeup;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    askfirst,
    ConfigError,
    PyValueError,
    "The config is invalid. The message lists every error with its place."
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
    module.add_class::<approval::Approval>()?;
    module.add_function(wrap_pyfunction!(convert::to_json, module)?)?;
    module.add_function(wrap_pyfunction!(convert::plain, module)?)?;
    module.add_function(wrap_pyfunction!(convert::check_args, module)?)?;
    module.add_function(wrap_pyfunction!(session::submit_together, module)?)?;
    module.add_function(wrap_pyfunction!(setup::sandbox_tier, module)?)?;
    process::register_fork_hook(module)?;
    let close = wrap_pyfunction!(gate::close, module)?;
    module.py().import("atexit")?.call_method1("register", (close,))?;
    Ok(())
}
