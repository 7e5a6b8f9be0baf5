//! The tools of a session: those of the config, which run here, and those of Python, which Python runs.
//!
//! A tool whose assessment fails blocks the call.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use askfirst::policy::{Case, NeedsApproval, OverrideVerdict};
use askfirst::schema::{SchemaMismatch, check_args};
use askfirst::toolset::{BoxFuture, DefinitionPin};
use askfirst::{
    ApprovalAware, ApprovalContext, ApprovalRequest, Assessment, Invocation, Shown, ToolDefinition,
    ToolError, Toolset, View, simple_approval_request,
};
use pyo3::exceptions::{PyException, PyPermissionError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use serde_json::Value;

use crate::call::{PythonCall, PythonCalls};
use crate::callback::PythonCallback;
use crate::convert::{self, describe_error};
use crate::gate;

/// The definition of a Python tool. The digest of the pin stands for its other parts.
struct KnownTool {
    pin: DefinitionPin,
    schema: Value,
}

/// The tools of a session.
pub(crate) struct SessionTools {
    /// The tools of the config.
    built_in: Option<Arc<dyn Toolset>>,
    /// Assesses the calls of Python tools that have no function of their own.
    assess: Option<PythonCallback>,
    /// The definitions of Python tools.
    known: RwLock<HashMap<String, KnownTool>>,
    /// The calls of Python tools that have not ended.
    calls: Arc<PythonCalls>,
}

impl SessionTools {
    pub(crate) fn new(
        built_in: Option<Arc<dyn Toolset>>,
        assess: Option<Py<PyAny>>,
        calls: Arc<PythonCalls>,
    ) -> Self {
        Self { built_in, assess: assess.map(PythonCallback::new), known: RwLock::default(), calls }
    }

    /// Returns the function that assesses every call.
    pub(crate) fn assess(&self) -> Option<&PythonCallback> {
        self.assess.as_ref()
    }

    /// Sets the definition of a Python tool. A remembered approval does not cover another definition.
    pub(crate) fn define(&self, definition: &ToolDefinition) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let tool = KnownTool { pin: DefinitionPin::of(definition), schema: definition.input_schema.clone() };
        known.insert(definition.name.clone(), tool);
    }

    /// Returns whether the config offers a tool with this name. Such a tool runs here.
    pub(crate) fn is_built_in(&self, name: &str) -> bool {
        self.built_in(name).is_some()
    }

    /// Returns the tools of the config, if one of them has this name.
    fn built_in(&self, name: &str) -> Option<&Arc<dyn Toolset>> {
        self.built_in.as_ref().filter(|tools| tools.definition(name).is_some())
    }

    /// Returns the assessment that Python gives of a call.
    fn assess_in_python(&self, call: &ApprovalContext) -> Assessment {
        let Some(own) = self.calls.get(call.id) else {
            return Assessment::silent();
        };
        if let Some(fault) = &own.fault {
            return Assessment::blocked(format!("invalid arguments: {fault}"));
        }
        if own.assess.is_none() && self.assess.is_none() {
            return Assessment::silent();
        }
        let outcome = gate::attach(|py| -> PyResult<Assessment> {
            let assess = match (&own.assess, &self.assess) {
                (Some(assess), _) => assess.bind(py).clone(),
                (None, Some(assess)) => assess.get(py)?,
                (None, None) => return Ok(Assessment::silent()),
            };
            let args = own.args_to_assess(py, call)?;
            let metadata = convert::object_to_python(py, &call.metadata)?;
            let answered = assess.call1((&call.tool_name, args, metadata))?;
            assessment_of(&answered, call)
        });
        match outcome {
            Some(Ok(assessment)) => assessment,
            Some(Err(error)) => blocked_by(error, &own),
            None => Assessment::blocked("Python has ended"),
        }
    }
}

/// Returns whether a value contains a tag, which stands for a value that is not JSON.
fn has_tag(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_tag),
        Value::Object(map) => map.iter().any(|(key, value)| key.starts_with('$') || has_tag(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Converts the answer of a Python function: `None` is silent, `False` is harmless, `True` or a request means to ask.
fn assessment_of(answered: &Bound<'_, PyAny>, call: &ApprovalContext) -> PyResult<Assessment> {
    if answered.is_none() {
        return Ok(Assessment::silent());
    }
    if let Ok(asks) = answered.cast_exact::<PyBool>() {
        return Ok(if asks.is_true() {
            Assessment::needs_approval(simple_approval_request(&call.tool_name, &call.args, None, &[]))
        } else {
            Assessment::harmless()
        });
    }
    let whole = |dict: &Bound<'_, PyDict>| {
        ["tool_name", "description", "payload"].into_iter().all(|key| dict.contains(key).unwrap_or(false))
    };
    if answered.cast_exact::<PyDict>().is_ok_and(whole) {
        return Ok(Assessment::needs_approval(convert::to_typed::<ApprovalRequest>(answered)?));
    }
    // An object or an incomplete dict that describes a request.
    let py = answered.py();
    let args = convert::object_to_python(py, &call.args)?;
    let known = py.import("askfirst._assess")?.getattr("view")?.call1((answered, &call.tool_name, args))?;
    Ok(Assessment::needs_approval(convert::to_typed::<ApprovalRequest>(&known)?))
}

/// Blocks the call after an exception. A `PermissionError` gives the reason; any other exception is a failed check.
fn blocked_by(error: PyErr, call: &PythonCall) -> Assessment {
    Assessment::blocked(reason_of(error, Some(call), "the tool's check failed"))
}

fn reason_of(error: PyErr, call: Option<&PythonCall>, failed: &str) -> String {
    let words = gate::attach(|py| {
        let words = describe_error(py, &error);
        if error.is_instance_of::<PyPermissionError>(py) {
            let text = error.value(py).str().map(|text| text.to_string_lossy().into_owned());
            return text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "blocked".to_owned());
        }
        if !error.is_instance_of::<PyException>(py)
            && let Some(call) = call
        {
            call.keep_exception(error);
        } else {
            log_failure(py, failed, &error);
        }
        format!("{failed}: {words}")
    });
    words.unwrap_or_else(|| failed.to_owned())
}

/// Logs an exception with its traceback through Python's `logging`.
fn log_failure(py: Python<'_>, failed: &str, error: &PyErr) {
    let log = || {
        py.import("askfirst._log")?.call_method1("log_failure", (failed, error.clone_ref(py).into_value(py)))
    };
    if let Err(error) = log() {
        error.write_unraisable(py, None);
    }
}

impl ApprovalAware for SessionTools {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        match self.built_in(&call.tool_name) {
            Some(tools) => tools.approval().map_or_else(Assessment::silent, |own| own.check_approval(call)),
            None => self.assess_in_python(call),
        }
    }

    fn present(&self, call: &ApprovalContext, request: &ApprovalRequest) -> Shown {
        let tools = self.built_in(&call.tool_name).and_then(|tools| tools.approval());
        tools.map(|tools| tools.present(call, request)).unwrap_or_default()
    }
}

impl Toolset for SessionTools {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.built_in.as_ref().map(|tools| tools.tools()).unwrap_or_default()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        let call = self.calls.get(invocation.call.id);
        if let Some(tools) = self.built_in(&invocation.call.tool_name) {
            call.iter().for_each(|call| call.note_built_in(&invocation));
            return tools.call(invocation);
        }
        match call {
            Some(call) => Box::pin(async move { call.run(invocation).await }),
            None => Box::pin(std::future::ready(Err(ToolError::Unknown(invocation.call.tool_name.clone())))),
        }
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        if let Some(definition) = self.built_in.as_ref().and_then(|tools| tools.definition(name)) {
            return Some(definition);
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let DefinitionPin { digest, risk } = known.get(name)?.pin;
        Some(ToolDefinition { risk, ..ToolDefinition::new(name, digest.to_string(), Value::Null) })
    }

    fn check_args(&self, call: &ApprovalContext) -> Result<(), SchemaMismatch> {
        if let Some(tools) = self.built_in(&call.tool_name) {
            return tools.check_args(call);
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        match known.get(&call.tool_name) {
            // The schema describes JSON, and a tag stands for a value that is not JSON.
            Some(tool) if !call.args.values().any(has_tag) => check_args(&tool.schema, &call.args),
            Some(_) | None => Ok(()),
        }
    }
}

/// An override in Python: `override(tool_name, args, metadata, entry)`.
pub(crate) struct PythonOverride {
    pub(crate) decide: PythonCallback,
    pub(crate) calls: Arc<PythonCalls>,
}

impl NeedsApproval for PythonOverride {
    fn needs_approval(
        &self,
        call: &ApprovalContext,
        assessment: &Assessment,
        case: Option<&Case>,
    ) -> OverrideVerdict {
        let own = self.calls.get(call.id);
        let outcome = gate::attach(|py| -> PyResult<OverrideVerdict> {
            let args = match &own {
                Some(own) => own.args_to_assess(py, call)?,
                None => convert::object_to_python(py, &call.args)?,
            };
            let entry = match case {
                Some(case) => convert::object_to_python(py, &case.options)?,
                None => PyDict::new(py),
            };
            if let Some(approval) = case.and_then(|case| case.approval) {
                entry.set_item("approval", approval.as_str())?;
            }
            let metadata = convert::object_to_python(py, &call.metadata)?;
            let answered = self.decide.get(py)?.call1((&call.tool_name, args, metadata, entry))?;
            Ok(match assessment_of(&answered, call)?.view {
                View::Silent => verdict_of(assessment),
                View::Harmless => OverrideVerdict::Allow,
                View::NeedsApproval(_) if answered.is_exact_instance_of::<PyBool>() => OverrideVerdict::Ask,
                View::NeedsApproval(request) => OverrideVerdict::AskWith(request),
                View::Blocked(reason) => OverrideVerdict::Deny(reason),
            })
        });
        match outcome {
            Some(Ok(needs)) => needs,
            Some(Err(error)) => {
                OverrideVerdict::Deny(reason_of(error, own.as_deref(), "the override failed"))
            }
            None => OverrideVerdict::Deny("Python has ended".to_owned()),
        }
    }
}

/// Uses the tool's own assessment for an override that returns `None`. If the tool is silent too, askfirst asks.
fn verdict_of(assessment: &Assessment) -> OverrideVerdict {
    match &assessment.view {
        View::Harmless => OverrideVerdict::Allow,
        View::Silent | View::NeedsApproval(_) => OverrideVerdict::Ask,
        View::Blocked(reason) => OverrideVerdict::Deny(reason.clone()),
    }
}
