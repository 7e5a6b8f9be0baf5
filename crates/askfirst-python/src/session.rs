//! The session, for Python: config, tools, controller and audit log around one pipeline.

use std::path::PathBuf;
use std::sync::Arc;

use askfirst::toolset::BoxFuture;
use askfirst::{ApprovalContext, Outcome, ToolDefinition, Toolset};
use askfirst_config::{OnDenial, Places};
use askfirst_runtime as runtime;
use askfirst_runtime::ApprovalToolset;
use askfirst_runtime::assess::{JudgedCall, Unknown};
use askfirst_runtime::pipeline::direct::StartedCall;
use askfirst_runtime::toolset::Run;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::approval::Approval;
use crate::call::{CallOrigin, CallOrigins, PythonCall, PythonCalls, QuestionOrigin};
use crate::callback::PythonCallback;
use crate::controller::Controller;
use crate::convert::{self, describe_error};
use crate::gate;
use crate::process::ProcessBound;
use crate::setup::{self, Config};
use crate::ticket::{GilMode, Ticket, TicketEnd};
use crate::tools::{PythonOverride, SessionTools};

/// Config, tools, controller and audit log around one pipeline.
#[pyclass(frozen, weakref, module = "askfirst")]
pub struct Session(ProcessBound<SessionInner>);

struct SessionInner {
    session: runtime::Session,
    tools: Arc<SessionTools>,
    calls: Arc<PythonCalls>,
    origins: Arc<CallOrigins>,
    gil: GilMode,
    /// Makes the metadata of a call from a framework's own context.
    metadata_of: Option<PythonCallback>,
    overriding: Option<Arc<PythonOverride>>,
    /// The calls whose metadata is needed.
    metadata_use: MetadataUse,
}

/// Which calls need metadata: all if there is an audit log, an override or a check of every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetadataUse {
    Always,
    WhenAsked,
}

/// Where the metadata of a call comes from.
enum MetadataSource<'a, 'py> {
    Metadata(Option<&'a Bound<'py, PyAny>>),
    /// A framework's own context. It is converted only if something needs the metadata.
    Context(&'a Bound<'py, PyAny>),
}

/// A call as Python passes it: name, arguments, metadata, and the function that assesses it.
type CallTuple<'py> = (String, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Py<PyAny>>);

/// A call that can be judged.
struct PreparedCall {
    context: ApprovalContext,
    call: Arc<PythonCall>,
}

#[pymethods]
impl Session {
    /// Opens a session.
    ///
    /// It keeps an audit log if `record` is true, or if `record` is `None` and the config has a section `ledger`. The
    /// log is the file `ledger`, or else where the config says. `library` is the file of this library; with it the
    /// session offers the tools of the config. With `override_keys`, code of the program uses unknown keys of tools.
    #[new]
    #[pyo3(signature = (config, controller, *, on_denial=None, assess=None, overriding=None, record=None, ledger=None,
                        session_id=None, library=None, metadata_of=None, override_keys=false))]
    #[expect(clippy::too_many_arguments, reason = "Python calls it with keywords")]
    fn new(
        config: &Config,
        controller: &Controller,
        on_denial: Option<&str>,
        assess: Option<Py<PyAny>>,
        overriding: Option<Py<PyAny>>,
        record: Option<bool>,
        ledger: Option<PathBuf>,
        session_id: Option<String>,
        library: Option<PathBuf>,
        metadata_of: Option<Py<PyAny>>,
        override_keys: bool,
    ) -> PyResult<Self> {
        let checks_all = assess.is_some() || overriding.is_some();
        let calls = Arc::<PythonCalls>::default();
        let overriding = overriding.map(|decide| {
            Arc::new(PythonOverride { decide: PythonCallback::new(decide), calls: Arc::clone(&calls) })
        });
        let on_denial = match on_denial {
            None => None,
            Some("stop") => Some(OnDenial::Stop),
            Some(_) => Some(OnDenial::Return),
        };
        let mut tools = None;
        let made = Arc::clone(&calls);
        let make = |built_in| {
            let made = Arc::new(SessionTools::new(built_in, assess, made));
            tools = Some(Arc::clone(&made));
            made
        };
        let builder = runtime::Session::builder(config.config.clone())
            .front_end("python")
            .controller(controller.inner()?)
            .id(session_id)
            .unknown(Unknown::Silent)
            .overriding(overriding.clone().map(|overriding| overriding as _))
            .override_keys_are_used(override_keys)
            .on_denial(on_denial)
            .run(Run::Caller);
        let builder = match (record, ledger) {
            (Some(true), Some(file)) => builder.log_at(file),
            (Some(true), None) => builder.log_in(Places::from_env().state),
            (None, _) => builder.log_if_configured(Places::from_env().state),
            (Some(false), _) => builder,
        };
        let opened = match library {
            Some(library) => {
                setup::find_helper(&library);
                builder.wrap_tools(move |built_in, _| make(Some(built_in))).open()
            }
            None => builder.own_tools(make(None)).open(),
        };
        let session = opened.map_err(setup::open_error)?;
        let tools = tools.ok_or_else(|| PyRuntimeError::new_err("the session has no tools"))?;
        let gil = if session.ledger.is_some() { GilMode::Detached } else { GilMode::Attached };
        let needs_metadata = checks_all || session.ledger.is_some();
        let metadata_use = if needs_metadata { MetadataUse::Always } else { MetadataUse::WhenAsked };
        Ok(Self(ProcessBound::new(SessionInner {
            session,
            tools,
            calls,
            origins: controller.origins()?,
            gil,
            metadata_of: metadata_of.map(PythonCallback::new),
            overriding,
            metadata_use,
        })))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(inner) = self.0.here() else { return Ok(()) };
        inner.callbacks().try_for_each(|callback| callback.traverse(&visit))
    }

    fn __clear__(&self) {
        if let Some(inner) = self.0.here() {
            inner.callbacks().for_each(PythonCallback::clear);
        }
    }

    /// The name of the session. The ids of its calls start with it.
    #[getter]
    fn id(&self) -> PyResult<&str> {
        Ok(&self.0.get()?.session.id)
    }

    /// Submits one call: assesses it, judges it, and asks if needed. `approval` answers the request if a person has
    /// already approved this call.
    #[pyo3(signature = (tool_name, args, metadata=None, assess=None, approval=None))]
    fn start<'py>(
        &self,
        py: Python<'py>,
        tool_name: String,
        args: Bound<'py, PyAny>,
        metadata: Option<Bound<'py, PyAny>>,
        assess: Option<Py<PyAny>>,
        approval: Option<Bound<'py, Approval>>,
    ) -> PyResult<Ticket> {
        let mut prepared = prepare(tool_name, args, assess)?;
        prepared.context.approved = approval.and_then(|approval| approval.get().take());
        self.begin(py, prepared, MetadataSource::Metadata(metadata.as_ref()))
    }

    /// Submits one call like `start`. `metadata_of` makes its metadata from `context` if something needs it.
    #[pyo3(signature = (tool_name, args, context, assess, approval=None))]
    fn start_in<'py>(
        &self,
        py: Python<'py>,
        tool_name: String,
        args: Bound<'py, PyAny>,
        context: Bound<'py, PyAny>,
        assess: Option<Py<PyAny>>,
        approval: Option<Bound<'py, Approval>>,
    ) -> PyResult<Ticket> {
        let mut prepared = prepare(tool_name, args, assess)?;
        prepared.context.approved = approval.and_then(|approval| approval.get().take());
        self.begin(py, prepared, MetadataSource::Context(&context))
    }

    /// Submits calls that belong together. All are judged before the first question is asked.
    fn submit<'py>(&self, py: Python<'py>, calls: Vec<CallTuple<'py>>) -> PyResult<Vec<Ticket>> {
        let inner = self.0.get()?;
        submit(py, calls.into_iter().map(|given| (inner, given)))
    }

    /// Judges a call without submitting it. askfirst asks no one, runs nothing, and writes and remembers nothing.
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
        let PreparedCall { mut context, call } = prepare(tool_name, args, assess)?;
        context.metadata = metadata_from(metadata.as_ref())?;
        inner.calls.add(&call);
        context.id = call.id;
        let decided = inner.session.decide(context, |JudgedCall { judgement, .. }| {
            let verdict = (judgement.verdict(), judgement.approval(), judgement.because());
            (verdict, judgement.request(), judgement.refusal())
        });
        call.raise_exception()?;
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

    /// Sets the definition of a Python tool. A remembered approval does not cover another definition.
    fn define(&self, definition: &Bound<'_, PyAny>) -> PyResult<()> {
        // A schema has keys such as `$ref`, which are not tags.
        let definition: ToolDefinition = convert::to_typed_as_tagged(definition)?;
        self.0.get()?.tools.define(&definition);
        Ok(())
    }

    /// Returns the definitions of the config's tools, for the model.
    fn definitions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::typed_to_python(py, &self.0.get()?.tools.tools())
    }

    /// Ends all processes of the config's tools, and lets no more start.
    fn close(&self) -> PyResult<()> {
        if let Some(launcher) = &self.0.get()?.session.launcher {
            launcher.stop();
        }
        Ok(())
    }
}

impl Session {
    fn begin(
        &self,
        py: Python<'_>,
        prepared: PreparedCall,
        source: MetadataSource<'_, '_>,
    ) -> PyResult<Ticket> {
        let inner = self.0.get()?;
        let PreparedCall { mut context, call } = prepared;
        let runs_here = inner.tools.is_built_in(&context.tool_name);
        let mut late_context = None;
        match source {
            MetadataSource::Metadata(metadata) => context.metadata = metadata_from(metadata)?,
            MetadataSource::Context(given) if given.is_none() => {}
            MetadataSource::Context(given)
                if runs_here || inner.metadata_use == MetadataUse::Always || call.assess.is_some() =>
            {
                context.metadata = inner.metadata_of(given)?;
            }
            MetadataSource::Context(given) => late_context = Some(given),
        }
        context.id = call.id;
        // The pipeline looks up the call only if Python assesses it, or if it cannot run at once.
        if inner.metadata_use == MetadataUse::Always
            || call.assess.is_some()
            || call.fault.is_some()
            || runs_here
        {
            inner.calls.add(&call);
        }
        let question = inner.question_about(&call);
        let late = |metadata: PyResult<Map<String, Value>>| {
            inner.calls.add(&call);
            question.register();
            metadata
        };
        let started = match inner.gil {
            GilMode::Attached => {
                let more = || late_context.map_or_else(|| Ok(Map::new()), |given| inner.metadata_of(given));
                inner.take(context, || late(more()))
            }
            GilMode::Detached => gate::detach(py, || inner.take(context, || late(Ok(Map::new())))),
        };
        call.mark_submitted();
        call.raise_exception()?;
        match started? {
            StartedCall::Now(running) => {
                let (args, origins) = (call.args.clone_ref(py), Arc::clone(&inner.origins));
                Ok(Ticket::run(running, args, origins, inner.gil))
            }
            StartedCall::OnItsWay(future) => {
                Ticket::start(py, end_of(future), Some(call), question, inner.gil)
            }
        }
    }
}

impl SessionInner {
    fn question_about(&self, call: &PythonCall) -> QuestionOrigin {
        QuestionOrigin::of(call.id, &self.origins)
    }

    fn callbacks(&self) -> impl Iterator<Item = &PythonCallback> {
        let overriding = self.overriding.as_ref().map(|overriding| &overriding.decide);
        self.tools.assess().into_iter().chain(&self.metadata_of).chain(overriding)
    }

    fn take(
        &self,
        mut context: ApprovalContext,
        late: impl FnOnce() -> PyResult<Map<String, Value>>,
    ) -> PyResult<StartedCall> {
        if self.tools.is_built_in(&context.tool_name) {
            context.metadata.extend(late()?);
            let future = self.session.submit([context]).pop();
            return future
                .map(StartedCall::OnItsWay)
                .ok_or_else(|| PyRuntimeError::new_err("the pipeline did not return the call"));
        }
        self.session.tools.start(context, late)
    }

    fn metadata_of(&self, given: &Bound<'_, PyAny>) -> PyResult<Map<String, Value>> {
        match &self.metadata_of {
            Some(metadata_of) => convert::to_args(&metadata_of.get(given.py())?.call1((given,))?),
            None => Ok(Map::new()),
        }
    }
}

/// Submits calls of several sessions that belong together. Sessions with one controller ask about them as one group.
#[pyfunction]
pub(crate) fn submit_together<'py>(
    py: Python<'py>,
    sessions: Vec<Bound<'py, Session>>,
    calls: Vec<CallTuple<'py>>,
) -> PyResult<Vec<Ticket>> {
    if sessions.len() != calls.len() {
        return Err(PyValueError::new_err("expected one session for each call"));
    }
    let inners = sessions.iter().map(|session| session.get().0.get()).collect::<PyResult<Vec<_>>>()?;
    submit(py, inners.into_iter().zip(calls))
}

fn submit<'a, 'py>(
    py: Python<'py>,
    calls: impl Iterator<Item = (&'a SessionInner, CallTuple<'py>)>,
) -> PyResult<Vec<Ticket>> {
    let (mut contexts, mut taken) = (Vec::new(), Vec::new());
    let origin = Arc::<CallOrigin>::default();
    for (inner, (tool_name, args, metadata, assess)) in calls {
        let PreparedCall { mut context, call } = prepare(tool_name, args, assess)?;
        context.metadata = metadata_from(metadata.as_ref())?;
        context.id = call.id;
        inner.calls.add(&call);
        let question = QuestionOrigin { origin: Arc::clone(&origin), ..inner.question_about(&call) };
        question.register();
        contexts.push((&inner.session.tools, context));
        taken.push((inner, call, question));
    }
    let work = || ApprovalToolset::submit_together(contexts);
    let futures = if taken.iter().any(|(inner, _, _)| inner.gil == GilMode::Detached) {
        gate::detach(py, work)
    } else {
        work()
    };
    taken.iter().for_each(|(_, call, _)| call.mark_submitted());
    let tickets = futures.into_iter().zip(taken);
    tickets
        .map(|(future, (inner, call, question))| {
            call.raise_exception()?;
            Ticket::start(py, end_of(future), Some(call), question, inner.gil)
        })
        .collect()
}

fn end_of(future: BoxFuture<'static, Outcome>) -> BoxFuture<'static, TicketEnd> {
    Box::pin(async move { TicketEnd::Outcome(future.await) })
}

/// Prepares a call. Arguments that are not JSON give a call that is refused, so that the agent learns why.
fn prepare(tool_name: String, args: Bound<'_, PyAny>, assess: Option<Py<PyAny>>) -> PyResult<PreparedCall> {
    let py = args.py();
    let dict =
        if args.is_exact_instance_of::<PyDict>() { Ok(args) } else { convert::json_hook(&args, "fields") };
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
            (askfirst::Args::new(), Some(describe_error(py, &error)))
        }
        Err(error) => return Err(error),
    };
    let context = ApprovalContext::new(tool_name, args);
    let call = PythonCall::new(dict.unbind(), assess, fault);
    Ok(PreparedCall { context, call: Arc::new(call) })
}

fn metadata_from(metadata: Option<&Bound<'_, PyAny>>) -> PyResult<Map<String, Value>> {
    match metadata.filter(|metadata| !metadata.is_none()) {
        Some(metadata) => convert::to_args(metadata),
        None => Ok(Map::new()),
    }
}
