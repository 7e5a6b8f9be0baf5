//! What the client sends: refused if it can be read in two ways, judged if it calls a tool, else passed on as it came.

use std::sync::{Arc, Mutex};

use askfirst::{ApprovalContext, Args};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Call, Gateway, MAX_IN_FLIGHT, Waiting};
use crate::message::{From, Id, Message, read};
use crate::task::Task;
use crate::upstream::{FLIGHT, Flight};

/// The keys that the parameters of a call may have, besides what a newer revision adds under other names.
const CALL_KEYS: [&str; 3] = ["name", "arguments", "_meta"];

impl Gateway {
    /// Takes one line. Fails only if one of the sides cannot be written any more.
    pub(crate) fn from_client(self: &Arc<Self>, line: &[u8]) -> std::io::Result<()> {
        if line.is_empty() {
            return Ok(());
        }
        match read(line, From::Client) {
            Err(fault) => self.refuse_message(None, fault.code(), &fault.to_string()),
            Ok(Message::Response { id, .. }) => {
                let wanted = id.as_ref().is_some_and(|id| self.state().asked_by_server.remove(id));
                if !wanted {
                    (self.tell)("the client answered what the server did not ask: dropped");
                    return Ok(());
                }
                self.to_server.line(line)
            }
            Ok(Message::Request { id, method, .. }) if looks_like_a_call(&method) => {
                self.refuse_message(Some(&id), -32601, "there is no such method")
            }
            Ok(Message::Notification { method, .. }) if looks_like_a_call(&method) => Ok(()),
            Ok(Message::Notification { method, params }) => {
                match &*method {
                    "notifications/cancelled" if self.cancelled(params) => return Ok(()),
                    "tools/call" => return self.refuse_message(None, -32600, "a tool call needs an id"),
                    _ => {}
                }
                self.to_server.line(line)
            }
            Ok(Message::Request { id, method, params }) => {
                if let Err(why) = self.may_begin(&id) {
                    return self.refuse_message(Some(&id), -32600, why);
                }
                match &*method {
                    "tools/call" => return self.call(id, params, line),
                    "tools/list" => self.state().waiting.insert(id, Waiting::List),
                    "initialize" => {
                        self.state().client = params.and_then(client_name);
                        self.state().waiting.insert(id, Waiting::Passed)
                    }
                    _ => self.state().waiting.insert(id, Waiting::Passed),
                };
                self.to_server.line(line)
            }
        }
    }

    fn may_begin(&self, id: &Id) -> Result<(), &'static str> {
        let state = self.state();
        if state.waiting.contains_key(id) || super::list::is_own(id) {
            return Err("the id is in use");
        }
        if state.waiting.len() >= MAX_IN_FLIGHT {
            return Err("too many requests wait for an answer");
        }
        Ok(())
    }

    /// Takes a call as far as it goes without waiting: an allowed one is on its way to the server then.
    fn call(self: &Arc<Self>, id: Id, params: Option<&RawValue>, line: &[u8]) -> std::io::Result<()> {
        let parsed = params.map_or_else(
            || Err("a tool call needs `params`".to_owned()),
            |params| wanted(params.get().as_bytes()),
        );
        let Wanted { name, args, progress } = match parsed {
            Ok(wanted) => wanted,
            Err(why) => return self.refuse_message(Some(&id), -32602, &why),
        };
        let key = id.json().to_string();
        let flight = Arc::new(Flight::new(line.to_vec(), args.clone()));
        let mut context = ApprovalContext::new(self.upstream.config_name(&name), args)
            .with_metadata(FLIGHT, key.as_str())
            .with_metadata("mcp_tool", name.as_str());
        if let Some(client) = &self.state().client {
            context = context.with_metadata("caller", client.as_str());
        }
        self.upstream.begin(&key, Arc::clone(&flight));
        let (gateway, of) = (Arc::downgrade(self), id.clone());
        let task = Task::new(
            async move {
                let Some(gateway) = gateway.upgrade() else { return };
                let held = gateway.needs_list(&name).then(|| gateway.hold());
                if held.is_some() {
                    gateway.listed().await;
                }
                let mut calling = std::pin::pin!(gateway.tools.call(context));
                let mut held = held;
                let outcome = std::future::poll_fn(|context| {
                    let polled = calling.as_mut().poll(context);
                    held = None;
                    polled
                });
                let outcome = outcome.await;
                gateway.finish(&of, outcome);
                gateway.upstream.end(&key);
            },
            self.queue(),
        );
        let call = Call { flight, task: Mutex::new(Some(Arc::clone(&task))), progress };
        self.state().waiting.insert(id, Waiting::Call(Arc::new(call)));
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
        let call = {
            let mut state = self.state();
            match state.waiting.get(&id) {
                Some(Waiting::Call(call)) if !call.flight.is_sent() => {
                    let call = Arc::clone(call);
                    state.waiting.remove(&id);
                    call
                }
                Some(Waiting::Call(_) | Waiting::Passed | Waiting::List) | None => return false,
            }
        };
        call.give_up();
        self.upstream.end(&id.json().to_string());
        true
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
    let progress = params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
    let name = match params.remove("name") {
        Some(Value::String(name)) => name,
        Some(_) | None => return Err("`name` must be a text".to_owned()),
    };
    let args = match params.remove("arguments") {
        None => Args::new(),
        Some(Value::Object(args)) => args,
        Some(_) => return Err("`arguments` must be an object".to_owned()),
    };
    Ok(Wanted { name, args, progress })
}

fn client_name(params: &RawValue) -> Option<String> {
    let params = askfirst::json::parse_object(params.get().as_bytes()).ok()?;
    let info = params.get("clientInfo")?;
    let text = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(format!("{} {}", text("name"), text("version")).trim().to_owned())
}
