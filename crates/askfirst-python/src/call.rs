//! One call as Python made it: its own objects, and the place where pipeline and tool meet.
//!
//! The pipeline assesses and executes through a toolset that all calls of a session share. The toolset finds the
//! Python side of a call by the call's id.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use askfirst::{ApprovalContext, CallId, Invocation, ToolError};
use askfirst_runtime::pipeline::next_call_id;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::convert;
use crate::gate;

/// What Python knows of a call.
pub(crate) struct Call {
    /// Its id, from before it is assessed until its end.
    pub(crate) id: CallId,
    /// The arguments as they were given.
    pub(crate) args: Py<PyAny>,
    /// Who assesses it, where the session's own does not.
    pub(crate) assess: Option<Py<PyAny>>,
    /// Why it cannot be judged.
    pub(crate) fault: Option<String>,
    /// What must go on up through Python, such as Ctrl-C while a tool assessed.
    raised: Mutex<Option<PyErr>>,
    /// Whether it has been submitted. Before that, nobody can have changed it.
    submitted: AtomicBool,
    desk: Mutex<Handover>,
}

/// The calls of a session that the pipeline has not finished, by id.
#[derive(Default)]
pub(crate) struct Calls(Mutex<HashMap<CallId, Weak<Call>>>);

impl Calls {
    /// Above this number, calls that are over are removed first.
    const MANY: usize = 64;

    pub(crate) fn add(&self, call: &Arc<Call>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MANY {
            known.retain(|_, call| call.strong_count() > 0);
        }
        known.insert(call.id, Arc::downgrade(call));
    }

    pub(crate) fn get(&self, id: CallId) -> Option<Arc<Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id)?.upgrade()
    }
}

/// Where the pipeline leaves what may run, and Python what became of it.
#[derive(Default)]
struct Handover {
    permitted: Option<Box<Invocation>>,
    result: Option<Box<Result<Value, ToolError>>>,
    waker: Option<Waker>,
}

/// Where a submission came from, as far as somebody asks: Python's context and event loop, found when first needed.
#[derive(Default)]
pub(crate) struct Origin(OnceLock<Py<PyAny>>);

impl Origin {
    /// Looks around, if nobody did yet. To be called on the thread that submits.
    fn note(&self) {
        static HERE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if self.0.get().is_none()
            && let Some(Ok(here)) = gate::attach(|py| -> PyResult<Py<PyAny>> {
                let find = || Ok::<_, PyErr>(py.import("askfirst._ask")?.getattr("here")?.unbind());
                HERE.get_or_try_init(py, find)?.call0(py)
            })
        {
            // The first look counts.
            drop(self.0.set(here));
        }
    }

    pub(crate) fn get(&self) -> Option<&Py<PyAny>> {
        self.0.get()
    }
}

/// The origin of one question, and where it is kept while the question is open.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) id: CallId,
    pub(crate) origin: Arc<Origin>,
    pub(crate) origins: Arc<Origins>,
}

impl Asked {
    /// A question that is not about a call of Python's, asked from this thread.
    pub(crate) fn new(origins: &Arc<Origins>) -> Self {
        let asked = Self::of(next_call_id(), origins);
        asked.note();
        asked
    }

    /// The question about a call, if one will be asked.
    pub(crate) fn of(id: CallId, origins: &Arc<Origins>) -> Self {
        Self { id, origin: Arc::default(), origins: Arc::clone(origins) }
    }

    /// Notes where it comes from. Must run on the thread that submits it.
    pub(crate) fn note(&self) {
        self.origins.note(self.id, &self.origin);
    }
}

/// Whether a call's arguments are still those that Python gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Edited {
    #[default]
    No,
    Yes,
}

/// Where the calls that a person is asked about came from, by id.
#[derive(Default)]
pub(crate) struct Origins(Mutex<HashMap<CallId, Weak<Origin>>>);

impl Origins {
    const MANY: usize = 256;

    /// Notes where a call comes from. Must run on the thread that submits it.
    pub(crate) fn note(&self, id: CallId, origin: &Arc<Origin>) {
        origin.note();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MANY {
            known.retain(|_, origin| origin.strong_count() > 0);
        }
        known.insert(id, Arc::downgrade(origin));
    }

    pub(crate) fn of(&self, id: CallId) -> Option<Arc<Origin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id).and_then(Weak::upgrade)
    }
}

impl Call {
    pub(crate) fn new(args: Py<PyAny>, assess: Option<Py<PyAny>>, fault: Option<String>) -> Self {
        let (raised, submitted, desk) = (Mutex::default(), AtomicBool::new(false), Mutex::default());
        Self { id: next_call_id(), args, assess, fault, raised, submitted, desk }
    }

    /// Notes that the call has been submitted.
    pub(crate) fn submitted(&self) {
        self.submitted.store(true, Ordering::Release);
    }

    /// The pipeline: this may run now. Gives the result once there is one.
    pub(crate) fn run(&self, invocation: Invocation) -> impl Future<Output = Result<Value, ToolError>> + '_ {
        self.desk().permitted = Some(Box::new(invocation));
        std::future::poll_fn(|context| self.poll_result(context))
    }

    fn poll_result(&self, context: &Context<'_>) -> Poll<Result<Value, ToolError>> {
        let mut desk = self.desk();
        match desk.result.take() {
            Some(result) => Poll::Ready(*result),
            None => {
                desk.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Python: what may run, if anything may yet.
    pub(crate) fn permitted(&self) -> Option<Box<Invocation>> {
        self.desk().permitted.take()
    }

    /// Python: what became of it.
    pub(crate) fn ran(&self, result: Result<Value, ToolError>) {
        self.desk().result = Some(Box::new(result));
    }

    /// Keeps what must go on up through Python.
    pub(crate) fn keep(&self, error: PyErr) {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Lets it go on.
    pub(crate) fn raise(&self) -> PyResult<()> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// The arguments that a permitted or judged call has, as Python objects. Those that are as they were given are the
    /// same objects; others, edited by a person or changed behind our back, are made from what was judged.
    pub(crate) fn args_of<'py>(
        &self,
        py: Python<'py>,
        call: &ApprovalContext,
    ) -> PyResult<(Bound<'py, PyDict>, Edited)> {
        let Ok(given) = self.args.bind(py).cast::<PyDict>() else {
            return Ok((convert::object_to_python(py, &call.args)?, Edited::Yes));
        };
        let made = PyDict::new(py);
        let mut edited = if given.len() == call.args.len() { Edited::No } else { Edited::Yes };
        for (key, value) in &call.args {
            let before = given.get_item(key)?;
            match before.as_ref().filter(|own| convert::to_value(own).is_ok_and(|now| now == *value)) {
                Some(own) => made.set_item(key, own)?,
                None => {
                    edited = Edited::Yes;
                    made.set_item(key, decode(py, value, before)?)?;
                }
            }
        }
        Ok((if edited == Edited::No { given.clone() } else { made }, edited))
    }

    /// The arguments for whoever looks at the call.
    pub(crate) fn args_to_show<'py>(
        &self,
        py: Python<'py>,
        call: &ApprovalContext,
    ) -> PyResult<Bound<'py, PyDict>> {
        match (self.submitted.load(Ordering::Acquire), self.args.bind(py).cast::<PyDict>()) {
            // A copy, so that nobody changes what was just read.
            (false, Ok(given)) => given.copy(),
            (true, _) | (false, Err(_)) => self.args_of(py, call).map(|(args, _)| args),
        }
    }

    fn desk(&self) -> MutexGuard<'_, Handover> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
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
