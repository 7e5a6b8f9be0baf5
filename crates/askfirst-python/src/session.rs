//! One session for Python: config, tools, controller and record around one pipeline.

use std::path::PathBuf;
use std::sync::Arc;

use askfirst::ports::Clock;
use askfirst::toolset::BoxFuture;
use askfirst::{ApprovalContext, Outcome, ToolDefinition, Toolset};
use askfirst_config::Fallback;
use askfirst_runtime::ApprovalToolset;
use askfirst_runtime::assess::{self, Unknown};
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::launcher::{WalledLauncher, lacks_demanded_walls};
use askfirst_runtime::ledger::SessionId;
use askfirst_runtime::offered::Offered;
use askfirst_runtime::pipeline::straight::Started;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::ConfigError;
use crate::call::{Busy, Call, Current, Origin, Stage};
use crate::controller::{Controller, mode};
use crate::convert::{self, in_words};
use crate::gate;
use crate::held::Held;
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
    /// Gives the metadata of a call for what a framework knows of it.
    metadata_of: Option<Held>,
    overriding: Option<Arc<Override>>,
    /// Who sees the metadata of every call.
    seen: Seen,
}

/// Whether somebody sees the metadata of calls that need no asking: a record, an override, a view of every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Always,
    WhenAsked,
}

/// What is known of a call besides name and arguments.
enum Known<'a, 'py> {
    Metadata(Option<&'a Bound<'py, PyAny>>),
    /// What a framework knows. Most often nobody wants to hear it.
    Context(&'a Bound<'py, PyAny>),
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
                        session_id=None, library=None, metadata_of=None))]
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
        metadata_of: Option<Py<PyAny>>,
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
        let looks = assess.is_some() || overriding.is_some() || record;
        let overriding = overriding.map(|overriding| Arc::new(Override(Held::new(overriding))));
        if let Some(overriding) = &overriding {
            policy = policy.with_override(Arc::clone(overriding) as _).map_err(ConfigError::new_err)?;
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
        let pipeline = ApprovalToolset::new(Arc::clone(&tools), controller.inner()?, policy)
            .unknown(Unknown::Silent)
            .clock(clock)
            .session(&id);
        let pipeline = match ledger {
            Some(ledger) => pipeline.recorder(ledger),
            None => pipeline,
        };
        let seen = if looks { Seen::Always } else { Seen::WhenAsked };
        Ok(Self(Ours::new(Inner {
            id,
            pipeline,
            tools,
            launcher,
            during,
            metadata_of: metadata_of.map(Held::new),
            overriding,
            seen,
        })))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(inner) = self.0.here() else { return Ok(()) };
        inner.held().try_for_each(|held| held.traverse(&visit))
    }

    fn __clear__(&self) {
        if let Some(inner) = self.0.here() {
            inner.held().for_each(Held::clear);
        }
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
        self.begin(py, ready(tool_name, args, assess)?, Known::Metadata(metadata.as_ref()))
    }

    /// The same for a call that a framework knows more about: the session's `metadata_of` tells it, if anybody asks.
    #[pyo3(signature = (tool_name, args, context, assess))]
    fn start_in<'py>(
        &self,
        py: Python<'py>,
        tool_name: String,
        args: Bound<'py, PyAny>,
        context: Bound<'py, PyAny>,
        assess: Option<Py<PyAny>>,
    ) -> PyResult<Ticket> {
        self.begin(py, ready(tool_name, args, assess)?, Known::Context(&context))
    }

    /// Takes calls that belong together: all are judged before the first question is asked.
    fn submit<'py>(&self, py: Python<'py>, calls: Vec<Given<'py>>) -> PyResult<Vec<Ticket>> {
        let inner = self.0.get()?;
        submit(py, calls.into_iter().map(|given| (inner, given)))
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
        let Ready { mut context, call } = ready(tool_name, args, assess)?;
        context.metadata = metadata_from(metadata.as_ref())?;
        let _busy = Busy::with(submitting(Some(Arc::clone(&call)), None));
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

impl Session {
    fn begin(&self, py: Python<'_>, ready: Ready, known: Known<'_, '_>) -> PyResult<Ticket> {
        let inner = self.0.get()?;
        let Ready { mut context, call } = ready;
        let runs_here = inner.tools.runs(&context.tool_name);
        let mut late = None;
        match known {
            Known::Metadata(metadata) => context.metadata = metadata_from(metadata)?,
            Known::Context(told) if told.is_none() => {}
            Known::Context(told) if runs_here || inner.seen == Seen::Always || call.assess.is_some() => {
                context.metadata = inner.metadata_of(told)?;
            }
            Known::Context(told) => late = Some(told),
        }
        let busy = || Busy::with(submitting(Some(Arc::clone(&call)), None));
        let (started, origin) = match inner.during {
            While::Attached => {
                let busy = busy();
                let more = || late.map_or_else(|| Ok(Map::new()), |told| inner.metadata_of(told));
                (inner.take(context, more), busy.origin())
            }
            While::Detached => gate::detach(py, || {
                let busy = busy();
                (inner.take(context, || Ok(Map::new())), busy.origin())
            }),
        };
        call.raise()?;
        match started? {
            Started::Now(running) => Ok(Ticket::run(running, call.args.clone_ref(py), inner.during)),
            Started::OnItsWay(future) => {
                let origin = origin.unwrap_or_default();
                Ticket::start(py, on_its_way(future), Some(call), origin, inner.during)
            }
        }
    }
}

impl Inner {
    fn held(&self) -> impl Iterator<Item = &Held> {
        let overriding = self.overriding.as_ref().map(|overriding| &overriding.0);
        self.tools.assess().into_iter().chain(&self.metadata_of).chain(overriding)
    }

    fn take(
        &self,
        context: ApprovalContext,
        late: impl FnOnce() -> PyResult<Map<String, Value>>,
    ) -> PyResult<Started> {
        if self.tools.runs(&context.tool_name) {
            let future = self.pipeline.submit([context]).pop();
            return future.map(Started::OnItsWay).ok_or_else(|| PyRuntimeError::new_err("the call was lost"));
        }
        self.pipeline.start(context, late)
    }

    fn metadata_of(&self, told: &Bound<'_, PyAny>) -> PyResult<Map<String, Value>> {
        match &self.metadata_of {
            Some(metadata_of) => convert::to_args(&metadata_of.get(told.py())?.call1((told,))?),
            None => Ok(Map::new()),
        }
    }
}

/// Takes calls of several sessions that belong together. Those that share a controller are asked about as one group.
#[pyfunction]
pub(crate) fn submit_together<'py>(
    py: Python<'py>,
    sessions: Vec<Bound<'py, Session>>,
    calls: Vec<Given<'py>>,
) -> PyResult<Vec<Ticket>> {
    if sessions.len() != calls.len() {
        return Err(PyValueError::new_err("each call must have its session"));
    }
    let inners = sessions.iter().map(|session| session.get().0.get()).collect::<PyResult<Vec<_>>>()?;
    submit(py, inners.into_iter().zip(calls))
}

fn submit<'a, 'py>(
    py: Python<'py>,
    calls: impl Iterator<Item = (&'a Inner, Given<'py>)>,
) -> PyResult<Vec<Ticket>> {
    let (mut contexts, mut taken) = (Vec::new(), Vec::new());
    for (inner, (tool_name, args, metadata, assess)) in calls {
        let Ready { mut context, call } = ready(tool_name, args, assess)?;
        context.metadata = metadata_from(metadata.as_ref())?;
        contexts.push(context);
        taken.push((inner, call));
    }
    let origin = Arc::<Origin>::default();
    let work = || {
        let busy = Busy::with(submitting(None, Some(&origin)));
        // Each call is assessed before the next is taken.
        let one_by_one = contexts.into_iter().zip(&taken).map(|(context, (inner, call))| {
            busy.next(Arc::clone(call));
            (&inner.pipeline, context)
        });
        ApprovalToolset::submit_together(one_by_one)
    };
    let futures = if taken.iter().any(|(inner, _)| inner.during == While::Detached) {
        gate::detach(py, work)
    } else {
        work()
    };
    let tickets = futures.into_iter().zip(&taken);
    tickets
        .map(|(future, (inner, call))| {
            call.raise()?;
            let call = Some(Arc::clone(call));
            Ticket::start(py, on_its_way(future), call, Arc::clone(&origin), inner.during)
        })
        .collect()
}

fn submitting(call: Option<Arc<Call>>, origin: Option<&Arc<Origin>>) -> Current {
    Current { call, origin: origin.cloned(), stage: Stage::Submitting }
}

fn on_its_way(future: BoxFuture<'static, Outcome>) -> BoxFuture<'static, End> {
    Box::pin(async move { End::Outcome(future.await) })
}

/// Reads what Python gave. Arguments that cannot be judged make a call that is refused, not an exception: the agent
/// is to hear of it.
fn ready(tool_name: String, args: Bound<'_, PyAny>, assess: Option<Py<PyAny>>) -> PyResult<Ready> {
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
    let context = ApprovalContext::new(tool_name, args);
    Ok(Ready { context, call: Arc::new(Call::new(dict.unbind(), assess, fault)) })
}

fn metadata_from(metadata: Option<&Bound<'_, PyAny>>) -> PyResult<Map<String, Value>> {
    match metadata.filter(|metadata| !metadata.is_none()) {
        Some(metadata) => convert::to_args(metadata),
        None => Ok(Map::new()),
    }
}
