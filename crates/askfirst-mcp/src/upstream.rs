//! The server's tools as a toolset: their definitions, and the calls that are in flight.

mod flight;
mod offered;
mod visible;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use askfirst::json::{MAX_VALUES, canonical, count};
use askfirst::toolset::{BoxFuture, DefinitionPin};
use askfirst::{
    ApprovalAware, ApprovalContext, ApprovalPresentation, ApprovalRequest, Args, Assessment, CallId, Digest,
    Fact, Invocation, Policy, PresentationKind, Risk, Shown, ToolDefinition, ToolError, Toolset,
};
use askfirst_display::escape::{escaped, visible_line};
use askfirst_runtime::pipeline::next_call_id;
use askfirst_runtime::sandbox::release_free_memory;
use hyper::header::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use crate::http::mirror;
use crate::keys::lookalike;
use crate::pins::Pins;

pub(crate) use flight::{CallStatus, Flight};

/// The tools of one server.
pub(crate) struct Upstream {
    server: String,
    pins: Pins,
    policy: Policy,
    tools: RwLock<BTreeMap<String, Arc<KnownTool>>>,
    flights: Mutex<HashMap<CallId, Arc<Flight>>>,
    /// The weight of all calls in flight.
    held: AtomicUsize,
    /// The weight of all calls since free memory was last returned to the system.
    since_release: AtomicUsize,
    /// How often free memory is still to be returned.
    releases: AtomicUsize,
}

/// The limit for the weight of all calls in flight, counted in values: ten calls of the largest size.
const MOST_HELD: usize = 10 * MAX_VALUES;

/// The weight of calls whose memory is worth returning to the system: the largest call.
const KEPT: usize = MAX_VALUES;

/// How often free memory is returned after large calls.
const RELEASES: usize = 12;

/// One tool as the server last described it.
#[derive(Debug, Clone)]
struct KnownTool {
    definition: ToolDefinition,
    /// The digest of the whole definition, in the form that pins compare.
    digest: Digest,
    /// The definition as the server wrote it.
    json: Value,
    /// The pinned definition, if it differs.
    was: Option<Value>,
    /// The number of values in the definition.
    values: usize,
}

impl KnownTool {
    /// The basis of a request for a call of this tool.
    fn basis(&self) -> Value {
        self.digest.to_string().into()
    }
}

/// A warning about a tool, reported once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolWarning(pub(crate) String);

impl Upstream {
    pub(crate) fn new(server: &str, pins: Pins, policy: Policy) -> Self {
        Self {
            server: server.to_owned(),
            pins,
            policy,
            tools: RwLock::default(),
            flights: Mutex::default(),
            held: AtomicUsize::new(0),
            since_release: AtomicUsize::new(0),
            releases: AtomicUsize::new(0),
        }
    }

    /// The name of a tool in the config.
    pub(crate) fn config_name(&self, tool: &str) -> String {
        format!("mcp__{}__{tool}", self.server)
    }

    pub(crate) fn knows(&self, tool: &str) -> bool {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        tools.contains_key(&self.config_name(tool))
    }

    /// The server's name, and the names of its tools whose definitions match their pins.
    pub(crate) fn settled(&self) -> (&str, Vec<String>) {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let settled = tools.values().filter(|known| known.was.is_none());
        let names = settled.filter_map(|known| known.json.get("name")?.as_str().map(str::to_owned));
        (&self.server, names.collect())
    }

    /// Learns tools from a list, and escapes the hidden characters in all texts of the list. Removes a tool with
    /// hidden characters in its name: a person could mistake it for a tool that the rules allow.
    pub(crate) fn learn(&self, list: &mut Vec<Value>) -> Result<Vec<ToolWarning>, String> {
        let mut odd = Vec::new();
        let mut found = Vec::new();
        list.retain(|tool| {
            let hides = tool.get("name").and_then(Value::as_str).filter(|name| has_hidden(name));
            odd.extend(hides.map(|name| {
                ToolWarning(format!(
                    "`{}` of `{}` is left out: its name has hidden characters",
                    visible_line(name).text(),
                    self.server
                ))
            }));
            hides.is_none()
        });
        for tool in list.iter_mut() {
            let Some(name) = tool.get("name").and_then(Value::as_str).map(str::to_owned) else {
                return Err("a tool has no name".to_owned());
            };
            // The pin holds the text that the server wrote, even if the client gets it escaped.
            found.push((name.clone(), tool.clone()));
            let escapes = visible::make_visible(tool);
            if escapes > 0 {
                odd.push(ToolWarning(format!(
                    "`{}` of `{}`: {escapes} hidden characters in its definition are shown escaped",
                    escaped(&name),
                    self.server
                )));
            }
        }
        self.has_room(&found)?;
        let changed = self.pins.changed(&found).map_err(|e| e.to_string())?;
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        for (name, json) in found {
            let values = count(&json);
            let was = changed.get(&name).cloned();
            if was.is_some() {
                odd.push(ToolWarning(format!(
                    "`{}` of `{}` changed since it was pinned: askfirst asks before its next call",
                    escaped(&name),
                    self.server
                )));
            }
            let definition = self.definition_of(&name, &json);
            let whole = canonical(&json);
            let digest = Digest::of_parts([definition.name.as_bytes(), whole.as_bytes()]);
            tools.insert(
                definition.name.clone(),
                Arc::new(KnownTool { definition, digest, json, was, values }),
            );
        }
        Ok(odd)
    }

    /// Checks the total size of all tools: a list can have any number of pages.
    fn has_room(&self, found: &[(String, Value)]) -> Result<(), String> {
        let new: BTreeMap<String, usize> =
            found.iter().map(|(name, json)| (self.config_name(name), count(json))).collect();
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let kept = tools.iter().filter(|(name, _)| !new.contains_key(*name)).map(|(_, known)| known.values);
        match kept.chain(new.values().copied()).sum::<usize>() {
            ..=MAX_VALUES => Ok(()),
            _ => Err(format!("all tools together have more than {MAX_VALUES} values")),
        }
    }

    fn definition_of(&self, name: &str, json: &Value) -> ToolDefinition {
        let text = json.get("description").and_then(Value::as_str).unwrap_or_default();
        let schema = json.get("inputSchema").cloned().unwrap_or(Value::Null);
        let mut definition = ToolDefinition::new(self.config_name(name), text, schema);
        // The server's own annotations can raise the risk, never lower it.
        if is_destructive(json) {
            definition.risk = Risk::High;
        }
        definition
    }

    /// The headers that mirror the arguments of a call, as the tool's schema defines them.
    pub(crate) fn args_headers(&self, line: &[u8]) -> HeaderMap {
        #[derive(Deserialize)]
        struct CallMessage {
            params: Params,
        }
        #[derive(Deserialize)]
        struct Params {
            name: String,
            #[serde(default)]
            arguments: Args,
        }
        let Ok(CallMessage { params }) = serde_json::from_slice(line) else { return HeaderMap::new() };
        let known = self.known(&self.config_name(&params.name));
        let schema = known.and_then(|known| known.json.get("inputSchema").cloned());
        schema.map(|schema| mirror::of_args(&schema, &params.arguments)).unwrap_or_default()
    }

    /// Registers a call. Returns `None` if the calls in flight already hold too much.
    pub(crate) fn begin(&self, flight: Arc<Flight>) -> Option<CallId> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        // Only code that holds the lock on `flights` increases it.
        let held = self.held.load(Ordering::Relaxed) + flight.weight();
        if held > MOST_HELD && !flights.is_empty() {
            return None;
        }
        self.held.store(held, Ordering::Relaxed);
        self.since_release.fetch_add(flight.weight(), Ordering::Relaxed);
        let id = next_call_id();
        flights.insert(id, flight);
        Some(id)
    }

    /// Removes a call that has ended.
    pub(crate) fn end(&self, id: CallId) {
        let ended = self.flights.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(flight) = ended {
            self.held.fetch_sub(flight.weight(), Ordering::Relaxed);
        }
    }

    /// Returns the memory of large calls to the system, once no call is in flight. The allocator would keep it. Call this
    /// every few seconds: the audit log may hold a call for a while after its end.
    pub(crate) fn release_memory(&self) {
        if self.held.load(Ordering::Relaxed) > 0 {
            return;
        }
        if self.since_release.load(Ordering::Relaxed) > KEPT {
            self.since_release.store(0, Ordering::Relaxed);
            self.releases.store(RELEASES, Ordering::Relaxed);
        }
        let left = self.releases.load(Ordering::Relaxed);
        if left > 0 {
            self.releases.store(left - 1, Ordering::Relaxed);
            release_free_memory();
        }
    }

    /// Finds an argument that the server could take for another one, which the rules or the tool's schema name.
    fn lookalike<'a>(&'a self, call: &'a ApprovalContext, tool: &'a KnownTool) -> Option<(&'a str, &'a str)> {
        let schema = tool.definition.input_schema.get("properties").and_then(Value::as_object);
        let tested: Vec<&str> = self.policy.tested_fields(&call.tool_name).collect();
        let is_known =
            |key: &str| tested.contains(&key) || schema.is_some_and(|schema| schema.contains_key(key));
        let known = schema.into_iter().flat_map(|schema| schema.keys()).map(String::as_str);
        lookalike(&call.args, is_known, known.chain(tested.iter().copied()))
    }

    fn flight(&self, id: CallId) -> Option<Arc<Flight>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    fn known(&self, name: &str) -> Option<Arc<KnownTool>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Sends a call to the server.
    fn send(&self, invocation: &Invocation) -> Result<Arc<Flight>, ToolError> {
        let flight = self.flight(invocation.call.id);
        let flight =
            flight.ok_or_else(|| ToolError::Failed("the client no longer waits for this call".to_owned()))?;
        let known = self.known(&invocation.call.tool_name);
        let known = known.ok_or_else(|| ToolError::Unknown(invocation.call.tool_name.clone()))?;
        let shown = invocation.basis.as_ref().is_none_or(|basis| *basis == known.basis());
        if invocation.call.definition != Some(known.digest) || !shown {
            return Err(ToolError::Stale("the server changed the definition of the tool".to_owned()));
        }
        if known.was.is_some() {
            let name = known.json.get("name").and_then(Value::as_str).unwrap_or_default();
            self.pins.accept(name, &known.json).map_err(|e| ToolError::Failed(e.to_string()))?;
            let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
            // The server may have sent another definition in the meantime.
            if let Some(now) = tools.get_mut(&invocation.call.tool_name)
                && now.json == known.json
            {
                *now = Arc::new(KnownTool { was: None, ..KnownTool::clone(now) });
            }
        }
        flight.send(&invocation.call.args, invocation.person.notice.clone())?;
        Ok(flight)
    }
}

/// Whether the server itself says that a tool destroys something, whatever else it says.
fn is_destructive(definition: &Value) -> bool {
    let hint = definition.get("annotations").and_then(|all| all.get("destructiveHint"));
    hint.and_then(Value::as_bool) == Some(true)
}

/// Whether a name has characters that a person would not see.
fn has_hidden(name: &str) -> bool {
    name.contains(char::is_control) || visible_line(name).escaped > 0
}

impl Toolset for Upstream {
    fn tools(&self) -> Vec<ToolDefinition> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        tools.values().map(|known| known.definition.clone()).collect()
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.known(name).map(|known| known.definition.clone())
    }

    fn pinned(&self, name: &str) -> Option<DefinitionPin> {
        self.known(name).map(|known| DefinitionPin { digest: known.digest, risk: known.definition.risk })
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let flight = self.send(&invocation)?;
            // The code that delivers the answer polls the call, so no waker is stored.
            std::future::poll_fn(|_| flight.outcome()).await
        })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }
}

impl ApprovalAware for Upstream {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        if let Some(flight) = self.flight(call.id) {
            flight.count_look();
        }
        let Some(known) = self.known(&call.tool_name) else { return Assessment::silent() };
        if let Some((key, other)) = self.lookalike(call, &known) {
            return Assessment::blocked(format!("the argument `{key}` is too similar to `{other}`"));
        }
        let name = known.json.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut facts = vec![Fact::new("server", &self.server), Fact::new("original name", name)];
        if !known.definition.description.is_empty() {
            let first = known.definition.description.lines().next().unwrap_or_default();
            facts.push(Fact::new("description", first));
        }
        let unsettled = known
            .was
            .is_some()
            .then(|| "the server changed this tool since it was pinned: see the diff".to_owned());
        Assessment { facts, unsettled, risk: known.definition.risk, ..Assessment::silent() }
    }

    fn present(&self, call: &ApprovalContext, request: &ApprovalRequest) -> Shown {
        let known = self.known(&call.tool_name);
        let patterns = known.as_ref().map(|known| self.offered(known, call, request)).unwrap_or_default();
        let basis = known.as_ref().map(|known| known.basis());
        let changed = known.as_ref().and_then(|known| Some((known.was.as_ref()?, &known.json)));
        let presentation = changed.map(|(was, now)| {
            let text = |value: &Value| format!("{value:#}\n");
            let diff = similar::TextDiff::from_lines(text(was), text(now))
                .unified_diff()
                .header("pinned", "now")
                .to_string();
            ApprovalPresentation::new(PresentationKind::Diff, diff)
        });
        Shown { presentation, patterns, basis, ..Shown::default() }
    }
}

#[cfg(test)]
#[path = "upstream/tests.rs"]
mod tests;
