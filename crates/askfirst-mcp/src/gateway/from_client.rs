//! What the client sends: refused if it can be read in two ways, judged if it calls a tool, else passed on as it came.

use std::sync::{Arc, Mutex, PoisonError};

use askfirst::{ApprovalContext, Args};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Call, Link, MAX_IN_FLIGHT, Results, Waiting, refuse};
use crate::http::mirror::{is_stateless, version_of};
use crate::message::{From, Id, Message, read};
use crate::out::Ways;
use crate::task::Task;
use crate::upstream::{FLIGHT, Flight};

/// The keys that the parameters of a call may have, besides what a newer revision adds under other names.
const CALL_KEYS: [&str; 3] = ["name", "arguments", "_meta"];

impl Link {
    /// Takes one message. Fails only if one of the sides cannot be written any more.
    pub(crate) fn from_client(self: &Arc<Self>, ways: &Ways, line: &[u8]) -> std::io::Result<()> {
        if line.is_empty() {
            return Ok(());
        }
        match read(line, From::Client) {
            Err(fault) => refuse(&*ways.to_client, None, fault.code(), &fault.to_string()),
            Ok(message) => self.read_from_client(ways, message, line),
        }
    }

    /// Takes one message that has been read.
    pub(crate) fn read_from_client(
        self: &Arc<Self>,
        ways: &Ways,
        message: Message<'_>,
        line: &[u8],
    ) -> std::io::Result<()> {
        let to_client = &*ways.to_client;
        match message {
            Message::Response { id: Some(id), result } if self.answers_us(&id, result) => Ok(()),
            Message::Response { id, .. } => {
                let wanted = id.as_ref().is_some_and(|id| self.asked().remove(id));
                if !wanted {
                    self.tell("the client answered what the server did not ask: dropped");
                    return Ok(());
                }
                ways.to_server.line(line)
            }
            Message::Request { id, method, .. } if looks_like_a_call(&method) => {
                refuse(to_client, Some(&id), -32601, "there is no such method")
            }
            Message::Notification { method, .. } if looks_like_a_call(&method) => Ok(()),
            Message::Notification { method, params } => {
                match &*method {
                    "notifications/cancelled" if self.cancelled(params) => return Ok(()),
                    "tools/call" => return refuse(to_client, None, -32600, "a tool call needs an id"),
                    _ => {}
                }
                ways.to_server.line(line)
            }
            Message::Request { id, method, params } => {
                if let Err(why) = self.may_begin(&id) {
                    return refuse(to_client, Some(&id), -32600, why);
                }
                let back = Arc::clone(&ways.to_client);
                match &*method {
                    "tools/call" => return self.call(ways, id, params, line),
                    "tools/list" => self.state().waiting.insert(id, Waiting::List(back)),
                    "initialize" => {
                        self.client_came(params, ways);
                        let mut state = self.state();
                        state.client = params.and_then(client_name);
                        state.waiting.insert(id, Waiting::Passed(back))
                    }
                    _ => self.state().waiting.insert(id, Waiting::Passed(back)),
                };
                ways.to_server.line(line)
            }
        }
    }

    /// Whether it answers a question of the gateway's own.
    fn answers_us(&self, id: &Id, result: Option<&RawValue>) -> bool {
        let result = result.map(|result| result.get().as_bytes());
        self.gateway.elicit.as_ref().is_some_and(|elicit| elicit.answered(id, result))
    }

    /// A client that offers to ask is asked from now on, where it is one of the ways.
    fn client_came(&self, params: Option<&RawValue>, ways: &Ways) {
        let Some(elicit) = &self.gateway.elicit else { return };
        let params = params.and_then(|params| askfirst::json::parse_object(params.get().as_bytes()).ok());
        let to_client = Arc::clone(&ways.to_client);
        let out = move |line: &[u8]| to_client.line(line).is_ok();
        elicit.client_came(&params.unwrap_or_default(), Arc::new(out));
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

    /// Requests that were given up are waited for only as long as there is room.
    fn make_room(&self) {
        let old = {
            let mut state = self.state();
            if state.waiting.len() < MAX_IN_FLIGHT { None } else { state.given_up.pop_front() }
        };
        if let Some(id) = old {
            self.fail(&id, "the client gave it up, and no answer came");
        }
    }

    /// Takes a call as far as it goes without waiting: an allowed one is on its way to the server then.
    fn call(
        self: &Arc<Self>,
        ways: &Ways,
        id: Id,
        params: Option<&RawValue>,
        line: &[u8],
    ) -> std::io::Result<()> {
        let parsed = params.map_or_else(
            || Err("a tool call needs `params`".to_owned()),
            |params| wanted(params.get().as_bytes()),
        );
        let Wanted { name, args, progress, meta } = match parsed {
            Ok(wanted) => wanted,
            Err(why) => return refuse(&*ways.to_client, Some(&id), -32602, &why),
        };
        let key = self.key(&id);
        let to_server = Arc::clone(&ways.to_server);
        let flight = Arc::new(Flight::new(line.to_vec(), args.clone(), Arc::clone(&to_server)));
        let mut context = ApprovalContext::new(self.gateway.upstream.config_name(&name), args)
            .with_metadata(FLIGHT, key.as_str())
            .with_metadata("mcp_tool", name.as_str());
        let version = meta.as_ref().and_then(version_of);
        let client = meta.as_ref().and_then(client_of_meta).or_else(|| self.state().client.clone());
        if let Some(client) = client {
            context = context.with_metadata("caller", client.as_str());
        }
        self.gateway.upstream.begin(&key, Arc::clone(&flight));
        let call = Call {
            flight,
            key: key.clone(),
            task: Mutex::default(),
            to_client: Arc::clone(&ways.to_client),
            progress,
            results: if is_stateless(version) { Results::Typed } else { Results::Plain },
        };
        let call = Arc::new(call);
        let (link, of) = (Arc::downgrade(self), id.clone());
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
                polled
            });
            let outcome = outcome.await;
            link.finish(&of, outcome);
            link.gateway.upstream.end(&key);
        };
        let task = Task::new(running, self.gateway.queue.clone());
        *call.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&task));
        self.state().waiting.insert(id, Waiting::Call(call));
        task.drive();
        Ok(())
    }

    /// Whether a cancellation was for a call that has not been sent: then the question is withdrawn, and the server
    /// never hears of either.
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
        if state.waiting.contains_key(&id) && state.given_up.len() < MAX_IN_FLIGHT {
            state.given_up.push_back(id);
        }
        false
    }
}

/// Whether a method is not the call of a tool, but some server might take it for one.
fn looks_like_a_call(method: &str) -> bool {
    let plain = method.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_.$-".contains(&byte));
    !plain || (method != "tools/call" && method.eq_ignore_ascii_case("tools/call"))
}

struct Wanted {
    name: String,
    args: Args,
    progress: Option<Value>,
    meta: Option<Value>,
}

/// The parameters of a call, read in the one way that they can be.
fn wanted(params: &[u8]) -> Result<Wanted, String> {
    let mut params = askfirst::json::parse_object(params).map_err(|e| e.to_string())?;
    let folded = |key: &&String| {
        CALL_KEYS.iter().any(|known| key.as_str() != *known && key.eq_ignore_ascii_case(known))
    };
    if let Some(key) = params.keys().find(folded) {
        return Err(format!("`{key}` looks like another key"));
    }
    let meta = params.remove("_meta");
    let progress = meta.as_ref().and_then(|meta| meta.get("progressToken")).cloned();
    let name = match params.remove("name") {
        Some(Value::String(name)) => name,
        Some(_) | None => return Err("`name` must be a text".to_owned()),
    };
    let args = match params.remove("arguments") {
        None => Args::new(),
        Some(Value::Object(args)) => args,
        Some(_) => return Err("`arguments` must be an object".to_owned()),
    };
    Ok(Wanted { name, args, progress, meta })
}

fn client_name(params: &RawValue) -> Option<String> {
    let params = askfirst::json::parse_object(params.get().as_bytes()).ok()?;
    Some(named(params.get("clientInfo")?))
}

/// Newer clients say with every request who they are.
fn client_of_meta(meta: &Value) -> Option<String> {
    Some(named(meta.get("io.modelcontextprotocol/clientInfo")?))
}

fn named(info: &Value) -> String {
    let text = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("name"), text("version")).trim().to_owned()
}
