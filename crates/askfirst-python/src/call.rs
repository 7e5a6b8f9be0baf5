//! One call as Python made it: its Python objects, and the handover between the pipeline and the tool.
//!
//! All calls of a session share one toolset, through which the pipeline assesses and executes them. The toolset finds
//! the Python side of a call by the call's id.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use askfirst::toolset::PersonInput;
use askfirst::{ApprovalContext, CallId, Invocation, ToolError};
use askfirst_runtime::pipeline::next_call_id;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::convert;
use crate::gate;

/// The Python side of a call.
pub(crate) struct PythonCall {
    /// The id of the call. It exists before the call is assessed.
    pub(crate) id: CallId,
    /// The arguments as Python passed them.
    pub(crate) args: Py<PyAny>,
    /// The function that assesses this call instead of the session's.
    pub(crate) assess: Option<Py<PyAny>>,
    /// Why the call cannot be judged, if its arguments are not JSON.
    pub(crate) fault: Option<String>,
    /// An exception to raise in the caller, such as Ctrl-C during an assessment.
    raised: Mutex<Option<PyErr>>,
    /// Whether the call was submitted. Before that, no one can have changed its arguments.
    submitted: AtomicBool,
    handover: Mutex<Handover>,
}

/// A call that runs or ran, with what a person contributed to it.
pub(crate) struct ApprovedCall {
    pub(crate) call: Arc<ApprovalContext>,
    pub(crate) person: PersonInput,
}

impl ApprovedCall {
    pub(crate) fn of(invocation: &Invocation) -> Self {
        Self { call: Arc::clone(&invocation.call), person: invocation.person.clone() }
    }
}

/// The calls of a session that the pipeline has not finished, by id.
#[derive(Default)]
pub(crate) struct PythonCalls(Mutex<HashMap<CallId, Weak<PythonCall>>>);

impl PythonCalls {
    /// With this many entries, calls that have ended are removed before one is added.
    const MANY: usize = 64;

    pub(crate) fn add(&self, call: &Arc<PythonCall>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MANY {
            known.retain(|_, call| call.strong_count() > 0);
        }
        known.insert(call.id, Arc::downgrade(call));
    }

    pub(crate) fn get(&self, id: CallId) -> Option<Arc<PythonCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id)?.upgrade()
    }
}

/// Passes a permitted call from the pipeline to Python, and its result back.
#[derive(Default)]
struct Handover {
    permitted: Option<Box<Invocation>>,
    result: Option<Box<Result<Value, ToolError>>>,
    /// The call of a tool of the config, which runs without Python.
    built_in: Option<ApprovedCall>,
    waker: Option<Waker>,
}

/// Python's context and event loop at the submission of a call. They are looked up when first needed.
#[derive(Default)]
pub(crate) struct CallOrigin(OnceLock<Py<PyAny>>);

impl CallOrigin {
    /// Looks up context and loop, once. Must run on the thread that submits the call.
    fn look_up(&self) {
        static HERE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if self.0.get().is_none()
            && let Some(Ok(here)) = gate::attach(|py| -> PyResult<Py<PyAny>> {
                let find = || Ok::<_, PyErr>(py.import("askfirst._ask")?.getattr("here")?.unbind());
                HERE.get_or_try_init(py, find)?.call0(py)
            })
        {
            drop(self.0.set(here));
        }
    }

    pub(crate) fn get(&self) -> Option<&Py<PyAny>> {
        self.0.get()
    }
}

/// The origin of one question. It is registered while this value exists.
#[derive(Clone)]
pub(crate) struct QuestionOrigin {
    pub(crate) id: CallId,
    pub(crate) origin: Arc<CallOrigin>,
    pub(crate) origins: Arc<CallOrigins>,
}

impl QuestionOrigin {
    /// Creates and registers the origin of a question that is not about a Python call. Must run on the asking thread.
    pub(crate) fn new(origins: &Arc<CallOrigins>) -> Self {
        let origin = Self::of(next_call_id(), origins);
        origin.register();
        origin
    }

    /// Creates the origin of the question about a call, without registering it.
    pub(crate) fn of(id: CallId, origins: &Arc<CallOrigins>) -> Self {
        Self { id, origin: Arc::default(), origins: Arc::clone(origins) }
    }

    /// Registers the origin. Must run on the thread that submits the call.
    pub(crate) fn register(&self) {
        self.origins.register(self);
    }
}

/// Whether a call's arguments are those that Python passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ArgsState {
    #[default]
    Original,
    Edited,
}

/// The origins of the calls that a person is asked about, by id.
#[derive(Default)]
pub(crate) struct CallOrigins(Mutex<HashMap<CallId, Weak<CallOrigin>>>);

impl CallOrigins {
    const MANY: usize = 256;

    fn register(&self, question: &QuestionOrigin) {
        question.origin.look_up();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MANY {
            known.retain(|_, origin| origin.strong_count() > 0);
        }
        known.insert(question.id, Arc::downgrade(&question.origin));
    }

    /// Returns the origin of a question.
    pub(crate) fn of(&self, id: CallId) -> Option<Arc<CallOrigin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id)?.upgrade()
    }
}

impl PythonCall {
    pub(crate) fn new(args: Py<PyAny>, assess: Option<Py<PyAny>>, fault: Option<String>) -> Self {
        let (raised, submitted, handover) = (Mutex::default(), AtomicBool::new(false), Mutex::default());
        Self { id: next_call_id(), args, assess, fault, raised, submitted, handover }
    }

    /// Marks the call as submitted.
    pub(crate) fn mark_submitted(&self) {
        self.submitted.store(true, Ordering::Release);
    }

    /// Hands over a permitted call, and waits for its result. The pipeline calls this.
    pub(crate) fn run(&self, invocation: Invocation) -> impl Future<Output = Result<Value, ToolError>> + '_ {
        self.handover().permitted = Some(Box::new(invocation));
        std::future::poll_fn(|context| self.poll_result(context))
    }

    fn poll_result(&self, context: &Context<'_>) -> Poll<Result<Value, ToolError>> {
        let mut handover = self.handover();
        match handover.result.take() {
            Some(result) => Poll::Ready(*result),
            None => {
                handover.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Takes the permitted call, if there is one yet. Python calls this.
    pub(crate) fn take_permitted(&self) -> Option<Box<Invocation>> {
        self.handover().permitted.take()
    }

    /// Hands over the result. Python calls this.
    pub(crate) fn hand_back(&self, result: Result<Value, ToolError>) {
        self.handover().result = Some(Box::new(result));
    }

    /// Notes the call of a tool of the config when it starts.
    pub(crate) fn note_built_in(&self, invocation: &Invocation) {
        self.handover().built_in = Some(ApprovedCall::of(invocation));
    }

    /// Takes the call of a tool of the config.
    pub(crate) fn take_built_in(&self) -> Option<ApprovedCall> {
        self.handover().built_in.take()
    }

    /// Keeps an exception to raise in the caller.
    pub(crate) fn keep_exception(&self, error: PyErr) {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Raises the kept exception, if there is one.
    pub(crate) fn raise_exception(&self) -> PyResult<()> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Returns the arguments of a judged call as Python objects.
    ///
    /// An unchanged argument is the object that Python passed. An argument that a person edited, or that code changed
    /// after the judgment, is built from the judged value.
    pub(crate) fn args_of<'py>(
        &self,
        py: Python<'py>,
        call: &ApprovalContext,
    ) -> PyResult<(Bound<'py, PyDict>, ArgsState)> {
        let Ok(given) = self.args.bind(py).cast::<PyDict>() else {
            return Ok((convert::object_to_python(py, &call.args)?, ArgsState::Edited));
        };
        let made = PyDict::new(py);
        let mut edited = if given.len() == call.args.len() { ArgsState::Original } else { ArgsState::Edited };
        for (key, value) in &call.args {
            let before = given.get_item(key)?;
            match before.as_ref().filter(|own| convert::to_value(own).is_ok_and(|now| now == *value)) {
                Some(own) => made.set_item(key, own)?,
                None => {
                    edited = ArgsState::Edited;
                    made.set_item(key, decode(py, value, before)?)?;
                }
            }
        }
        Ok((if edited == ArgsState::Original { given.clone() } else { made }, edited))
    }

    /// Returns the arguments for code that assesses the call.
    pub(crate) fn args_to_assess<'py>(
        &self,
        py: Python<'py>,
        call: &ApprovalContext,
    ) -> PyResult<Bound<'py, PyDict>> {
        match (self.submitted.load(Ordering::Acquire), self.args.bind(py).cast::<PyDict>()) {
            // A copy, so that the code cannot change what was judged.
            (false, Ok(given)) => given.copy(),
            (true, _) | (false, Err(_)) => self.args_of(py, call).map(|(args, _)| args),
        }
    }

    fn handover(&self) -> MutexGuard<'_, Handover> {
        self.handover.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn decode<'py>(
    py: Python<'py>,
    value: &Value,
    before: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let module = py.import("askfirst._json")?;
    module.getattr("decode")?.call1((convert::to_python(py, value)?, before))
}
