//! Messages from the client: the gateway refuses ambiguous ones, checks tool calls, and forwards everything else
//! unchanged.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use askfirst::{ApprovalContext, Args};
use askfirst_display::redact::{Mark, Redactor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::parked::{Home, RepeatedCall};
use super::{Call, ClientRequest, Link, MAX_IN_FLIGHT, Results, refuse};
use crate::elicit::{Offer, is_own, offers};
use crate::http::mirror::{is_stateless, version_of};
use crate::keys::{check_call, check_twins};
use crate::lines::Line;
use crate::message::{self, Fault, Id, Message, Sender, read};
use crate::out::Connection;
use crate::task::Task;
use crate::upstream::Flight;

impl Link {
    /// Handles one message. Fails only if a side can no longer be written to.
    pub(crate) fn from_client(
        self: &Arc<Self>,
        connection: &Connection,
        line: Line<'_>,
    ) -> std::io::Result<()> {
        if line.is_empty() {
            return Ok(());
        }
        if let Some((id, params)) = message::call(&line) {
            return self.begin(connection, id, params, line);
        }
        match read(&line, Sender::Caller) {
            Err(fault) => refuse(&*connection.to_client, fault.id(), fault.code(), &fault.to_string()),
            Ok(message) => self.read_from_client(connection, message, line),
        }
    }

    /// Handles one message that was already parsed.
    pub(crate) fn read_from_client(
        self: &Arc<Self>,
        connection: &Connection,
        message: Message<'_>,
        line: Line<'_>,
    ) -> std::io::Result<()> {
        let to_client = &*connection.to_client;
        match message {
            Message::Response { id: Some(id), result } if self.answers_us(&id, result) => Ok(()),
            Message::Response { id, .. } => {
                let wanted = id.as_ref().is_some_and(|id| self.asked().remove(id));
                if !wanted {
                    self.tell("dropped an answer of the client: the server has no such request");
                    return Ok(());
                }
                connection.to_server.line(&line)
            }
            Message::Request { id, method, .. } if looks_like_a_call(&method) => {
                refuse(to_client, Some(&id), -32601, "unknown method")
            }
            Message::Notification { method, .. } if looks_like_a_call(&method) => Ok(()),
            Message::Notification { method, params } => {
                match &*method {
                    "notifications/cancelled" if self.cancelled(params) => return Ok(()),
                    "tools/call" => return refuse(to_client, None, -32600, "a tool call needs an id"),
                    _ => {}
                }
                connection.to_server.line(&line)
            }
            Message::Request { id, method, params } => {
                if let Err(why) = self.may_begin(&id) {
                    return refuse(to_client, Some(&id), -32600, why);
                }
                let back = Arc::clone(&connection.to_client);
                match &*method {
                    "tools/call" => return self.call_as_written(connection, id, params, line),
                    "tools/list" => self.state().waiting.insert(id, ClientRequest::List(back)),
                    "initialize" => {
                        let hello =
                            params.and_then(|all| askfirst::json::parse_object(all.get().as_bytes()).ok());
                        let hello = hello.unwrap_or_default();
                        let mut state = self.state();
                        state.client = hello.get("clientInfo").map(named);
                        state.can_ask = offers(hello.get("capabilities"));
                        state.waiting.insert(id, ClientRequest::Passed(back))
                    }
                    _ => self.state().waiting.insert(id, ClientRequest::Passed(back)),
                };
                connection.to_server.line(&line)
            }
        }
    }

    /// Whether a message answers an approval request of the gateway.
    fn answers_us(&self, id: &Id, result: Option<&RawValue>) -> bool {
        let result = result.map(|result| result.get().as_bytes());
        self.gateway.elicit.as_ref().is_some_and(|elicit| elicit.answered(id, result))
    }

    /// Allows askfirst to ask the client about its call, if the config names this approver and the client supports it.
    fn offer(&self, tool: &str, args: &Args, meta: Option<&Value>, connection: &Connection) -> Option<Offer> {
        let elicit = self.gateway.elicit.as_ref()?;
        if is_stateless(meta.and_then(version_of)) {
            let said = meta.and_then(|meta| meta.get("io.modelcontextprotocol/clientCapabilities"));
            return offers(said).then(|| elicit.by_result(tool, args));
        }
        let to_client = Arc::clone(&connection.to_client);
        let out = move |line: &[u8]| to_client.note(line).is_ok();
        self.state().can_ask.then(|| elicit.by_request(tool, args, Arc::new(out)))
    }

    fn may_begin(&self, id: &Id) -> Result<(), &'static str> {
        self.make_room();
        let state = self.state();
        if state.waiting.contains_key(id) || super::list::is_own(id) {
            return Err("the id is in use");
        }
        if state.waiting.len() >= MAX_IN_FLIGHT {
            return Err("too many requests wait for an answer");
        }
        Ok(())
    }

    /// Forgets a canceled request without an answer if there are too many requests.
    fn make_room(&self) {
        let old = {
            let mut state = self.state();
            if state.waiting.len() < MAX_IN_FLIGHT { None } else { state.given_up.pop_front() }
        };
        if let Some(id) = old {
            self.fail(&id, "the client canceled it, and the server did not answer");
        }
    }

    /// Handles a call after all of its values were checked.
    fn begin(
        self: &Arc<Self>,
        connection: &Connection,
        id: Id,
        params: Value,
        line: Line<'_>,
    ) -> std::io::Result<()> {
        match self.may_begin(&id) {
            Ok(()) => self.call(connection, id, params, line),
            Err(why) => refuse(&*connection.to_client, Some(&id), -32600, why),
        }
    }

    /// Checks every value of a call, then handles it.
    fn call_as_written(
        self: &Arc<Self>,
        connection: &Connection,
        id: Id,
        params: Option<&RawValue>,
        line: Line<'_>,
    ) -> std::io::Result<()> {
        let Some(params) = params else {
            return refuse(&*connection.to_client, Some(&id), -32602, "a tool call needs `params`");
        };
        match askfirst::json::parse(params.get().as_bytes()) {
            Ok(params) => self.call(connection, id, params, line),
            Err(e) => {
                let fault = Fault::of(e, || Some(id));
                refuse(&*connection.to_client, fault.id(), fault.code(), &fault.to_string())
            }
        }
    }

    /// Runs a call until it has to wait. An allowed call has been sent to the server by then.
    fn call(
        self: &Arc<Self>,
        connection: &Connection,
        id: Id,
        params: Value,
        line: Line<'_>,
    ) -> std::io::Result<()> {
        let CallParams { name, args, progress, meta, again } = match call_params(params) {
            Ok(wanted) => wanted,
            Err(why) => {
                let why = Redactor::default().text(&why, Mark::Record).left;
                return refuse(&*connection.to_client, Some(&id), -32602, &why);
            }
        };
        let tool = self.gateway.upstream.config_name(&name);
        if let Some((handle, answers)) = &again {
            let again = RepeatedCall { handle, tool: &tool, args: &args, meta: meta.as_ref(), answers };
            return self.take_up(connection, &id, &again);
        }
        let to_server = Arc::clone(&connection.to_server);
        let flight = Arc::new(Flight::new(line.keep(), &args, Arc::clone(&to_server)));
        let Some(call_id) = self.gateway.upstream.begin(Arc::clone(&flight)) else {
            return refuse(
                &*connection.to_client,
                Some(&id),
                -32600,
                "the calls in flight use too much memory",
            );
        };
        let mut offer = self.offer(&tool, &args, meta.as_ref(), connection);
        let asked = offer.is_some().then(|| (tool.clone(), args.clone()));
        let mut context = ApprovalContext { id: call_id, ..ApprovalContext::new(tool, args) }
            .with_metadata("mcp_request", self.key(&id))
            .with_metadata("mcp_tool", name.as_str());
        let version = meta.as_ref().and_then(version_of);
        let client = meta.as_ref().and_then(client_of_meta).or_else(|| self.state().client.clone());
        if let Some(client) = client {
            context = context.with_metadata("caller", client.as_str());
        }
        let (home, sent) = (Home::new(self, &id), Arc::clone(&flight));
        let call = Call {
            flight,
            id: call_id,
            home: Arc::clone(&home),
            task: Mutex::default(),
            to_client: Arc::clone(&connection.to_client),
            progress,
            results: if is_stateless(version) { Results::Typed } else { Results::Plain },
        };
        let call = Arc::new(call);
        let link = Arc::downgrade(self);
        let running = async move {
            let Some(link) = link.upgrade() else { return };
            let mut held = link.needs_list(&name, &to_server, meta.as_ref()).then(|| link.hold());
            if held.is_some() {
                link.listed().await;
            }
            let mut calling = std::pin::pin!(link.gateway.tools.call(context));
            let outcome = std::future::poll_fn(|context| {
                let polled = calling.as_mut().poll(context);
                held = None;
                while let (Poll::Pending, Some(handed), Some((tool, args))) = (&polled, &mut offer, &asked)
                    && let Poll::Ready(carried) = handed.poll_handed(context)
                {
                    Link::park(&home, tool, args, carried);
                    // The next approval request about the call needs another result.
                    offer = link.gateway.elicit.as_ref().map(|elicit| elicit.by_result(tool, args));
                }
                polled
            });
            let outcome = outcome.await;
            let gateway = Arc::clone(&link.gateway);
            if asked.is_some() {
                gateway.parked.over(call_id);
            }
            // The client may reuse the id after the answer.
            gateway.upstream.end(call_id);
            if let Some((link, id)) = home.now() {
                link.finish(&id, &sent, outcome);
            }
        };
        let task = Task::new(running, self.gateway.queue.clone());
        *call.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&task));
        self.state().waiting.insert(id, ClientRequest::Call(call));
        task.drive();
        Ok(())
    }

    /// Handles a cancellation. Returns true if the call was not sent yet: then the approval request is withdrawn, and
    /// the server gets neither message.
    fn cancelled(&self, params: Option<&RawValue>) -> bool {
        let params = params.and_then(|params| askfirst::json::parse_object(params.get().as_bytes()).ok());
        let id = params.and_then(|params| match params.get("requestId")? {
            Value::Number(number) => number.as_i64().map(Id::Number),
            Value::String(text) => Some(Id::Text(text.clone())),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        });
        let Some(id) = id else { return false };
        if self.withdraw(&id) {
            return true;
        }
        let mut state = self.state();
        let flight = match state.waiting.get(&id) {
            Some(ClientRequest::Call(call)) => Some(Arc::clone(&call.flight)),
            Some(ClientRequest::Passed(_) | ClientRequest::List(_)) | None => None,
        };
        if state.waiting.contains_key(&id) && !state.given_up.contains(&id) {
            state.given_up.push_back(id);
        }
        drop(state);
        // The server must get the call before its cancellation.
        if let Some(flight) = flight {
            flight.written();
        }
        false
    }
}

/// Whether a method is not `tools/call`, but a server might treat it as a tool call.
fn looks_like_a_call(method: &str) -> bool {
    let plain = method.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_.$-".contains(&byte));
    let folded = method.to_ascii_lowercase();
    !plain || (method != "tools/call" && folded.contains("tool") && folded.contains("call"))
}

struct CallParams {
    name: String,
    args: Args,
    progress: Option<Value>,
    meta: Option<Value>,
    /// Our handle, and the answers that came with it.
    again: Option<(String, BTreeMap<String, Value>)>,
}

/// Reads the parameters of a call strictly.
fn call_params(params: Value) -> Result<CallParams, String> {
    let Value::Object(mut params) = params else { return Err("`params` must be an object".to_owned()) };
    check_call(&params)?;
    let meta = params.remove("_meta");
    let progress = meta.as_ref().and_then(|meta| meta.get("progressToken")).cloned();
    let name = match params.remove("name") {
        Some(Value::String(name)) => name,
        Some(_) | None => return Err("`name` must be a string".to_owned()),
    };
    let args = match params.remove("arguments") {
        None => Args::new(),
        Some(Value::Object(args)) => args,
        Some(_) => return Err("`arguments` must be an object".to_owned()),
    };
    check_twins(&args)?;
    let again = match (params.remove("requestState"), params.remove("inputResponses")) {
        (Some(Value::String(handle)), answers) if is_own(&handle) => {
            let answers = match answers {
                Some(Value::Object(answers)) => answers.into_iter().collect(),
                Some(_) | None => BTreeMap::new(),
            };
            Some((handle, answers))
        }
        (Some(_) | None, _) => None,
    };
    Ok(CallParams { name, args, progress, meta, again })
}

/// The name of the client. Newer clients send it with every request.
fn client_of_meta(meta: &Value) -> Option<String> {
    Some(named(meta.get("io.modelcontextprotocol/clientInfo")?))
}

fn named(info: &Value) -> String {
    let text = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("name"), text("version")).trim().to_owned()
}
