//! The controller, for Python: mode, memory and approver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use askfirst::{ApprovalRequest, Mode};
use askfirst_runtime::ApprovalController;
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::approver::PythonApprover;
use crate::call::{CallOrigins, QuestionOrigin};
use crate::callback::PythonCallback;
use crate::convert;
use crate::memory::Memory;
use crate::process::ProcessBound;
use crate::setup::{self, Config};
use crate::ticket::{GilMode, Ticket, TicketEnd};

/// Turns requests into decisions.
#[pyclass(frozen, module = "askfirst")]
pub struct Controller(ProcessBound<ControllerInner>);

struct ControllerInner {
    controller: ApprovalController,
    approver: Option<Arc<PythonApprover>>,
    origins: Arc<CallOrigins>,
    next: AtomicU64,
}

impl Controller {
    pub(crate) fn inner(&self) -> PyResult<ApprovalController> {
        Ok(self.0.get()?.controller.clone())
    }

    /// Returns the origins of the calls that this controller asks about.
    pub(crate) fn origins(&self) -> PyResult<Arc<CallOrigins>> {
        Ok(Arc::clone(&self.0.get()?.origins))
    }
}

/// Returns the mode with this name.
pub(crate) fn mode(name: &str) -> PyResult<Mode> {
    let known = [Mode::Interactive, Mode::ApproveAll, Mode::Strict];
    known.into_iter().find(|mode| mode.as_str() == name).ok_or_else(|| {
        PyValueError::new_err(format!("unknown mode `{name}`; hint: use interactive, approve_all or strict"))
    })
}

#[pymethods]
impl Controller {
    /// `ask` and `withdraw` belong to an approver in Python. Without them, askfirst asks at the terminal.
    #[new]
    #[pyo3(signature = (mode, memory, time_out=None, ask=None, withdraw=None, config=None))]
    fn new(
        mode: &str,
        memory: &Memory,
        time_out: Option<f64>,
        ask: Option<Py<PyAny>>,
        withdraw: Option<Py<PyAny>>,
        config: Option<&Config>,
    ) -> PyResult<Self> {
        let mode = self::mode(mode)?;
        let bad = |_| PyValueError::new_err("`timeout` must be a number of seconds, at least 0");
        let time_out = time_out.map(Duration::try_from_secs_f64).transpose().map_err(bad)?;
        let controller = ApprovalController::setup(mode).memory(memory.shared()?).time_out(time_out);
        let origins = Arc::<CallOrigins>::default();
        let approver = ask.zip(withdraw).map(|(ask, withdraw)| {
            let (ask, withdraw) = (PythonCallback::new(ask), PythonCallback::new(withdraw));
            Arc::new(PythonApprover { ask, withdraw, origins: Arc::clone(&origins) })
        });
        let controller = match &approver {
            Some(approver) => controller.approver(Arc::clone(approver) as _),
            None => match mode {
                Mode::Interactive | Mode::ApproveAll => controller.approver(setup::terminal(config)?),
                Mode::Strict => controller,
            },
        };
        let controller = controller.build();
        Ok(Self(ProcessBound::new(ControllerInner {
            controller,
            approver,
            origins,
            next: AtomicU64::new(1),
        })))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(ControllerInner { approver: Some(approver), .. }) = self.0.here() else { return Ok(()) };
        approver.ask.traverse(&visit)?;
        approver.withdraw.traverse(&visit)
    }

    fn __clear__(&self) {
        if let Some(ControllerInner { approver: Some(approver), .. }) = self.0.here() {
            approver.ask.clear();
            approver.withdraw.clear();
        }
    }

    /// Decides about a request: mode, then memory, then approver. Returns a ticket whose outcome is a decision.
    fn request(&self, py: Python<'_>, request: &Bound<'_, PyAny>) -> PyResult<Ticket> {
        let inner = self.0.get()?;
        let mut request: ApprovalRequest = convert::to_typed(request)?;
        // A unique id, so that no other question has the same one.
        request.call_id = format!("request-{}", inner.next.fetch_add(1, Ordering::Relaxed));
        let asked = QuestionOrigin::new(&inner.origins);
        request.id = asked.id;
        let controller = inner.controller.clone();
        let decided = async move { TicketEnd::Decision(controller.request_approval(request).await) };
        Ticket::start(py, Box::pin(decided), None, asked, GilMode::Attached)
    }

    /// Returns whether an equal request was approved for the session.
    fn is_session_approved(&self, request: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.0.get()?.controller.is_session_approved(&convert::to_typed(request)?))
    }

    /// Approves equal requests for the session.
    fn add_session_approval(&self, request: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.get()?.controller.add_session_approval(&convert::to_typed(request)?);
        Ok(())
    }

    /// Stops the run: refuses all waiting calls and all later ones.
    fn stop(&self) -> PyResult<()> {
        self.0.get()?.controller.stop();
        Ok(())
    }

    /// Returns whether the run was stopped.
    #[getter]
    fn is_stopped(&self) -> PyResult<bool> {
        Ok(self.0.get()?.controller.is_stopped())
    }
}
