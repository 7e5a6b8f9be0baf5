//! One session for Python: config, tools, controller and record around one pipeline.

use std::path::PathBuf;
use std::sync::Arc;

use askfirst::toolset::BoxFuture;
use askfirst::{ApprovalContext, Outcome, ToolDefinition, Toolset};
use askfirst_config::{OnDenial, Places};
use askfirst_runtime as runtime;
use askfirst_runtime::ApprovalToolset;
use askfirst_runtime::assess::{Decided, Unknown};
use askfirst_runtime::pipeline::direct::Started;
use askfirst_runtime::toolset::Run;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::call::{Asked, Call, Calls, Origin, Origins};
use crate::controller::Controller;
use crate::convert::{self, in_words};
use crate::gate;
use crate::held::Held;
use crate::process::Ours;
use crate::setup::{self, Config};
use crate::ticket::{End, Ticket, While};
use crate::tools::{Override, Tools};

/// Config, tools, controller and record around one pipeline.
#[pyclass(frozen, weakref, module = "askfirst")]
pub struct Session(Ours<SessionParts>);

struct SessionParts {
    session: runtime::Session,
    tools: Arc<Tools>,
    calls: Arc<Calls>,
    origins: Arc<Origins>,
    during: While,
    /// Gives the metadata of a call for what a framework knows of it.
    metadata_of: Option<Held>,
    overriding: Option<Arc<Override>>,
    /// Who sees the metadata of every call.
    seen: MetadataUse,
}

/// Whether somebody sees the metadata of calls that need no asking: a record, an override, a view of every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetadataUse {
    Always,
    WhenAsked,
}

/// What is known of a call besides name and arguments.
enum CallDetails<'a, 'py> {
    Metadata(Option<&'a Bound<'py, PyAny>>),
    /// What a framework knows. Most often nobody wants to hear it.
    Context(&'a Bound<'py, PyAny>),
}

/// A call as Python gives it: name, arguments, metadata, and who assesses it.
type CallArguments<'py> = (String, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Py<PyAny>>);

/// A call, ready to be judged.
struct PreparedCall {
    context: ApprovalContext,
    call: Arc<Call>,
}

#[pymethods]
impl Session {
    /// `ledger`: `None` keeps no record, a path names it, `True` takes the config's place for it. `library` is the file
    /// of this library; with it the config's own tools are offered.
    #[new]
    #[pyo3(signature = (config, controller, *, on_denial=None, assess=None, overriding=None, record=false, ledger=None,
                        session_id=None, library=None, metadata_of=None))]
    #[expect(clippy::too_many_arguments, reason = "Python calls it with keywords")]
    fn new(
        config: &Config,
        controller: &Controller,
        on_denial: Option<&str>,
        assess: Option<Py<PyAny>>,
        overriding: Option<Py<PyAny>>,
        record: bool,
        ledger: Option<PathBuf>,
        session_id: Option<String>,
        library: Option<PathBuf>,
        metadata_of: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let looks = assess.is_some() || overriding.is_some() || record;
        let calls = Arc::<Calls>::default();
        let overriding = overriding
            .map(|decide| Arc::new(Override { decide: Held::new(decide), calls: Arc::clone(&calls) }));
        let on_denial = match on_denial {
            None => None,
            Some("stop") => Some(OnDenial::Stop),
            Some(_) => Some(OnDenial::Return),
        };
        let mut tools = None;
        let made = Arc::clone(&calls);
        let make = |built_in| {
            let made = Arc::new(Tools::new(built_in, assess, made));
            tools = Some(Arc::clone(&made));
            made
        };
        let builder = runtime::Session::builder(config.0.clone())
            .front_end("python")
            .controller(controller.inner()?)
            .id(session_id)
            .unknown(Unknown::Silent)
            .overriding(overriding.clone().map(|overriding| overriding as _))
            .on_denial(on_denial)
            .run(Run::Caller);
        let builder = match (record, ledger) {
            (true, Some(file)) => builder.log_at(file),
            (true, None) => builder.log_in(Places::from_env().state),
            (false, _) => builder,
        };
        let opened = match library {
            Some(library) => {
                setup::find_helper(&library);
                builder.wrap_tools(move |built_in, _| make(Some(built_in))).open()
            }
            None => builder.own_tools(make(None)).open(),
        };
        let session = opened.map_err(setup::cannot_open)?;
        let tools = tools.ok_or_else(|| PyRuntimeError::new_err("the tools are missing"))?;
        let during = if session.ledger.is_some() { While::Detached } else { While::Attached };
        let seen = if looks { MetadataUse::Always } else { MetadataUse::WhenAsked };
        Ok(Self(Ours::new(SessionParts {
            session,
            tools,
            calls,
            origins: controller.origins()?,
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
        Ok(&self.0.get()?.session.id)
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
        self.begin(py, ready(tool_name, args, assess)?, CallDetails::Metadata(metadata.as_ref()))
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
        self.begin(py, ready(tool_name, args, assess)?, CallDetails::Context(&context))
    }

    /// Takes calls that belong together: all are judged before the first question is asked.
    fn submit<'py>(&self, py: Python<'py>, calls: Vec<CallArguments<'py>>) -> PyResult<Vec<Ticket>> {
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
        let PreparedCall { mut context, call } = ready(tool_name, args, assess)?;
        context.metadata = metadata_from(metadata.as_ref())?;
        inner.calls.add(&call);
        context.id = call.id;
        let decided = inner.session.decide(context, |Decided { judgement, .. }| {
            let verdict = (judgement.verdict(), judgement.approval(), judgement.because());
            (verdict, judgement.request(), judgement.refusal())
        });
        call.raise()?;
        let ((verdict, approval, because), request, refusal) = decided;
        let dict = PyDict::new(py);
        dict.set_item("verdict", verdict.as_str())?;
        dict.set_item("approval", approval.as_str())?;
        dict.set_item("because", convert::typed_to_python(py, &because)?)?;
        if let Some(request) = request {
            dict.set_item("request", convert::typed_to_python(py, &request)?)?;
        }
        if let Some(refusal) = refusal {
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
        if let Some(launcher) = &self.0.get()?.session.launcher {
            launcher.stop();
        }
        Ok(())
    }
}

impl Session {
    fn begin(&self, py: Python<'_>, ready: PreparedCall, known: CallDetails<'_, '_>) -> PyResult<Ticket> {
        let inner = self.0.get()?;
        let PreparedCall { mut context, call } = ready;
        let runs_here = inner.tools.runs(&context.tool_name);
        let mut late_context = None;
        match known {
            CallDetails::Metadata(metadata) => context.metadata = metadata_from(metadata)?,
            CallDetails::Context(told) if told.is_none() => {}
            CallDetails::Context(told)
                if runs_here || inner.seen == MetadataUse::Always || call.assess.is_some() =>
            {
                context.metadata = inner.metadata_of(told)?;
            }
            CallDetails::Context(told) => late_context = Some(told),
        }
        context.id = call.id;
        // The pipeline looks for the call only if someone assesses it in Python, or if it cannot run at once.
        if inner.seen == MetadataUse::Always || call.assess.is_some() || call.fault.is_some() || runs_here {
            inner.calls.add(&call);
        }
        let asked = Asked::of(call.id, &inner.origins);
        let late = |metadata: PyResult<Map<String, Value>>| {
            inner.calls.add(&call);
            asked.note();
            metadata
        };
        let started = match inner.during {
            While::Attached => {
                let more = || late_context.map_or_else(|| Ok(Map::new()), |told| inner.metadata_of(told));
                inner.take(context, || late(more()))
            }
            While::Detached => gate::detach(py, || inner.take(context, || late(Ok(Map::new())))),
        };
        call.submitted();
        call.raise()?;
        match started? {
            Started::Now(running) => {
                let (args, origins) = (call.args.clone_ref(py), Arc::clone(&inner.origins));
                Ok(Ticket::run(running, args, origins, inner.during))
            }
            Started::OnItsWay(future) => {
                Ticket::start(py, on_its_way(future), Some(call), asked, inner.during)
            }
        }
    }
}

impl SessionParts {
    fn held(&self) -> impl Iterator<Item = &Held> {
        let overriding = self.overriding.as_ref().map(|overriding| &overriding.decide);
        self.tools.assess().into_iter().chain(&self.metadata_of).chain(overriding)
    }

    fn take(
        &self,
        mut context: ApprovalContext,
        late: impl FnOnce() -> PyResult<Map<String, Value>>,
    ) -> PyResult<Started> {
        if self.tools.runs(&context.tool_name) {
            context.metadata.extend(late()?);
            let future = self.session.submit([context]).pop();
            return future.map(Started::OnItsWay).ok_or_else(|| PyRuntimeError::new_err("the call was lost"));
        }
        self.session.tools.start(context, late)
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
    calls: Vec<CallArguments<'py>>,
) -> PyResult<Vec<Ticket>> {
    if sessions.len() != calls.len() {
        return Err(PyValueError::new_err("each call must have its session"));
    }
    let inners = sessions.iter().map(|session| session.get().0.get()).collect::<PyResult<Vec<_>>>()?;
    submit(py, inners.into_iter().zip(calls))
}

fn submit<'a, 'py>(
    py: Python<'py>,
    calls: impl Iterator<Item = (&'a SessionParts, CallArguments<'py>)>,
) -> PyResult<Vec<Ticket>> {
    let (mut contexts, mut taken) = (Vec::new(), Vec::new());
    let origin = Arc::<Origin>::default();
    for (inner, (tool_name, args, metadata, assess)) in calls {
        let PreparedCall { mut context, call } = ready(tool_name, args, assess)?;
        context.metadata = metadata_from(metadata.as_ref())?;
        context.id = call.id;
        inner.calls.add(&call);
        let asked = Asked { origin: Arc::clone(&origin), ..Asked::of(call.id, &inner.origins) };
        asked.note();
        contexts.push((&inner.session.tools, context));
        taken.push((inner, call, asked));
    }
    let work = || ApprovalToolset::submit_together(contexts);
    let futures = if taken.iter().any(|(inner, _, _)| inner.during == While::Detached) {
        gate::detach(py, work)
    } else {
        work()
    };
    taken.iter().for_each(|(_, call, _)| call.submitted());
    let tickets = futures.into_iter().zip(taken);
    tickets
        .map(|(future, (inner, call, asked))| {
            call.raise()?;
            Ticket::start(py, on_its_way(future), Some(call), asked, inner.during)
        })
        .collect()
}

fn on_its_way(future: BoxFuture<'static, Outcome>) -> BoxFuture<'static, End> {
    Box::pin(async move { End::Outcome(future.await) })
}

/// Reads what Python gave. Arguments that cannot be judged make a call that is refused, not an exception: the agent
/// is to hear of it.
fn ready(tool_name: String, args: Bound<'_, PyAny>, assess: Option<Py<PyAny>>) -> PyResult<PreparedCall> {
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
    Ok(PreparedCall { context, call: Arc::new(Call::new(dict.unbind(), assess, fault)) })
}

fn metadata_from(metadata: Option<&Bound<'_, PyAny>>) -> PyResult<Map<String, Value>> {
    match metadata.filter(|metadata| !metadata.is_none()) {
        Some(metadata) => convert::to_args(metadata),
        None => Ok(Map::new()),
    }
}
