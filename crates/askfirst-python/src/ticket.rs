//! One pending call or question. Python polls it; this crate has no thread of its own.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use askfirst::toolset::BoxFuture;
use askfirst::{ApprovalDecision, ApprovalRequest, Cause, Invocation, Outcome, Refusal, ToolError};
use askfirst_runtime::pipeline::direct::RunningCall;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::Value;

use crate::approval::Approval;
use crate::call::{ApprovedCall, ArgsState, CallOrigins, PythonCall, QuestionOrigin};
use crate::convert;
use crate::gate;
use crate::outcome;
use crate::process::ProcessBound;
use crate::wakeup::Wakeup;

/// The longest time until a waiting thread notices Ctrl-C.
const NAP: Duration = Duration::from_millis(100);

const WAIT: u8 = 0;
const RUN: u8 = 1;
const DONE: u8 = 2;

/// How a ticket ended.
pub(crate) enum TicketEnd {
    Outcome(Outcome),
    Decision(ApprovalDecision),
}

/// Whether the pipeline works while holding Python's lock (the GIL). It releases the lock to write an audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GilMode {
    Attached,
    Detached,
}

/// One pending call or question.
#[pyclass(frozen, weakref, module = "askfirst")]
pub struct Ticket(ProcessBound<TicketInner>);

struct TicketInner {
    state: AtomicU8,
    progress: Mutex<Progress>,
    gil: GilMode,
    origins: Arc<CallOrigins>,
    /// Drives the call or question. A call that could run at once needs no driver.
    driver: Option<Driver>,
}

struct Driver {
    given_up: AtomicBool,
    call: Option<Arc<PythonCall>>,
    /// Keeps the origin registered while the question may be asked.
    _origin: QuestionOrigin,
    wakeup: Arc<Wakeup>,
}

#[derive(Default)]
struct Progress {
    future: Option<BoxFuture<'static, TicketEnd>>,
    end: Option<TicketEnd>,
    args: Option<Py<PyAny>>,
    args_state: ArgsState,
    /// The call that runs or ran, with what a person contributed to it.
    approved: Option<ApprovedCall>,
    run: Option<RunningTool>,
    waited: bool,
}

/// A tool that runs in Python now. It can ask while it runs.
enum RunningTool {
    Direct(RunningCall),
    /// The pipeline's future keeps the permit until the tool ends.
    Waiting(Box<Invocation>),
}

impl Ticket {
    /// Creates a ticket for a future, and polls it once.
    pub(crate) fn start(
        py: Python<'_>,
        future: BoxFuture<'static, TicketEnd>,
        call: Option<Arc<PythonCall>>,
        origin: QuestionOrigin,
        gil: GilMode,
    ) -> PyResult<Self> {
        let origins = Arc::clone(&origin.origins);
        let driver =
            Driver { given_up: AtomicBool::new(false), call, _origin: origin, wakeup: Arc::default() };
        let progress = Progress { future: Some(future), ..Progress::default() };
        let progress = Mutex::new(progress);
        let inner = TicketInner { state: AtomicU8::new(WAIT), progress, gil, origins, driver: Some(driver) };
        inner.poll(py)?;
        Ok(Self(ProcessBound::new(inner)))
    }

    /// Creates a ticket for a call that may run now.
    pub(crate) fn run(
        running: RunningCall,
        args: Py<PyAny>,
        origins: Arc<CallOrigins>,
        gil: GilMode,
    ) -> Self {
        let progress =
            Progress { run: Some(RunningTool::Direct(running)), args: Some(args), ..Progress::default() };
        let inner = TicketInner {
            state: AtomicU8::new(RUN),
            progress: Mutex::new(progress),
            gil,
            origins,
            driver: None,
        };
        Self(ProcessBound::new(inner))
    }
}

impl TicketInner {
    fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    /// Continues as far as possible without waiting. Returns at once if another thread is polling, because that thread
    /// may need a lock that this one holds.
    fn poll(&self, py: Python<'_>) -> PyResult<u8> {
        let (WAIT, Some(driver)) = (self.state(), &self.driver) else {
            return Ok(self.state());
        };
        let mut progress = match self.progress.try_lock() {
            Ok(progress) => progress,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(WAIT),
        };
        driver.wakeup.lock().woken = false;
        let state = match self.gil {
            GilMode::Attached => driver.step(&mut progress),
            GilMode::Detached => {
                let progress = &mut *progress;
                gate::detach(py, || driver.step(progress))
            }
        };
        if let (RUN | DONE, Some(call)) = (state, &driver.call) {
            progress.approved = match &progress.run {
                Some(RunningTool::Waiting(invocation)) => Some(ApprovedCall::of(invocation)),
                Some(RunningTool::Direct(_)) | None => call.take_built_in(),
            };
        }
        if let (Some(call), Some(approved)) = (&driver.call, &progress.approved) {
            // A call that never waited and that no one edited cannot have changed.
            let args = if progress.waited || approved.person.edited {
                call.args_of(py, &approved.call).map(|(args, state)| (args.into_any().unbind(), state))
            } else {
                Ok((call.args.clone_ref(py), ArgsState::Original))
            };
            match args {
                Ok((args, state)) => (progress.args, progress.args_state) = (Some(args), state),
                Err(_) if state == DONE => {}
                Err(error) => {
                    let why =
                        format!("cannot convert the arguments: {}", convert::describe_error(py, &error));
                    call.hand_back(Err(ToolError::BadArgs(why)));
                    let state = driver.step(&mut progress);
                    self.state.store(state, Ordering::Release);
                    return Ok(state);
                }
            }
        }
        if driver.given_up.load(Ordering::Acquire) && state == WAIT {
            give_up(&mut progress);
        }
        let state = if progress.end.is_some() { DONE } else { state };
        self.state.store(state, Ordering::Release);
        drop(progress);
        if let Some(call) = &driver.call {
            call.raise_exception()?;
        }
        Ok(state)
    }

    /// Locks the progress. Fails if another thread holds it.
    fn progress(&self) -> PyResult<MutexGuard<'_, Progress>> {
        match self.progress.try_lock() {
            Ok(progress) => Ok(progress),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("another thread is using this ticket"))
            }
        }
    }

    fn cancel(&self) {
        let (WAIT, Some(driver)) = (self.state(), &self.driver) else { return };
        driver.given_up.store(true, Ordering::Release);
        if let Ok(mut progress) = self.progress() {
            give_up(&mut progress);
            self.state.store(DONE, Ordering::Release);
        }
        driver.wakeup.wake_by_ref();
    }

    /// Passes the result of the tool to the pipeline, and returns how the call ended.
    fn end(&self, py: Python<'_>, progress: &mut Progress, result: Result<Value, ToolError>) -> TicketEnd {
        let lost = || {
            let lost = ToolError::Failed("the tool ran, but the pipeline did not finish the call".to_owned());
            TicketEnd::Outcome(Outcome::Failed(lost))
        };
        match (progress.run.take(), &self.driver) {
            (Some(RunningTool::Direct(running)), _) => TicketEnd::Outcome(running.finish(result)),
            (Some(RunningTool::Waiting(_)), Some(Driver { call: Some(call), .. })) => {
                call.hand_back(result);
                let step = |progress: &mut Progress| self.driver.as_ref().map(|driver| driver.step(progress));
                let step = match self.gil {
                    GilMode::Attached => step(progress),
                    GilMode::Detached => gate::detach(py, || step(progress)),
                };
                progress.future = None;
                progress.end.take().filter(|_| step == Some(DONE)).unwrap_or_else(lost)
            }
            (Some(RunningTool::Waiting(_)) | None, _) => lost(),
        }
    }
}

impl Driver {
    fn step(&self, progress: &mut Progress) -> u8 {
        let Some(future) = progress.future.as_mut() else { return DONE };
        let waker = Waker::from(Arc::clone(&self.wakeup));
        let polled = Pin::new(future).poll(&mut Context::from_waker(&waker));
        match polled {
            Poll::Ready(end) => {
                (progress.end, progress.future) = (Some(end), None);
                DONE
            }
            Poll::Pending => match self.call.as_ref().and_then(|call| call.take_permitted()) {
                Some(invocation) => {
                    progress.run = Some(RunningTool::Waiting(invocation));
                    RUN
                }
                None => {
                    progress.waited = true;
                    WAIT
                }
            },
        }
    }
}

/// Cancels the call or question.
fn give_up(progress: &mut Progress) {
    if progress.future.take().is_some() {
        let refusal = Refusal::new("", Cause::Cancelled, "the call was canceled");
        progress.end = Some(TicketEnd::Outcome(Outcome::Denied(refusal)));
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
    /// `"run"`: the tool may run. `"wait"`: a person is asked, or a tool of the config runs. `"done"`: see `outcome`.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(word(py, self.0.get()?.state()).clone())
    }

    /// Continues as far as possible without waiting. Returns the state.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(word(py, self.0.get()?.poll(py)?).clone())
    }

    /// Blocks while the state is `"wait"`, for at most `timeout` seconds. Ctrl-C cancels the call or question.
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
            if let Some(driver) = &inner.driver {
                gate::detach(py, || driver.wakeup.nap(left));
            }
            if let Err(error) = py.check_signals() {
                inner.cancel();
                return Err(error);
            }
        }
    }

    /// Calls `callback` once, from any thread, when `poll` can make progress.
    fn on_change(&self, py: Python<'_>, callback: Py<PyAny>) -> PyResult<()> {
        let inner = self.0.get()?;
        if let (WAIT, Some(driver)) = (inner.state(), &inner.driver) {
            let mut state = driver.wakeup.lock();
            if !state.woken && inner.state() == WAIT {
                state.callback = Some(callback);
                return Ok(());
            }
        }
        callback.call0(py).map(drop)
    }

    /// Waits on the running event loop while the state is `"wait"`. Canceling the wait cancels the call or question.
    fn changed<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        py.import(intern!(py, "askfirst._wait"))?.call_method1(intern!(py, "changed"), (slf,))
    }

    /// Cancels the call or question if it still waits.
    fn cancel(&self) -> PyResult<()> {
        self.0.get()?.cancel();
        Ok(())
    }

    /// The arguments for the tool, once it may run.
    #[getter]
    fn args(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(self.0.get()?.progress()?.args.as_ref().map(|args| args.clone_ref(py)))
    }

    /// Whether a person edited the arguments.
    #[getter]
    fn edited(&self) -> PyResult<bool> {
        Ok(self.0.get()?.progress()?.args_state == ArgsState::Edited)
    }

    /// A text for the model that goes with the result: the edited arguments and the note of a person, if there are any.
    #[getter]
    fn notice(&self) -> PyResult<Option<String>> {
        let progress = self.0.get()?.progress()?;
        Ok(progress.approved.as_ref().and_then(|approved| approved.person.notice.clone()))
    }

    /// Whether a person approved or edited this call.
    #[getter]
    fn by_person(&self) -> PyResult<bool> {
        let progress = self.0.get()?.progress()?;
        let person = progress.approved.as_ref().map(|approved| &approved.person);
        Ok(person.is_some_and(|person| person.approval.is_some() || person.edited))
    }

    /// The approval of the person who approved this call, or `None`. It answers the same request once more.
    #[getter]
    fn approval(&self) -> PyResult<Option<Approval>> {
        let progress = self.0.get()?.progress()?;
        let approval = progress.approved.as_ref().and_then(|approved| approved.person.approval.clone());
        Ok(approval.map(Approval::new))
    }

    /// Reports the result or the error of the tool. Returns `"done"` or `"failed"`.
    #[pyo3(signature = (result=None, error=None))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        result: Option<&Bound<'py, PyAny>>,
        error: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyString>> {
        let inner = self.0.get()?;
        let mut progress = inner.progress()?;
        if inner.state() != RUN {
            return Err(PyRuntimeError::new_err(
                "the tool is not running: the state of the ticket is not `run`",
            ));
        }
        let result = match (error, inner.gil) {
            (Some(error), _) => Err(ToolError::Failed(outcome::failure(error))),
            (None, GilMode::Attached) => Ok(Value::Null),
            (None, GilMode::Detached) => Ok(result.map_or(Value::Null, outcome::recorded)),
        };
        let end = inner.end(py, &mut progress, result);
        let word = match end {
            TicketEnd::Outcome(Outcome::Done(_)) => intern!(py, "done").clone(),
            TicketEnd::Outcome(Outcome::Denied(_) | Outcome::Failed(_)) | TicketEnd::Decision(_) => {
                intern!(py, "failed").clone()
            }
        };
        progress.end = Some(end);
        inner.state.store(DONE, Ordering::Release);
        Ok(word)
    }

    /// Asks while the tool runs. Returns a ticket whose outcome is a decision.
    fn ask(&self, py: Python<'_>, request: &Bound<'_, PyAny>) -> PyResult<Self> {
        let inner = self.0.get()?;
        let mut request: ApprovalRequest = convert::to_typed(request)?;
        let origin = QuestionOrigin::new(&inner.origins);
        request.id = origin.id;
        let progress = inner.progress()?;
        let asked = match &progress.run {
            Some(RunningTool::Direct(running)) => running.request_approval(request),
            Some(RunningTool::Waiting(invocation)) => invocation.request_approval(request),
            None => return Err(PyRuntimeError::new_err("only a running tool can ask")),
        };
        drop(progress);
        let decided = Box::pin(async move { TicketEnd::Decision(asked.await) });
        Self::start(py, decided, None, origin, inner.gil)
    }

    /// The `askfirst.Outcome`, or `None` while the ticket is not done.
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let progress = self.0.get()?.progress()?;
        let Some(end) = &progress.end else { return Ok(None) };
        let fields = outcome::fields_of(py, end)?;
        drop(progress);
        let types = py.import(intern!(py, "askfirst._outcome"))?;
        types.call_method1(intern!(py, "outcome_from_native"), (fields,)).map(Some)
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
