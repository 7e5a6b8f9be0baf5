//! The server's tools as a toolset: what is known of them, and calls that are on their way there and back.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::Poll;

use askfirst::toolset::BoxFuture;
use askfirst::{
    ApprovalAware, ApprovalContext, ApprovalPresentation, ApprovalRequest, Args, Assessment, Digest, Fact,
    Invocation, PresentationKind, Risk, Shown, ToolDefinition, ToolError, Toolset,
};
use askfirst_runtime::present::escape::{escaped, visible};
use hyper::header::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::http::mirror;
use crate::out::Out;
use crate::pins::Pins;

/// The key in a call's metadata under which its flight is found again.
pub(crate) const FLIGHT: &str = "mcp_request";

/// The tools of one server.
pub(crate) struct Upstream {
    server: String,
    pins: Pins,
    tools: RwLock<BTreeMap<String, Known>>,
    flights: Mutex<HashMap<String, Arc<Flight>>>,
}

/// One tool as the server last described it.
#[derive(Debug, Clone)]
struct Known {
    definition: ToolDefinition,
    /// As the server wrote it.
    json: Value,
    /// What it looked like when it was pinned, if that was different.
    was: Option<Value>,
}

/// Where lines go. Each is written whole.
pub(crate) struct Sink(Mutex<Option<Box<dyn Write + Send>>>);

impl Sink {
    pub(crate) fn new(output: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(Some(output)))
    }
}

impl Out for Sink {
    fn line(&self, line: &[u8]) -> std::io::Result<()> {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let output = output.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        // An end of line can only be a blank in JSON. Some readers take it for the end of the message.
        if line.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            let blank = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
            output.write_all(&line.iter().map(blank).collect::<Vec<u8>>())?;
        } else {
            output.write_all(line)?;
        }
        output.write_all(b"\n")?;
        output.flush()
    }

    fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A call on its way.
pub(crate) struct Flight {
    /// The message as the client wrote it.
    line: Vec<u8>,
    /// Its arguments.
    args: Args,
    to_server: Arc<dyn Out>,
    state: Mutex<State>,
}

/// The server's answer to a call.
pub(crate) struct Answer {
    /// As it came.
    pub(crate) line: Vec<u8>,
    /// Where what came with it goes.
    pub(crate) back: Arc<dyn Out>,
    /// Whether a person had changed the arguments.
    pub(crate) edited: bool,
}

#[derive(Default)]
struct State {
    sent: bool,
    edited: bool,
    answer: Option<(Vec<u8>, Arc<dyn Out>)>,
    /// Why there will be no answer.
    failed: Option<String>,
}

impl Flight {
    pub(crate) fn new(line: Vec<u8>, args: Args, to_server: Arc<dyn Out>) -> Self {
        Self { line, args, to_server, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's answer has come.
    pub(crate) fn answer(&self, line: Vec<u8>, back: Arc<dyn Out>) {
        self.state().answer = Some((line, back));
    }

    /// No answer will come.
    pub(crate) fn fail(&self, why: &str) {
        self.state().failed = Some(why.to_owned());
    }

    /// Whether the server has been sent the call.
    pub(crate) fn is_sent(&self) -> bool {
        self.state().sent
    }

    /// The server's answer.
    pub(crate) fn take_answer(&self) -> Option<Answer> {
        let mut state = self.state();
        let edited = state.edited;
        state.answer.take().map(|(line, back)| Answer { line, back, edited })
    }

    /// The message with these arguments: as the client wrote it, if they are its own.
    fn line_for(&self, args: &Args) -> Result<(Vec<u8>, bool), ToolError> {
        if *args == self.args {
            return Ok((self.line.clone(), false));
        }
        let broken = |e: String| ToolError::Failed(format!("the call could not be written anew: {e}"));
        let mut message = askfirst::json::parse_object(&self.line).map_err(|e| broken(e.to_string()))?;
        let params = message.get_mut("params").and_then(Value::as_object_mut);
        let params = params.ok_or_else(|| broken("it has no `params`".to_owned()))?;
        params.insert("arguments".to_owned(), Value::Object(args.clone()));
        Ok((Value::Object(message).to_string().into_bytes(), true))
    }
}

/// Something odd about a tool, to be told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Oddity(pub(crate) String);

impl Upstream {
    pub(crate) fn new(server: &str, pins: Pins) -> Self {
        Self { server: server.to_owned(), pins, tools: RwLock::default(), flights: Mutex::default() }
    }

    /// The name that the config knows a tool by.
    pub(crate) fn config_name(&self, tool: &str) -> String {
        format!("mcp__{}__{tool}", self.server)
    }

    pub(crate) fn knows(&self, tool: &str) -> bool {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        tools.contains_key(&self.config_name(tool))
    }

    /// Learns tools from a list, in which descriptions are made visible where something in them is not.
    pub(crate) fn learn(&self, list: &mut [Value]) -> Result<Vec<Oddity>, String> {
        let mut odd = Vec::new();
        let mut found = Vec::new();
        for tool in list.iter_mut() {
            let Some(name) = tool.get("name").and_then(Value::as_str).map(str::to_owned) else {
                return Err("a tool has no name".to_owned());
            };
            // What is pinned is what the server wrote, also where the client gets it escaped.
            found.push((name.clone(), tool.clone()));
            let escapes = make_visible(tool);
            if escapes > 0 {
                odd.push(Oddity(format!(
                    "`{}` of `{}`: {escapes} hidden characters in its description are shown escaped",
                    escaped(&name),
                    self.server
                )));
            }
        }
        let changed = self.pins.changed(&found).map_err(|e| e.to_string())?;
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        for (name, json) in found {
            let was = changed.get(&name).cloned();
            if was.is_some() {
                odd.push(Oddity(format!(
                    "`{}` of `{}` changed since it was pinned: it is asked about before it can be called",
                    escaped(&name),
                    self.server
                )));
            }
            let definition = self.definition_of(&name, &json);
            tools.insert(definition.name.clone(), Known { definition, json, was });
        }
        Ok(odd)
    }

    fn definition_of(&self, name: &str, json: &Value) -> ToolDefinition {
        let text = json.get("description").and_then(Value::as_str).unwrap_or_default();
        let schema = json.get("inputSchema").cloned().unwrap_or(Value::Null);
        let mut definition = ToolDefinition::new(self.config_name(name), text, schema);
        // What a server says of itself can make it look worse, never better.
        let hint = |key: &str| json.get("annotations").and_then(|all| all.get(key)).and_then(Value::as_bool);
        if hint("destructiveHint") == Some(true) && hint("readOnlyHint") != Some(true) {
            definition.risk = Risk::High;
        }
        definition
    }

    /// The headers that say what the arguments of a call are, as its tool wants them.
    pub(crate) fn args_headers(&self, line: &[u8]) -> HeaderMap {
        #[derive(Deserialize)]
        struct Called {
            params: Params,
        }
        #[derive(Deserialize)]
        struct Params {
            name: String,
            #[serde(default)]
            arguments: Args,
        }
        let Ok(Called { params }) = serde_json::from_slice(line) else { return HeaderMap::new() };
        let known = self.known(&self.config_name(&params.name));
        let schema = known.and_then(|known| known.json.get("inputSchema").cloned());
        schema.map(|schema| mirror::of_args(&schema, &params.arguments)).unwrap_or_default()
    }

    pub(crate) fn begin(&self, key: &str, flight: Arc<Flight>) {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), flight);
    }

    pub(crate) fn end(&self, key: &str) {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    fn flight(&self, call: &ApprovalContext) -> Option<Arc<Flight>> {
        let key = call.metadata.get(FLIGHT).and_then(Value::as_str)?;
        self.flights.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn known(&self, name: &str) -> Option<Known> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Sends a call to the server.
    fn send(&self, invocation: &Invocation) -> Result<Arc<Flight>, ToolError> {
        let flight = self.flight(&invocation.call);
        let flight =
            flight.ok_or_else(|| ToolError::Failed("the call is no longer waited for".to_owned()))?;
        let known = self.known(&invocation.call.tool_name);
        let known = known.ok_or_else(|| ToolError::Unknown(invocation.call.tool_name.clone()))?;
        if known.definition.digest() != invocation.call.definition.unwrap_or_else(|| Digest::of_parts([])) {
            return Err(ToolError::Stale("the server changed the tool meanwhile".to_owned()));
        }
        if known.was.is_some() {
            let name = known.json.get("name").and_then(Value::as_str).unwrap_or_default();
            self.pins.accept(name, &known.json).map_err(|e| ToolError::Failed(e.to_string()))?;
            let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = tools.get_mut(&invocation.call.tool_name) {
                known.was = None;
            }
        }
        let (line, edited) = flight.line_for(&invocation.call.args)?;
        {
            let mut state = flight.state();
            (state.sent, state.edited) = (true, edited);
        }
        flight
            .to_server
            .line(&line)
            .map_err(|e| ToolError::Failed(format!("the server cannot be reached: {e}")))?;
        Ok(flight)
    }
}

/// Escapes what nobody would see in a tool's descriptions. Says how much.
fn make_visible(tool: &mut Value) -> usize {
    match tool {
        Value::String(text) => {
            let hidden = |c: char| !matches!(c, '\n' | '\t' | '\r') && visible(&c.to_string()).escaped > 0;
            let count = text.chars().filter(|c| hidden(*c)).count();
            if count > 0 {
                let shown = |c: char| if hidden(c) { escaped(&c.to_string()) } else { c.to_string() };
                *text = text.chars().map(shown).collect();
            }
            count
        }
        Value::Array(items) => items.iter_mut().map(make_visible).sum(),
        Value::Object(map) => {
            let told =
                ["title", "description", "inputSchema", "outputSchema", "annotations", "properties", "items"];
            let nested = |key: &str| told.contains(&key);
            map.iter_mut()
                .filter(|(key, value)| nested(key) || value.is_object())
                .map(|(_, value)| make_visible(value))
                .sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

impl Toolset for Upstream {
    fn tools(&self) -> Vec<ToolDefinition> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        tools.values().map(|known| known.definition.clone()).collect()
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.known(name).map(|known| known.definition)
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let flight = self.send(&invocation)?;
            // Whoever brings the answer drives the call on, so no waker is kept.
            let answered = std::future::poll_fn(|_| {
                let state = flight.state();
                match (&state.answer, &state.failed) {
                    (Some((line, _)), _) => Poll::Ready(outcome(line)),
                    (None, Some(why)) => Poll::Ready(Err(ToolError::Failed(why.clone()))),
                    (None, None) => Poll::Pending,
                }
            });
            answered.await
        })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }
}

/// What the record says of an answer: its digest. The client gets the answer itself.
fn outcome(line: &[u8]) -> Result<Value, ToolError> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Result_ {
        #[serde(rename = "isError", default)]
        is_error: bool,
    }
    let digest = json!({"answer": Digest::of(line).to_string()});
    let failed =
        |message: &str| Err(ToolError::Ended { message: message.to_owned(), result: digest.clone() });
    match serde_json::from_slice::<Answer<'_>>(line) {
        Ok(Answer { result: Some(result) }) => match serde_json::from_str::<Result_>(result.get()) {
            Ok(Result_ { is_error: false }) => Ok(digest),
            Ok(Result_ { is_error: true }) => failed("the server says that it failed"),
            Err(_) => failed("the server's result is none"),
        },
        Ok(Answer { result: None }) => failed("the server answered with an error"),
        Err(_) => failed("the server's answer is none"),
    }
}

impl ApprovalAware for Upstream {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        let Some(known) = self.known(&call.tool_name) else { return Assessment::silent() };
        let name = known.json.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut facts = vec![Fact::new("server", &self.server), Fact::new("its name", name)];
        if !known.definition.description.is_empty() {
            let first = known.definition.description.lines().next().unwrap_or_default();
            facts.push(Fact::new("it says", first));
        }
        let unsettled = known
            .was
            .is_some()
            .then(|| "the server changed this tool since it was pinned; the change is shown".to_owned());
        Assessment { facts, unsettled, risk: known.definition.risk, ..Assessment::silent() }
    }

    fn present(&self, call: &ApprovalContext, _: &ApprovalRequest) -> Shown {
        let changed = self.known(&call.tool_name).and_then(|known| Some((known.was?, known.json)));
        let presentation = changed.map(|(was, now)| {
            let text = |value: &Value| format!("{value:#}\n");
            let diff = similar::TextDiff::from_lines(text(&was), text(&now))
                .unified_diff()
                .header("pinned", "now")
                .to_string();
            ApprovalPresentation::new(PresentationKind::Diff, diff)
        });
        Shown { presentation, ..Shown::default() }
    }
}
