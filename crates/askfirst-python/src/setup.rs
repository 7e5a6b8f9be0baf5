//! What a session is made of: the config, the audit log, the terminal, the sandbox.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use askfirst::ports::Approver;
use askfirst_config::{
    DEFAULT_APPROVAL_TIMEOUT, DEFAULT_MEMORY_EXPIRE, DEFAULT_PREVIEW_LINES, LoadOptions, OnDenial, Places,
    from_json, load,
};
use askfirst_display::redact::Redactor;
use askfirst_runtime::sandbox::{Helper, probe_machine, use_helper};
use askfirst_runtime::session::OpenError;
use askfirst_runtime::tools::catalog::redactor;
use askfirst_terminal::{Notify, Options, Style, TerminalApprover};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::ConfigError;
use crate::convert;

/// A config that was read.
#[pyclass(frozen, module = "askfirst")]
pub struct Config(pub(crate) askfirst_config::Config);

#[pymethods]
impl Config {
    /// A config from a file, or from a dict; without either, the one that is in force in this folder.
    #[new]
    #[pyo3(signature = (path=None, data=None))]
    fn new(path: Option<PathBuf>, data: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let options =
            LoadOptions { explicit: path, folder: std::env::current_dir()?, places: Places::from_env() };
        let read = match data {
            Some(data) => {
                let text = convert::config_text(data)?;
                let value = askfirst::json::parse(text.as_bytes());
                from_json(&value.map_err(|e| ConfigError::new_err(e.to_string()))?, &options)
            }
            None => load(&options),
        };
        read.map(Self).map_err(|faults| ConfigError::new_err(faults.to_string()))
    }

    /// Older spellings and other things to say once.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.iter().map(ToString::to_string).collect()
    }

    /// How many seconds a question waits.
    #[getter]
    fn approval_timeout(&self) -> f64 {
        self.0.main.approval_timeout.unwrap_or(DEFAULT_APPROVAL_TIMEOUT).as_secs_f64()
    }

    /// After how many seconds a decision is forgotten.
    #[getter]
    fn memory_expire(&self) -> f64 {
        self.0.main.memory_expire.unwrap_or(DEFAULT_MEMORY_EXPIRE).as_secs_f64()
    }

    /// `return` or `stop`.
    #[getter]
    fn on_denial(&self) -> &'static str {
        match self.0.main.on_denial {
            OnDenial::Return => "return",
            OnDenial::Stop => "stop",
        }
    }
}

/// Asks at the terminal.
pub(crate) fn terminal(config: Option<&Config>) -> PyResult<Arc<dyn Approver>> {
    let bad = |e: askfirst_display::redact::BadGlob| PyValueError::new_err(e.to_string());
    let (lines, redactor) = match config {
        Some(Config(config)) => (config.main.preview_lines, redactor(config).map_err(bad)?),
        None => {
            let values = askfirst_display::redact::secret_env(&[], std::env::vars_os()).map_err(bad)?;
            (None, Redactor::new(&[], values).map_err(bad)?)
        }
    };
    let options = Options {
        style: Style::of_environment(),
        preview_lines: lines.unwrap_or(DEFAULT_PREVIEW_LINES),
        redactor: Arc::new(redactor),
        notify: match config.map(|Config(config)| config.main.notify).unwrap_or_default() {
            askfirst_config::Notify::Auto => Notify::Auto,
            askfirst_config::Notify::Bell => Notify::Bell,
            askfirst_config::Notify::Off => Notify::Off,
        },
        front_end: "python".to_owned(),
        withheld: Vec::new(),
    };
    Ok(Arc::new(TerminalApprover::new(options)))
}

/// The Python exception for a session that cannot be opened.
pub(crate) fn cannot_open(error: OpenError) -> PyErr {
    let text = error.to_string();
    match error {
        OpenError::NoSandbox => PyRuntimeError::new_err(text),
        OpenError::Tools(_) | OpenError::Override(_) => ConfigError::new_err(text),
        OpenError::Secrets(_) => PyValueError::new_err(text),
        OpenError::AuditLog(_) => PyOSError::new_err(text),
    }
}

/// Names the helper of the sandbox: the program beside the library, if it came with the library.
/// Without a helper there is no sandbox, and the config says what happens then.
pub(crate) fn find_helper(library: &Path) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Ok(helper) = Helper::beside(library) {
            use_helper(helper);
        }
    });
}

/// Returns the tier of the sandbox on this machine, or why there is none.
#[pyfunction]
pub(crate) fn sandbox_tier(library: PathBuf) -> (Option<String>, Option<String>) {
    find_helper(&library);
    match &probe_machine().any {
        Ok(sandbox) => (Some(sandbox.tier().to_string()), None),
        Err(why) => (None, Some(why.clone())),
    }
}
