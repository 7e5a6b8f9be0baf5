//! The approver that asks a Python callable.
//!
//! Python chooses the thread or event loop on which the callable runs. This module sends a question and gets an answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use askfirst::machine::{self, OneByOne, Question, QuestionId};
use askfirst::ports::{Approver, Reply};
use askfirst::{ApprovalDecision, Cause};
use askfirst_runtime::approver::written_out;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::CallOrigins;
use crate::callback::PythonCallback;
use crate::convert;
use crate::gate::{self, GateGuard};
use crate::process::ProcessBound;

/// Passes questions to `ask(number, requests, answer, origin)`, and withdraws them with `withdraw(number, cause)`.
pub(crate) struct PythonApprover {
    pub(crate) ask: PythonCallback,
    pub(crate) withdraw: PythonCallback,
    pub(crate) origins: Arc<CallOrigins>,
}

impl Approver for PythonApprover {
    fn ask(&self, question: Question, reply: Reply) {
        // If Python has ended, the dropped reply reports that the approver failed.
        gate::attach(|py| {
            let waiting =
                OpenQuestion { reply, count: question.members.len(), added: OneByOne::new(&question) };
            let answer = Answer(ProcessBound::new(Mutex::new(Some(waiting))));
            let asked = Bound::new(py, answer).and_then(|answer| {
                let requests = PyList::empty(py);
                for member in &question.members {
                    requests.append(convert::typed_to_python(py, &written_out(&member.request))?)?;
                }
                let mut members = question.members.iter();
                let origin = members.find_map(|member| self.origins.of(member.request.id));
                let origin = origin.as_ref().and_then(|origin| origin.get());
                let ask = self.ask.get(py);
                let called = ask.and_then(|ask| ask.call1((question.id.0, requests, &answer, origin)));
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
pub struct Answer(ProcessBound<Mutex<Option<OpenQuestion>>>);

/// A question that waits for its answer.
struct OpenQuestion {
    reply: Reply,
    /// The number of requests.
    count: usize,
    /// The decisions that were added one by one.
    added: OneByOne,
}

impl Answer {
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<OpenQuestion>>> {
        Ok(self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self) -> PyResult<Option<Reply>> {
        Ok(self.lock()?.take().map(|waiting| waiting.reply))
    }

    fn fail(&self, note: &str) -> PyResult<()> {
        if let Some(reply) = self.take()? {
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
        let guard = self.lock()?;
        if guard.as_ref().is_some_and(|waiting| ![waiting.count, 1].contains(&decisions.len())) {
            return Err(PyValueError::new_err("expected one decision for each request"));
        }
        drop(guard);
        if let Some(reply) = self.take()? {
            reply.send(machine::Answer { decisions, seen: None });
        }
        Ok(())
    }

    /// Adds the decision about the next request, as a dict. Returns whether to ask about another one. After the last
    /// one, it sends the answer.
    fn add(&self, decision: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(_inside) = GateGuard::enter() else { return Ok(false) };
        let decision: ApprovalDecision = convert::to_typed_as_tagged(decision)?;
        let mut guard = self.lock()?;
        let Some(waiting) = guard.as_mut() else { return Ok(false) };
        let goes_on = waiting.added.add(decision);
        let ended = if goes_on { None } else { guard.take() };
        drop(guard);
        if let Some(OpenQuestion { reply, added, .. }) = ended {
            reply.send(added.answer());
        }
        Ok(goes_on)
    }

    /// Reports that there is no answer, and why.
    #[pyo3(name = "fail")]
    fn fail_from_python(&self, note: &str) -> PyResult<()> {
        let Some(_inside) = GateGuard::enter() else { return Ok(()) };
        self.fail(note)
    }
}
