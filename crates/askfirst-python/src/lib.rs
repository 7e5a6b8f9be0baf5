//! The judge, called from Python. What crosses the border is JSON text, read by the same strict reader as everywhere.

use std::path::PathBuf;

use askfirst::toolset::BoxFuture;
use askfirst::{ApprovalContext, Invocation, Policy, ToolDefinition, ToolError, Toolset, judge};
use askfirst_runtime::assess::{self, Unknown};
use askfirst_runtime::config::{Config, LoadOptions, Places, from_json, load};
use askfirst_runtime::launcher::walls_when_asked;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// A policy that judges calls.
#[pyclass(frozen)]
struct Judge {
    policy: Policy,
    warnings: Vec<String>,
}

#[pymethods]
impl Judge {
    /// Reads a config file, or a config given as JSON text.
    #[new]
    #[pyo3(signature = (path=None, json=None))]
    fn new(path: Option<PathBuf>, json: Option<&str>) -> PyResult<Self> {
        let folder = std::env::current_dir()?;
        let options = LoadOptions { explicit: path, folder, places: Places::from_env() };
        let config = match json {
            Some(text) => {
                let value = askfirst::json::parse(text.as_bytes())
                    .map_err(|e| PyValueError::new_err(e.to_string()))?;
                from_json(&value, &options)
            }
            None => load(&options),
        };
        let config: Config = config.map_err(|faults| PyValueError::new_err(faults.to_string()))?;
        let warnings = config.warnings.iter().map(ToString::to_string).collect();
        Ok(Self {
            policy: config.policy(askfirst::Walls::default()).with_walls_found_by(walls_when_asked(&config)),
            warnings,
        })
    }

    /// Older spellings and other things to say once.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// The verdict about a call, as JSON text. What cannot be read is denied.
    fn decide(&self, tool: &str, args: &str, metadata: &str) -> String {
        let object = |text: &str| askfirst::json::parse_object(text.as_bytes()).map_err(|e| e.to_string());
        let verdict = match (object(args), object(metadata)) {
            (Ok(args), Ok(metadata)) => {
                self.verdict(ApprovalContext { metadata, ..ApprovalContext::new(tool, args) })
            }
            (Err(why), _) | (_, Err(why)) => {
                json!({"verdict": "deny", "because": [{"rule": "arguments", "file": null, "line": null, "text": why}]})
            }
        };
        verdict.to_string()
    }
}

impl Judge {
    fn verdict(&self, call: ApprovalContext) -> Value {
        let call = assess::prepare(call, &Elsewhere, &self.policy);
        let assessment = assess::assess(&call, &Elsewhere, Unknown::Silent);
        let judgement = judge(&call, &assessment, &self.policy);
        let mut verdict = json!({"verdict": judgement.verdict(), "because": judgement.because()});
        if let (Some(map), Some(request)) = (verdict.as_object_mut(), judgement.request()) {
            map.insert("request".to_owned(), json!(request));
        }
        verdict
    }
}

/// The tools live in Python, so here nobody speaks for them.
struct Elsewhere;

impl Toolset for Elsewhere {
    fn tools(&self) -> Vec<ToolDefinition> {
        Vec::new()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::Unknown(invocation.call.tool_name))))
    }
}

/// The native half of the package `askfirst`.
#[pymodule]
fn _askfirst(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Judge>()
}
