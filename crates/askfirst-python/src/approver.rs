//! The approver that asks a Python callable.
//!
//! Python chooses the thread or event loop on which the callable runs. This module sends a question and gets an answer.

use std::sync::{Arc, Mutex, PoisonError};

use askfirst::machine::{self, Question, QuestionId};
use askfirst::ports::{Approver, Reply};
use askfirst::{ApprovalDecision, Cause};
use askfirst_config::OnDenial;
use askfirst_runtime::approver::written_out;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::CallOrigins;
use crate::callback::PythonCallback;
use crate::convert;
use crate::gate::{self, GateGuard};
use crate::process::ProcessBound;

/// Passes questions to `ask(number, requests, answer, origin, ends_run)`, and withdraws them with
/// `withdraw(number, cause)`. `ends_run` says for each request whether a no ends the run of the caller.
pub(crate) struct PythonApprover {
    pub(crate) ask: PythonCallback,
    pub(crate) withdraw: PythonCallback,
    pub(crate) origins: Arc<CallOrigins>,
}

impl Approver for PythonApprover {
    fn ask(&self, question: Question, reply: Reply) {
        // If Python has ended, the dropped reply reports that the approver failed.
        gate::attach(|py| {
            let answer = Answer(ProcessBound::new(Mutex::new(Some((reply, question.members.len())))));
            let asked = Bound::new(py, answer).and_then(|answer| {
                let requests = PyList::empty(py);
                for member in &question.members {
                    requests.append(convert::typed_to_python(py, &written_out(&member.request))?)?;
                }
                let members = question.members.iter();
                let known: Vec<_> = members.map(|member| self.origins.of(member.request.id)).collect();
                let ends_run: Vec<bool> =
                    known.iter().map(|(_, on_denial)| *on_denial == OnDenial::Stop).collect();
                let origin = known.iter().find_map(|(origin, _)| origin.as_ref());
                let origin = origin.and_then(|origin| origin.get());
                let ask = self.ask.get(py);
                let called =
                    ask.and_then(|ask| ask.call1((question.id.0, requests, &answer, origin, ends_run)));
                if let Err(error) = &called {
                    answer.get().fail(&convert::describe_error(py, error))?;
                }
                called
            });
            if let Err(error) = asked {
                error.write_unraisable(py, self.ask.get(py).ok().as_ref());
            }
        });
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        gate::attach(|py| {
            // A callback that was freed has no open question.
            let Ok(withdraw) = self.withdraw.get(py) else { return };
            if let Err(error) = withdraw.call1((question.0, cause.as_str())) {
                error.write_unraisable(py, Some(&withdraw));
            }
        });
    }
}

/// Takes the answer to one question. If it is dropped unused, the answer is that the approver failed.
#[pyclass(frozen, module = "askfirst")]
pub struct Answer(ProcessBound<Mutex<Option<(Reply, usize)>>>);

impl Answer {
    fn take(&self) -> PyResult<Option<(Reply, usize)>> {
        Ok(self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner).take())
    }

    fn fail(&self, note: &str) -> PyResult<()> {
        if let Some((reply, _)) = self.take()? {
            reply.send(machine::Answer::failed(Cause::ApproverFailed, note));
        }
        Ok(())
    }
}

#[pymethods]
impl Answer {
    /// Answers with one decision for each request, as dicts. Anything else is an error, and not an answer.
    fn send(&self, decisions: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        // If Python is about to end, no one waits for the answer.
        let Some(_inside) = GateGuard::enter() else { return Ok(()) };
        let decisions: Vec<ApprovalDecision> =
            decisions.iter().map(convert::to_typed_as_tagged).collect::<PyResult<_>>()?;
        let guard = self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.as_ref().is_some_and(|(_, count)| decisions.len() != *count && decisions.len() != 1) {
            return Err(PyValueError::new_err("expected one decision for each request"));
        }
        drop(guard);
        if let Some((reply, _)) = self.take()? {
            reply.send(machine::Answer { decisions, seen: None });
        }
        Ok(())
    }

    /// Reports that there is no answer, and why.
    #[pyo3(name = "fail")]
    fn fail_from_python(&self, note: &str) -> PyResult<()> {
        let Some(_inside) = GateGuard::enter() else { return Ok(()) };
        self.fail(note)
    }
}
