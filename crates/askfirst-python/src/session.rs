//! One session for Python: config, tools, controller and record around one pipeline.

use std::path::PathBuf;
use std::sync::Arc;

use askfirst::ports::Clock;
use askfirst::toolset::BoxFuture;
use askfirst::{ApprovalContext, Outcome, ToolDefinition, Toolset};
use askfirst_runtime::ApprovalToolset;
use askfirst_runtime::assess::{self, Unknown};
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::config::Fallback;
use askfirst_runtime::launcher::{WalledLauncher, lacks_demanded_walls};
use askfirst_runtime::ledger::SessionId;
use askfirst_runtime::offered::Offered;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::ConfigError;
use crate::approver::Noting;
use crate::call::{Busy, Call, Current, Origin, Stage};
use crate::controller::{Controller, mode};
use crate::convert::{self, in_words};
use crate::gate;
use crate::process::Ours;
use crate::setup::{self, Config};
use crate::ticket::{End, Ticket, While};
use crate::tools::{Override, Tools};

/// Config, tools, controller and record around one pipeline.
#[pyclass(frozen, weakref, module = "askfirst")]
pub struct Session(Ours<Inner>);

struct Inner {
    id: String,
    pipeline: ApprovalToolset,
    tools: Arc<Tools>,
    launcher: Option<Arc<WalledLauncher>>,
    during: While,
}

/// A call as Python gives it: name, arguments, metadata, and who assesses it.
type Given<'py> = (String, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Py<PyAny>>);

/// A call, ready to be judged.
struct Ready {
    context: ApprovalContext,
    call: Arc<Call>,
}

#[pymethods]
impl Session {
    /// `ledger`: `None` keeps no record, a path names it, `True` takes the config's place for it. `library` is the file
    /// of this library; with it the config's own tools are offered.
    #[new]
    #[pyo3(signature = (config, controller, mode_name, *, assess=None, overriding=None, record=false, ledger=None,
                        session_id=None, library=None))]
    #[expect(clippy::too_many_arguments, reason = "Python calls it with keywords")]
    fn new(
        config: &Config,
        controller: &Controller,
        mode_name: &str,
        assess: Option<Py<PyAny>>,
        overriding: Option<Py<PyAny>>,
        record: bool,
        ledger: Option<PathBuf>,
        session_id: Option<String>,
        library: Option<PathBuf>,
    ) -> PyResult<Self> {
        let (mut policy, mut built_in, mut launcher) = (config.policy(), None, None);
        if let Some(library) = library {
            setup::find_helper(&library);
            if lacks_demanded_walls(&config.0)
                && config.0.main.sandbox.os_sandbox_fallback == Fallback::FailFast
            {
                return Err(PyRuntimeError::new_err("the config demands walls, and none hold"));
            }
            let offered = Offered::new(config.0.clone()).map_err(|e| ConfigError::new_err(e.to_string()))?;
            (policy, built_in, launcher) = (offered.policy, Some(offered.toolset), Some(offered.launcher));
        }
        if let Some(overriding) = overriding {
            policy = policy.with_override(Arc::new(Override(overriding))).map_err(ConfigError::new_err)?;
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let fresh = SessionId::new(clock.now());
        let id = session_id.unwrap_or_else(|| fresh.to_string());
        let ledger = if record {
            Some(setup::ledger(config, &policy, mode(mode_name)?, ledger, fresh, Arc::clone(&clock))?)
        } else {
            None
        };
        let tools = Arc::new(Tools::new(built_in, assess));
        let during = if ledger.is_some() { While::Detached } else { While::Attached };
        let (controller, origins) = controller.inner()?;
        let noting = Noting { origins, ledger: ledger.map(|ledger| ledger as _) };
        let pipeline = ApprovalToolset::new(Arc::clone(&tools), controller, policy)
            .unknown(Unknown::Silent)
            .recorder(Arc::new(noting))
            .clock(clock)
            .session(&id);
        Ok(Self(Ours::new(Inner { id, pipeline, tools, launcher, during })))
    }

    /// The name of the session; calls are numbered below it.
    #[getter]
    fn id(&self) -> PyResult<&str> {
        Ok(&self.0.get()?.id)
    }

    /// Takes one call: assesses it, judges it, and asks where somebody must be asked.
    #[pyo3(signature = (tool_name, args, metadata=None, assess=None))]
    fn start<'py>(
        &self,
        py: Python<'py>,
        tool_name: String,
        args: Bound<'py, PyAny>,
        metadata: Option<Bound<'py, PyAny>>,
        assess: Option<Py<PyAny>>,
    ) -> PyResult<Ticket> {
        let inner = self.0.get()?;
        let Ready { context, call } = ready((tool_name, args, metadata, assess))?;
        let origin = Arc::<Origin>::default();
        let submit = || {
            let _busy = Busy::with(submitting(Some(Arc::clone(&call)), &origin));
            inner.pipeline.submit([context])
        };
        let mut futures = match inner.during {
            While::Attached => submit(),
            While::Detached => gate::detach(py, submit),
        };
        call.raise()?;
        let future = futures.pop().ok_or_else(|| PyRuntimeError::new_err("the call was lost"))?;
        Ticket::start(py, on_its_way(future), Some(call), origin, inner.during)
    }

    /// Takes calls that belong together: all are judged before the first question is asked.
    fn submit<'py>(&self, py: Python<'py>, calls: Vec<Given<'py>>) -> PyResult<Vec<Ticket>> {
        let inner = self.0.get()?;
        let ready: Vec<Ready> = calls.into_iter().map(ready).collect::<PyResult<_>>()?;
        let (contexts, calls): (Vec<_>, Vec<_>) =
            ready.into_iter().map(|ready| (ready.context, ready.call)).unzip();
        let origin = Arc::<Origin>::default();
        let submit = || {
            let busy = Busy::with(submitting(None, &origin));
            // Each call is assessed before the next is taken.
            let one_by_one = contexts.into_iter().zip(&calls).map(|(context, call)| {
                busy.next(Arc::clone(call));
                context
            });
            inner.pipeline.submit(one_by_one)
        };
        let futures = match inner.during {
            While::Attached => submit(),
            While::Detached => gate::detach(py, submit),
        };
        let tickets = futures.into_iter().zip(calls);
        tickets
            .map(|(future, call)| {
                call.raise()?;
                Ticket::start(py, on_its_way(future), Some(call), Arc::clone(&origin), inner.during)
            })
            .collect()
    }

    /// The judge's verdict alone: nobody is asked, nothing runs, nothing is recorded or remembered.
    #[pyo3(signature = (tool_name, args, metadata=None, assess=None))]
    fn decide<'py>(
        &self,
        py: Python<'py>,
        tool_name: String,
        args: Bound<'py, PyAny>,
        metadata: Option<Bound<'py, PyAny>>,
        assess: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.0.get()?;
        let Ready { context, call } = ready((tool_name, args, metadata, assess))?;
        let _busy = Busy::with(submitting(Some(Arc::clone(&call)), &Arc::default()));
        let policy = inner.pipeline.policy();
        let context = assess::prepare(context, &*inner.tools, policy);
        let assessment = assess::assess(&context, &*inner.tools, Unknown::Silent);
        let judgement = assess::judged(&context, &assessment, policy);
        call.raise()?;
        let dict = PyDict::new(py);
        dict.set_item("verdict", judgement.verdict().as_str())?;
        dict.set_item("approval", judgement.approval().as_str())?;
        dict.set_item("because", convert::typed_to_python(py, &judgement.because())?)?;
        if let Some(request) = judgement.request() {
            dict.set_item("request", convert::typed_to_python(py, &request)?)?;
        }
        if let Some(refusal) = judgement.refusal() {
            dict.set_item("message", refusal.to_string())?;
        }
        Ok(dict)
    }

    /// Tells of a tool of Python's: a yes that was remembered for it does not reach another definition.
    fn define(&self, definition: &Bound<'_, PyAny>) -> PyResult<()> {
        let definition: ToolDefinition = convert::to_typed(definition)?;
        self.0.get()?.tools.define(&definition);
        Ok(())
    }

    /// The config's own tools, as the model is told of them.
    fn definitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::typed_to_python(py, &self.0.get()?.tools.tools())
    }

    /// Ends every process that the config's own tools started, and lets none start any more.
    fn close(&self) -> PyResult<()> {
        if let Some(launcher) = &self.0.get()?.launcher {
            launcher.stop();
        }
        Ok(())
    }
}

fn submitting(call: Option<Arc<Call>>, origin: &Arc<Origin>) -> Current {
    Current { call, origin: Arc::clone(origin), stage: Stage::Submitting }
}

fn on_its_way(future: BoxFuture<'static, Outcome>) -> BoxFuture<'static, End> {
    Box::pin(async move { End::Outcome(future.await) })
}

/// Reads what Python gave. Arguments that cannot be judged make a call that is refused, not an exception: the agent
/// is to hear of it.
fn ready((tool_name, args, metadata, assess): Given<'_>) -> PyResult<Ready> {
    let py = args.py();
    let dict = if args.is_exact_instance_of::<PyDict>() { Ok(args) } else { convert::hook(&args, "fields") };
    let (dict, read) = match dict {
        Ok(dict) => {
            let read = convert::to_args(&dict);
            (dict, read)
        }
        Err(error) => (PyDict::new(py).into_any(), Err(error)),
    };
    let (args, fault) = match read {
        Ok(args) => (args, None),
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyException>(py) => {
            (askfirst::Args::new(), Some(in_words(py, &error)))
        }
        Err(error) => return Err(error),
    };
    let mut context = ApprovalContext::new(tool_name, args);
    if let Some(metadata) = metadata.filter(|metadata| !metadata.is_none()) {
        context.metadata = convert::to_args(&metadata)?;
    }
    Ok(Ready { context, call: Arc::new(Call::new(dict.unbind(), assess, fault)) })
}
