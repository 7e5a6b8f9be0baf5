//! Outcomes as Python values, and results and errors of Python tools for the pipeline.

use askfirst::{Outcome, ToolError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::convert;
use crate::ticket::TicketEnd;

/// Returns the fields of an `askfirst.Outcome`.
pub(crate) fn fields_of<'py>(py: Python<'py>, end: &TicketEnd) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    match end {
        TicketEnd::Outcome(Outcome::Done(value)) => {
            dict.set_item("kind", "done")?;
            dict.set_item("result", convert::to_python(py, value)?)?;
        }
        TicketEnd::Outcome(Outcome::Denied(refusal)) => {
            dict.set_item("kind", "denied")?;
            dict.set_item("text", refusal.for_agent())?;
            dict.set_item("tool_name", &refusal.tool_name)?;
            dict.set_item("cause", convert::typed_to_python(py, &refusal.cause)?)?;
            dict.set_item("reason", &refusal.reason)?;
            dict.set_item("note", refusal.note.as_deref())?;
            dict.set_item("because", convert::typed_to_python(py, &refusal.because)?)?;
            dict.set_item("ends_run", refusal.ends_run)?;
        }
        TicketEnd::Outcome(Outcome::Failed(error)) => {
            dict.set_item("kind", "failed")?;
            dict.set_item("text", error.to_string())?;
            dict.set_item("error", kind_of(error))?;
            if let ToolError::Ended { result, .. } = error {
                dict.set_item("result", convert::to_python(py, result)?)?;
            }
        }
        TicketEnd::Decision(decision) => {
            dict.set_item("kind", "decided")?;
            dict.set_item("decision", convert::typed_to_python(py, decision)?)?;
        }
    }
    Ok(dict)
}

fn kind_of(error: &ToolError) -> &'static str {
    match error {
        ToolError::Unknown(_) => "unknown",
        ToolError::BadArgs(_) => "bad_args",
        ToolError::Failed(_) => "failed",
        ToolError::Ended { .. } => "ended",
        ToolError::Stale(_) => "stale",
        ToolError::Denied(_) | ToolError::Discarded(_) => "denied",
        ToolError::Unrecorded(_) => "unrecorded",
    }
}

/// Returns the text of an exception for the audit log.
pub(crate) fn failure(error: &Bound<'_, PyAny>) -> String {
    let name = error.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    let text = error.str().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    if text.is_empty() { name } else { format!("{name}: {text}") }
}

/// Returns the value whose digest goes into the audit log: the result, or its `repr` if JSON cannot hold it.
pub(crate) fn recorded(result: &Bound<'_, PyAny>) -> Value {
    convert::to_value(result).unwrap_or_else(|_| {
        Value::String(result.repr().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default())
    })
}
