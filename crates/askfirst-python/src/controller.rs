//! Mode, memory and approver, for Python.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use askfirst::{ApprovalRequest, Mode};
use askfirst_runtime::ApprovalController;
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::approver::PythonApprover;
use crate::call::{Asked, Origins};
use crate::convert;
use crate::held::Held;
use crate::memory::Memory;
use crate::process::Ours;
use crate::setup::{self, Config};
use crate::ticket::{End, Ticket, While};

/// Turns requests into decisions.
#[pyclass(frozen, module = "askfirst")]
pub struct Controller(Ours<ControllerParts>);

struct ControllerParts {
    controller: ApprovalController,
    approver: Option<Arc<PythonApprover>>,
    origins: Arc<Origins>,
    next: AtomicU64,
}

impl Controller {
    pub(crate) fn inner(&self) -> PyResult<ApprovalController> {
        Ok(self.0.get()?.controller.clone())
    }

    /// Where the calls came from that this controller asks about.
    pub(crate) fn origins(&self) -> PyResult<Arc<Origins>> {
        Ok(Arc::clone(&self.0.get()?.origins))
    }
}

/// The mode of a name.
pub(crate) fn mode(name: &str) -> PyResult<Mode> {
    let known = [Mode::Interactive, Mode::ApproveAll, Mode::Strict];
    known.into_iter().find(|mode| mode.as_str() == name).ok_or_else(|| {
        PyValueError::new_err(format!("there is no mode `{name}`; hint: interactive, approve_all or strict"))
    })
}

#[pymethods]
impl Controller {
    /// `ask` and `withdraw` are those of an approver in Python; without them the terminal is asked.
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
        let bad = |_| PyValueError::new_err("`timeout` must be a number of seconds that is not negative");
        let time_out = time_out.map(Duration::try_from_secs_f64).transpose().map_err(bad)?;
        let controller = ApprovalController::setup(mode).memory(memory.shared()?).time_out(time_out);
        let origins = Arc::<Origins>::default();
        let approver = ask.zip(withdraw).map(|(ask, withdraw)| {
            let (ask, withdraw) = (Held::new(ask), Held::new(withdraw));
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
        Ok(Self(Ours::new(ControllerParts { controller, approver, origins, next: AtomicU64::new(1) })))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(ControllerParts { approver: Some(approver), .. }) = self.0.here() else { return Ok(()) };
        approver.ask.traverse(&visit)?;
        approver.withdraw.traverse(&visit)
    }

    fn __clear__(&self) {
        if let Some(ControllerParts { approver: Some(approver), .. }) = self.0.here() {
            approver.ask.clear();
            approver.withdraw.clear();
        }
    }

    /// Decides about a request: mode, then memory, then whoever is asked. Gives a ticket whose outcome is a decision.
    fn request(&self, py: Python<'_>, request: &Bound<'_, PyAny>) -> PyResult<Ticket> {
        let inner = self.0.get()?;
        let mut request: ApprovalRequest = convert::to_typed(request)?;
        // A name of its own, below which nobody else asks.
        request.call_id = format!("request-{}", inner.next.fetch_add(1, Ordering::Relaxed));
        let asked = Asked::new(&inner.origins);
        request.id = asked.id;
        let controller = inner.controller.clone();
        let decided = async move { End::Decision(controller.request_approval(request).await) };
        Ticket::start(py, Box::pin(decided), None, asked, While::Attached)
    }

    /// Whether an equal request was approved for the session.
    fn is_session_approved(&self, request: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.0.get()?.controller.is_session_approved(&convert::to_typed(request)?))
    }

    /// Approves equal requests for the session.
    fn add_session_approval(&self, request: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.get()?.controller.add_session_approval(&convert::to_typed(request)?);
        Ok(())
    }

    /// Ends the run: everything that waits is refused, and so is whatever comes.
    fn stop(&self) -> PyResult<()> {
        self.0.get()?.controller.stop();
        Ok(())
    }

    /// Whether the run was stopped.
    #[getter]
    fn is_stopped(&self) -> PyResult<bool> {
        Ok(self.0.get()?.controller.is_stopped())
    }
}
