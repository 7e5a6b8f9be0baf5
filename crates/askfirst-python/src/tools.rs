//! The tools of a session: those of the config, which run here, and Python's own, which are handed to Python when they
//! may run. A tool that fails while it assesses is a tool that blocks.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use askfirst::policy::{Case, NeedsApproval, OverrideVerdict};
use askfirst::toolset::BoxFuture;
use askfirst::{
    ApprovalAware, ApprovalContext, ApprovalRequest, Assessment, Digest, Invocation, Risk, Shown,
    ToolDefinition, ToolError, Toolset, View, simple_approval_request,
};
use pyo3::exceptions::{PyException, PyPermissionError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use serde_json::Value;

use crate::call::{Call, Calls};
use crate::convert::{self, in_words};
use crate::gate;
use crate::held::Held;

/// The tools of a session.
pub(crate) struct Tools {
    /// Those of the config.
    built_in: Option<Arc<dyn Toolset>>,
    /// Assesses calls of Python's tools that bring nobody along.
    assess: Option<Held>,
    /// What is known of Python's tools. The digest stands for the whole definition.
    known: RwLock<HashMap<String, (Digest, Risk)>>,
    /// Calls of Python's tools that are not over.
    calls: Arc<Calls>,
}

impl Tools {
    pub(crate) fn new(
        built_in: Option<Arc<dyn Toolset>>,
        assess: Option<Py<PyAny>>,
        calls: Arc<Calls>,
    ) -> Self {
        Self { built_in, assess: assess.map(Held::new), known: RwLock::default(), calls }
    }

    /// Who looks at every call, for the collector.
    pub(crate) fn assess(&self) -> Option<&Held> {
        self.assess.as_ref()
    }

    /// Tells of a tool: from now on a call of it is a call of exactly this definition.
    pub(crate) fn define(&self, definition: &ToolDefinition) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(definition.name.clone(), (definition.digest(), definition.risk));
    }

    /// Whether the config itself offers a tool of this name, which then runs here.
    pub(crate) fn runs(&self, name: &str) -> bool {
        self.built_in(name).is_some()
    }

    /// The config's own tool of this name.
    fn built_in(&self, name: &str) -> Option<&Arc<dyn Toolset>> {
        self.built_in.as_ref().filter(|tools| tools.definition(name).is_some())
    }

    /// Python's view of a call of its own.
    fn ask_python(&self, call: &ApprovalContext) -> Assessment {
        let Some(own) = self.calls.get(call.id) else {
            return Assessment::silent();
        };
        if let Some(fault) = &own.fault {
            return Assessment::blocked(format!("the arguments cannot be judged: {fault}"));
        }
        if own.assess.is_none() && self.assess.is_none() {
            return Assessment::silent();
        }
        let answer = gate::attach(|py| -> PyResult<Assessment> {
            let assess = match (&own.assess, &self.assess) {
                (Some(assess), _) => assess.bind(py).clone(),
                (None, Some(assess)) => assess.get(py)?,
                (None, None) => return Ok(Assessment::silent()),
            };
            let args = own.args_to_show(py, call)?;
            let metadata = convert::object_to_python(py, &call.metadata)?;
            let said = assess.call1((&call.tool_name, args, metadata))?;
            view_of(&said, call)
        });
        match answer {
            Some(Ok(assessment)) => assessment,
            Some(Err(error)) => blocked(error, &own),
            None => Assessment::blocked("Python has ended"),
        }
    }
}

/// What Python's answer means: `None` nothing, `False` harmless, `True` or a request that somebody is asked.
fn view_of(said: &Bound<'_, PyAny>, call: &ApprovalContext) -> PyResult<Assessment> {
    if said.is_none() {
        return Ok(Assessment::silent());
    }
    if let Ok(asks) = said.cast_exact::<PyBool>() {
        return Ok(if asks.is_true() {
            Assessment::needs_approval(simple_approval_request(&call.tool_name, &call.args, None, &[]))
        } else {
            Assessment::harmless()
        });
    }
    let whole = |dict: &Bound<'_, PyDict>| {
        ["tool_name", "description", "payload"].into_iter().all(|key| dict.contains(key).unwrap_or(false))
    };
    if said.cast_exact::<PyDict>().is_ok_and(whole) {
        return Ok(Assessment::needs_approval(convert::to_typed::<ApprovalRequest>(said)?));
    }
    // Requests, and what else stands for one.
    let py = said.py();
    let args = convert::object_to_python(py, &call.args)?;
    let known = py.import("askfirst._assess")?.getattr("view")?.call1((said, &call.tool_name, args))?;
    Ok(Assessment::needs_approval(convert::to_typed::<ApprovalRequest>(&known)?))
}

/// `PermissionError` means never, for its reason. Any other exception means the same, as a failure.
fn blocked(error: PyErr, call: &Call) -> Assessment {
    Assessment::blocked(reason(error, Some(call), "the tool failed to assess the call"))
}

fn reason(error: PyErr, call: Option<&Call>, failed: &str) -> String {
    let words = gate::attach(|py| {
        let words = in_words(py, &error);
        if error.is_instance_of::<PyPermissionError>(py) {
            let text = error.value(py).str().map(|text| text.to_string_lossy().into_owned());
            return text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "blocked".to_owned());
        }
        if !error.is_instance_of::<PyException>(py)
            && let Some(call) = call
        {
            call.keep(error);
        }
        format!("{failed}: {words}")
    });
    words.unwrap_or_else(|| failed.to_owned())
}

impl ApprovalAware for Tools {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        match self.built_in(&call.tool_name) {
            Some(tools) => tools.approval().map_or_else(Assessment::silent, |own| own.check_approval(call)),
            None => self.ask_python(call),
        }
    }

    fn present(&self, call: &ApprovalContext, request: &ApprovalRequest) -> Shown {
        let tools = self.built_in(&call.tool_name).and_then(|tools| tools.approval());
        tools.map(|tools| tools.present(call, request)).unwrap_or_default()
    }
}

impl Toolset for Tools {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.built_in.as_ref().map(|tools| tools.tools()).unwrap_or_default()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        if let Some(tools) = self.built_in(&invocation.call.tool_name) {
            return tools.call(invocation);
        }
        match self.calls.get(invocation.call.id) {
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
        let (digest, risk) = known.get(name)?;
        Some(ToolDefinition { risk: *risk, ..ToolDefinition::new(name, digest.to_string(), Value::Null) })
    }
}

/// A decision point in Python: `override(tool_name, args, metadata, entry)`.
pub(crate) struct Override {
    pub(crate) decide: Held,
    pub(crate) calls: Arc<Calls>,
}

impl NeedsApproval for Override {
    fn needs_approval(
        &self,
        call: &ApprovalContext,
        assessment: &Assessment,
        case: Option<&Case>,
    ) -> OverrideVerdict {
        let own = self.calls.get(call.id);
        let answer = gate::attach(|py| -> PyResult<OverrideVerdict> {
            let args = match &own {
                Some(own) => own.args_to_show(py, call)?,
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
            let said = self.decide.get(py)?.call1((&call.tool_name, args, metadata, entry))?;
            Ok(match view_of(&said, call)?.view {
                View::Silent => needs(assessment),
                View::Harmless => OverrideVerdict::Allow,
                View::NeedsApproval(_) if said.is_exact_instance_of::<PyBool>() => OverrideVerdict::Ask,
                View::NeedsApproval(request) => OverrideVerdict::AskWith(request),
                View::Blocked(reason) => OverrideVerdict::Deny(reason),
            })
        });
        match answer {
            Some(Ok(needs)) => needs,
            Some(Err(error)) => {
                OverrideVerdict::Deny(reason(error, own.as_deref(), "the decision point failed"))
            }
            None => OverrideVerdict::Deny("Python has ended".to_owned()),
        }
    }
}

/// A decision point that has nothing to say leaves the word to the tool, and asks where that is silent too.
fn needs(assessment: &Assessment) -> OverrideVerdict {
    match &assessment.view {
        View::Harmless => OverrideVerdict::Allow,
        View::Silent | View::NeedsApproval(_) => OverrideVerdict::Ask,
        View::Blocked(reason) => OverrideVerdict::Deny(reason.clone()),
    }
}
