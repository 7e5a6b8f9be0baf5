//! The parts of a session that come from outside: the config, the terminal, the sandbox.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use askfirst::ports::Approver;
use askfirst::when::Glob;
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

/// A config after reading.
#[pyclass(frozen, module = "askfirst")]
pub struct Config {
    pub(crate) config: askfirst_config::Config,
    /// Whether the program passed this config. Other programs share the config in force.
    is_own: bool,
}

#[pymethods]
impl Config {
    /// Reads a config from a file or a dict. Without either, reads the config in force in this folder.
    #[new]
    #[pyo3(signature = (path=None, data=None))]
    fn new(path: Option<PathBuf>, data: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let is_own = path.is_some() || data.is_some();
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
        read.map(|config| Self { config, is_own }).map_err(|faults| ConfigError::new_err(faults.to_string()))
    }

    /// Warnings about older spellings and weak settings.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.config.warnings.iter().map(ToString::to_string).collect()
    }

    /// How many seconds a request waits for an answer.
    #[getter]
    fn approval_timeout(&self) -> f64 {
        self.config.main.approval_timeout.unwrap_or(DEFAULT_APPROVAL_TIMEOUT).as_secs_f64()
    }

    /// How many seconds a decision is remembered.
    #[getter]
    fn memory_expire(&self) -> f64 {
        self.config.main.memory_expire.unwrap_or(DEFAULT_MEMORY_EXPIRE).as_secs_f64()
    }

    /// The tools of the program that the config names, without globs and without tools that the config defines itself.
    /// The config in force names tools of other programs, too, so the list is empty for it.
    #[getter]
    fn tool_names(&self) -> Vec<&str> {
        let main = &self.config.main;
        let entries = main.rules.entries().filter(|_| self.is_own).map(|entry| entry.name.as_str());
        let mut names: Vec<&str> = entries.filter(|name| self.is_reference(name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// `return` or `stop`.
    #[getter]
    fn on_denial(&self) -> &'static str {
        match self.config.main.on_denial {
            OnDenial::Return => "return",
            OnDenial::Stop => "stop",
        }
    }
}

impl Config {
    /// Returns whether the name of an entry means a tool that the program must offer.
    fn is_reference(&self, name: &str) -> bool {
        Glob::is_plain(name) && !self.config.main.commands.contains_key(name)
    }
}

/// Creates the approver that asks at the terminal.
pub(crate) fn terminal(config: Option<&Config>) -> PyResult<Arc<dyn Approver>> {
    let bad = |e: askfirst_display::redact::BadGlob| PyValueError::new_err(e.to_string());
    let (lines, redactor) = match config {
        Some(Config { config, .. }) => (config.main.preview_lines, redactor(config).map_err(bad)?),
        None => {
            let values = askfirst_display::redact::secret_env(&[], std::env::vars_os()).map_err(bad)?;
            (None, Redactor::new(&[], values).map_err(bad)?)
        }
    };
    let options = Options {
        style: Style::of_environment(),
        preview_lines: lines.unwrap_or(DEFAULT_PREVIEW_LINES),
        redactor: Arc::new(redactor),
        notify: match config.map(|Config { config, .. }| config.main.notify).unwrap_or_default() {
            askfirst_config::Notify::Auto => Notify::Auto,
            askfirst_config::Notify::Bell => Notify::Bell,
            askfirst_config::Notify::Off => Notify::Off,
        },
        front_end: "python".to_owned(),
        withheld: Vec::new(),
    };
    Ok(Arc::new(TerminalApprover::new(options)))
}

/// Converts the error of a session that cannot be opened to a Python exception.
pub(crate) fn open_error(error: OpenError) -> PyErr {
    let text = error.to_string();
    match error {
        OpenError::NoSandbox => PyRuntimeError::new_err(text),
        OpenError::Tools(_) | OpenError::UnknownKeys(_) | OpenError::Override(_) => {
            ConfigError::new_err(text)
        }
        OpenError::Secrets(_) => PyValueError::new_err(text),
        OpenError::AuditLog(_) => PyOSError::new_err(text),
    }
}

/// Sets the program that builds the sandbox: the one next to the library, if it is the one of this package.
///
/// Without it no sandbox works here, and the config decides what follows from that.
pub(crate) fn find_helper(library: &Path) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Ok(helper) = Helper::beside(library) {
            use_helper(helper);
        }
    });
}

/// Returns the tier of the sandbox that works here, or why none works.
#[pyfunction]
pub(crate) fn sandbox_tier(library: PathBuf) -> (Option<String>, Option<String>) {
    find_helper(&library);
    match &probe_machine().any {
        Ok(sandbox) => (Some(sandbox.tier().to_string()), None),
        Err(why) => (None, Some(why.clone())),
    }
}
