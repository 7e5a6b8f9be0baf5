//! One call, or one question, on its way: polled by Python, never by a thread of ours.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use askfirst::toolset::BoxFuture;
use askfirst::{ApprovalDecision, ApprovalRequest, Cause, Invocation, Outcome, Refusal, ToolError};
use askfirst_runtime::pipeline::direct::Running;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::Value;

use crate::call::{Asked, Call, Edited, Origins};
use crate::convert;
use crate::gate;
use crate::process::Ours;

/// How long Ctrl-C may have to wait.
const NAP: Duration = Duration::from_millis(100);

const WAIT: u8 = 0;
const RUN: u8 = 1;
const DONE: u8 = 2;

/// What became of it.
pub(crate) enum End {
    Outcome(Outcome),
    Decision(ApprovalDecision),
}

/// Whether Python's lock is given back while the pipeline works. Where it writes a record, others should not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum While {
    Attached,
    Detached,
}

/// One call on its way, or one question.
#[pyclass(frozen, weakref, module = "askfirst")]
pub struct Ticket(Ours<TicketParts>);

struct TicketParts {
    state: AtomicU8,
    way: Mutex<TicketProgress>,
    during: While,
    origins: Arc<Origins>,
    /// What drives it, unless it could run at once.
    drive: Option<Drive>,
}

struct Drive {
    given_up: AtomicBool,
    call: Option<Arc<Call>>,
    /// Keeps the origin while the question may be asked.
    _asked: Asked,
    signal: Arc<Signal>,
}

#[derive(Default)]
struct TicketProgress {
    future: Option<BoxFuture<'static, End>>,
    end: Option<End>,
    args: Option<Py<PyAny>>,
    edited: Edited,
    run: Option<PythonRun>,
    waited: bool,
}

/// What runs in Python now, and can ask while it runs.
enum PythonRun {
    Straight(Running),
    /// Its permit waits in the pipeline's future for the end.
    Parked(Box<Invocation>),
}

/// Tells whoever waits that it is worth looking again.
#[derive(Default)]
struct Signal {
    state: Mutex<WakeState>,
    changed: Condvar,
}

#[derive(Default)]
struct WakeState {
    woken: bool,
    tell: Option<Py<PyAny>>,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.lock();
        state.woken = true;
        let tell = state.tell.take();
        drop(state);
        self.changed.notify_all();
        if let Some(tell) = tell {
            // When Python has ended there is nobody to tell.
            gate::attach(|py| call_back(py, &tell));
        }
    }
}

impl Signal {
    fn lock(&self) -> MutexGuard<'_, WakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nap(&self, time: Duration) {
        let state = self.lock();
        let woken = |state: &mut WakeState| !state.woken;
        drop(self.changed.wait_timeout_while(state, time, woken));
    }
}

fn call_back(py: Python<'_>, tell: &Py<PyAny>) {
    if let Err(error) = tell.call0(py) {
        error.write_unraisable(py, Some(tell.bind(py)));
    }
}

impl Ticket {
    /// A future on its way, already polled once.
    pub(crate) fn start(
        py: Python<'_>,
        future: BoxFuture<'static, End>,
        call: Option<Arc<Call>>,
        asked: Asked,
        during: While,
    ) -> PyResult<Self> {
        let origins = Arc::clone(&asked.origins);
        let drive = Drive { given_up: AtomicBool::new(false), call, _asked: asked, signal: Arc::default() };
        let way = TicketProgress { future: Some(future), ..TicketProgress::default() };
        let way = Mutex::new(way);
        let inner = TicketParts { state: AtomicU8::new(WAIT), way, during, origins, drive: Some(drive) };
        inner.poll(py)?;
        Ok(Self(Ours::new(inner)))
    }

    /// A call that may run now.
    pub(crate) fn run(running: Running, args: Py<PyAny>, origins: Arc<Origins>, during: While) -> Self {
        let way = TicketProgress {
            run: Some(PythonRun::Straight(running)),
            args: Some(args),
            ..TicketProgress::default()
        };
        let inner =
            TicketParts { state: AtomicU8::new(RUN), way: Mutex::new(way), during, origins, drive: None };
        Self(Ours::new(inner))
    }
}

impl TicketParts {
    fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    /// Goes on as far as it can. Whoever comes while another thread is at it does not wait: that thread might need
    /// what this one holds.
    fn poll(&self, py: Python<'_>) -> PyResult<u8> {
        let (WAIT, Some(drive)) = (self.state(), &self.drive) else {
            return Ok(self.state());
        };
        let mut way = match self.way.try_lock() {
            Ok(way) => way,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(WAIT),
        };
        drive.signal.lock().woken = false;
        let state = match self.during {
            While::Attached => drive.step(&mut way),
            While::Detached => {
                let way = &mut *way;
                gate::detach(py, || drive.step(way))
            }
        };
        if let (RUN, Some(call), Some(PythonRun::Parked(invocation))) = (state, &drive.call, &way.run) {
            // Without a wait nothing can have changed.
            let args = if way.waited {
                call.args_of(py, &invocation.call).map(|(args, edited)| (args.into_any().unbind(), edited))
            } else {
                Ok((call.args.clone_ref(py), Edited::No))
            };
            match args {
                Ok((args, edited)) => (way.args, way.edited) = (Some(args), edited),
                Err(error) => {
                    let why = format!("the arguments cannot be made: {}", convert::in_words(py, &error));
                    call.ran(Err(ToolError::BadArgs(why)));
                    let state = drive.step(&mut way);
                    self.state.store(state, Ordering::Release);
                    return Ok(state);
                }
            }
        }
        if drive.given_up.load(Ordering::Acquire) && state == WAIT {
            give_up(&mut way);
        }
        let state = if way.end.is_some() { DONE } else { state };
        self.state.store(state, Ordering::Release);
        drop(way);
        if let Some(call) = &drive.call {
            call.raise()?;
        }
        Ok(state)
    }

    /// The way itself, unless another thread is at it.
    fn way(&self) -> PyResult<MutexGuard<'_, TicketProgress>> {
        match self.way.try_lock() {
            Ok(way) => Ok(way),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("another thread is busy with this ticket"))
            }
        }
    }

    fn cancel(&self) {
        let (WAIT, Some(drive)) = (self.state(), &self.drive) else { return };
        drive.given_up.store(true, Ordering::Release);
        if let Ok(mut way) = self.way() {
            give_up(&mut way);
            self.state.store(DONE, Ordering::Release);
        }
        drive.signal.wake_by_ref();
    }

    /// The tool ended: what became of the call.
    fn end(&self, py: Python<'_>, way: &mut TicketProgress, result: Result<Value, ToolError>) -> End {
        let lost = || {
            let lost = ToolError::Failed("the tool ran, and the call did not end".to_owned());
            End::Outcome(Outcome::Failed(lost))
        };
        match (way.run.take(), &self.drive) {
            (Some(PythonRun::Straight(running)), _) => End::Outcome(running.finish(result)),
            (Some(PythonRun::Parked(_)), Some(Drive { call: Some(call), .. })) => {
                call.ran(result);
                let step = |way: &mut TicketProgress| self.drive.as_ref().map(|drive| drive.step(way));
                let step = match self.during {
                    While::Attached => step(way),
                    While::Detached => gate::detach(py, || step(way)),
                };
                way.future = None;
                way.end.take().filter(|_| step == Some(DONE)).unwrap_or_else(lost)
            }
            (Some(PythonRun::Parked(_)) | None, _) => lost(),
        }
    }
}

impl Drive {
    fn step(&self, way: &mut TicketProgress) -> u8 {
        let Some(future) = way.future.as_mut() else { return DONE };
        let waker = Waker::from(Arc::clone(&self.signal));
        let polled = Pin::new(future).poll(&mut Context::from_waker(&waker));
        match polled {
            Poll::Ready(end) => {
                (way.end, way.future) = (Some(end), None);
                DONE
            }
            Poll::Pending => match self.call.as_ref().and_then(|call| call.permitted()) {
                Some(invocation) => {
                    way.run = Some(PythonRun::Parked(invocation));
                    RUN
                }
                None => {
                    way.waited = true;
                    WAIT
                }
            },
        }
    }
}

/// Takes the question back, and says so to whoever looks.
fn give_up(way: &mut TicketProgress) {
    if way.future.take().is_some() {
        let refusal = Refusal::new("", Cause::Cancelled, "it was cancelled");
        way.end = Some(End::Outcome(Outcome::Denied(refusal)));
    }
}

fn word(py: Python<'_>, state: u8) -> &Bound<'_, PyString> {
    match state {
        RUN => intern!(py, "run"),
        DONE => intern!(py, "done"),
        _ => intern!(py, "wait"),
    }
}

#[pymethods]
impl Ticket {
    /// `"run"`: the tool may run now. `"wait"`: somebody is asked, or a built-in tool works. `"done"`: see `outcome`.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(word(py, self.0.get()?.state()).clone())
    }

    /// Goes on as far as it can without waiting, and gives the state.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(word(py, self.0.get()?.poll(py)?).clone())
    }

    /// Waits until it is no longer `"wait"`, or for so many seconds. Ctrl-C takes the question back.
    #[pyo3(signature = (timeout=None))]
    fn wait<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyString>> {
        let inner = self.0.get()?;
        let until = timeout
            .and_then(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).ok())
            .and_then(|time| Instant::now().checked_add(time));
        loop {
            let state = inner.poll(py)?;
            let left = until.map_or(NAP, |until| until.saturating_duration_since(Instant::now()).min(NAP));
            if state != WAIT || left.is_zero() {
                return Ok(word(py, state).clone());
            }
            if let Some(drive) = &inner.drive {
                gate::detach(py, || drive.signal.nap(left));
            }
            if let Err(error) = py.check_signals() {
                inner.cancel();
                return Err(error);
            }
        }
    }

    /// Calls `callback` once, from any thread, when it is worth to `poll` again.
    fn on_change(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        let inner = self.0.get()?;
        if let (WAIT, Some(drive)) = (inner.state(), &inner.drive) {
            let mut state = drive.signal.lock();
            if !state.woken && inner.state() == WAIT {
                state.tell = Some(callback);
                return Ok(());
            }
        }
        callback.call0(py).map(drop)
    }

    /// Waits on the running event loop until it is no longer `"wait"`. Cancelled, it takes the question back.
    fn changed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        py.import(intern!(py, "askfirst._wait"))?.call_method1(intern!(py, "changed"), (slf,))
    }

    /// Gives the call or question up while it waits.
    fn cancel(&self) -> PyResult<()> {
        self.0.get()?.cancel();
        Ok(())
    }

    /// What the tool is to be called with, once it may run.
    #[getter]
    fn args(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.0.get()?.way()?.args.as_ref().map(|args| args.clone_ref(py)))
    }

    /// Whether a person has edited the arguments.
    #[getter]
    fn edited(&self) -> PyResult<bool> {
        Ok(self.0.get()?.way()?.edited == Edited::Yes)
    }

    /// Says that the tool ran, and how: with a result, or with an error. Gives `"done"` or `"failed"`.
    #[pyo3(signature = (result=None, error=None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        result: Option<&Bound<'py, PyAny>>,
        error: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyString>> {
        let inner = self.0.get()?;
        let mut way = inner.way()?;
        if inner.state() != RUN {
            return Err(PyRuntimeError::new_err("nothing runs: the state is not `run`"));
        }
        let result = match (error, inner.during) {
            (Some(error), _) => Err(ToolError::Failed(failure(error))),
            (None, While::Attached) => Ok(Value::Null),
            (None, While::Detached) => Ok(result.map_or(Value::Null, recorded)),
        };
        let end = inner.end(py, &mut way, result);
        let word = match end {
            End::Outcome(Outcome::Done(_)) => intern!(py, "done").clone(),
            End::Outcome(Outcome::Denied(_) | Outcome::Failed(_)) | End::Decision(_) => {
                intern!(py, "failed").clone()
            }
        };
        way.end = Some(end);
        inner.state.store(DONE, Ordering::Release);
        Ok(word)
    }

    /// Asks while the tool runs. Gives a ticket whose outcome is a decision.
    fn ask(&self, py: Python<'_>, request: &Bound<'_, PyAny>) -> PyResult<Self> {
        let inner = self.0.get()?;
        let mut request: ApprovalRequest = convert::to_typed(request)?;
        let asking = Asked::new(&inner.origins);
        request.id = asking.id;
        let way = inner.way()?;
        let asked = match &way.run {
            Some(PythonRun::Straight(running)) => running.request_approval(request),
            Some(PythonRun::Parked(invocation)) => invocation.request_approval(request),
            None => return Err(PyRuntimeError::new_err("only a tool that runs can ask")),
        };
        drop(way);
        let decided = Box::pin(async move { End::Decision(asked.await) });
        Self::start(py, decided, None, asking, inner.during)
    }

    /// What became of it: an `askfirst.Outcome`, or nothing before it is done.
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let way = self.0.get()?.way()?;
        let Some(end) = &way.end else { return Ok(None) };
        let dict = PyDict::new(py);
        match end {
            End::Outcome(Outcome::Done(value)) => {
                dict.set_item("kind", "done")?;
                dict.set_item("result", convert::to_python(py, value)?)?;
            }
            End::Outcome(Outcome::Denied(refusal)) => {
                dict.set_item("kind", "denied")?;
                dict.set_item("text", refusal.to_string())?;
                dict.set_item("tool_name", &refusal.tool_name)?;
                dict.set_item("cause", convert::typed_to_python(py, &refusal.cause)?)?;
                dict.set_item("reason", &refusal.reason)?;
                dict.set_item("note", refusal.note.as_deref())?;
                dict.set_item("because", convert::typed_to_python(py, &refusal.because)?)?;
                dict.set_item("ends_run", refusal.ends_run)?;
            }
            End::Outcome(Outcome::Failed(error)) => {
                dict.set_item("kind", "failed")?;
                dict.set_item("text", error.to_string())?;
                dict.set_item("error", kind_of(error))?;
                if let ToolError::Ended { result, .. } = error {
                    dict.set_item("result", convert::to_python(py, result)?)?;
                }
            }
            End::Decision(decision) => {
                dict.set_item("kind", "decided")?;
                dict.set_item("decision", convert::typed_to_python(py, decision)?)?;
            }
        }
        drop(way);
        let types = py.import(intern!(py, "askfirst._outcome"))?;
        types.call_method1(intern!(py, "outcome_from_native"), (dict,)).map(Some)
    }

    fn __repr__(&self) -> PyResult<String> {
        let state = match self.0.get()?.state() {
            RUN => "run",
            DONE => "done",
            _ => "wait",
        };
        Ok(format!("<askfirst.Ticket {state}>"))
    }
}

fn kind_of(error: &ToolError) -> &'static str {
    match error {
        ToolError::Unknown(_) => "unknown",
        ToolError::BadArgs(_) => "bad_args",
        ToolError::Failed(_) => "failed",
        ToolError::Ended { .. } => "ended",
        ToolError::Stale(_) => "stale",
        ToolError::Denied(_) => "denied",
        ToolError::Unrecorded(_) => "unrecorded",
    }
}

/// What is recorded of an error.
fn failure(error: &Bound<'_, PyAny>) -> String {
    let name = error.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    let text = error.str().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    if text.is_empty() { name } else { format!("{name}: {text}") }
}

/// What the digest of a result is taken over: the value, or what Python prints for it where JSON cannot hold it.
fn recorded(result: &Bound<'_, PyAny>) -> Value {
    convert::to_value(result).unwrap_or_else(|_| {
        Value::String(result.repr().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default())
    })
}
