//! One call as Python made it: its own objects, and the place where pipeline and tool meet.
//!
//! The pipeline assesses and executes through a toolset that all calls of a session share. Which call it is about is
//! told by the thread: whoever polls a call's future has set it before.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use askfirst::{ApprovalContext, Invocation, ToolError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::convert;
use crate::gate;

/// What Python knows of a call.
pub(crate) struct Call {
    /// The arguments as they were given.
    pub(crate) args: Py<PyAny>,
    /// Who assesses it, where the session's own does not.
    pub(crate) assess: Option<Py<PyAny>>,
    /// Why it cannot be judged.
    pub(crate) fault: Option<String>,
    /// What must go on up through Python, such as Ctrl-C while a tool assessed.
    raised: Mutex<Option<PyErr>>,
    desk: Mutex<Desk>,
}

/// Where the pipeline leaves what may run, and Python what became of it.
#[derive(Default)]
struct Desk {
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

/// Whether a call's arguments are still those that Python gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Edited {
    #[default]
    No,
    Yes,
}

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It was read just now, and nobody can have changed it.
    Submitting,
    OnItsWay,
}

/// What a thread is busy with.
#[derive(Clone)]
pub(crate) struct Current {
    pub(crate) call: Option<Arc<Call>>,
    /// Made when first needed.
    pub(crate) origin: Option<Arc<Origin>>,
    pub(crate) stage: Stage,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// The call that this thread is busy with.
pub(crate) fn current() -> Option<Arc<Call>> {
    CURRENT.with_borrow(|current| current.as_ref()?.call.clone())
}

fn stage() -> Stage {
    CURRENT.with_borrow(|current| current.as_ref().map_or(Stage::OnItsWay, |current| current.stage))
}

/// Where what this thread is busy with came from. It is looked at now.
pub(crate) fn current_origin() -> Option<Arc<Origin>> {
    let made = |current: &mut Current| Arc::clone(current.origin.get_or_insert_default());
    let origin = CURRENT.with_borrow_mut(|current| current.as_mut().map(made))?;
    origin.note();
    Some(origin)
}

/// Makes something the thing that this thread is busy with, until dropped.
pub(crate) struct Busy(Option<Current>);

impl Busy {
    pub(crate) fn with(current: Current) -> Self {
        Self(CURRENT.replace(Some(current)))
    }

    /// Where it came from, if anybody wanted to know.
    pub(crate) fn origin(&self) -> Option<Arc<Origin>> {
        CURRENT.with_borrow(|current| current.as_ref()?.origin.clone())
    }

    /// Goes on to another call of the same submission.
    pub(crate) fn next(&self, call: Arc<Call>) {
        CURRENT.with_borrow_mut(|current| {
            if let Some(current) = current {
                current.call = Some(call);
            }
        });
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}

/// Where the calls came from that somebody is asked about, by their names. What is over is forgotten.
#[derive(Default)]
pub(crate) struct Origins(Mutex<HashMap<String, Weak<Origin>>>);

impl Origins {
    const MANY: usize = 256;

    pub(crate) fn note(&self, call_id: &str) {
        let Some(origin) = current_origin() else { return };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MANY {
            known.retain(|_, origin| origin.strong_count() > 0);
        }
        known.insert(call_id.to_owned(), Arc::downgrade(&origin));
    }

    pub(crate) fn of(&self, call_id: &str) -> Option<Arc<Origin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(call_id).and_then(Weak::upgrade)
    }
}

impl Call {
    pub(crate) fn new(args: Py<PyAny>, assess: Option<Py<PyAny>>, fault: Option<String>) -> Self {
        Self { args, assess, fault, raised: Mutex::default(), desk: Mutex::default() }
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
        match (stage(), self.args.bind(py).cast::<PyDict>()) {
            // A copy, so that nobody changes what was just read.
            (Stage::Submitting, Ok(given)) => given.copy(),
            (Stage::Submitting | Stage::OnItsWay, _) => self.args_of(py, call).map(|(args, _)| args),
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
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
