//! Messages from the server: the gateway routes answers, learns from lists of tools, and forwards everything else
//! unchanged.

use std::sync::Arc;

use askfirst::{ApprovalContext, Args, Assessment, Verdict, judge};
use askfirst_display::escape::escaped;
use serde_json::Value;

use super::{ClientRequest, Link, MAX_IN_FLIGHT};
use crate::lines::Line;
use crate::message::{Id, Message, Sender, read};
use crate::out::{Connection, LineSink};
use crate::upstream::CallStatus;

/// The number of tool names in a refusal.
const MAX_NAMED: usize = 20;

/// The destination of a message from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The client gets the message, or its replacement, on the stream on which it came.
    Passed,
    /// The message went to another stream, or was dropped.
    Withheld,
}

impl Link {
    /// Handles one message. Fails only if a side can no longer be written to.
    pub(crate) fn from_server(
        self: &Arc<Self>,
        connection: &Connection,
        line: Line<'_>,
    ) -> std::io::Result<Delivery> {
        if line.is_empty() {
            return Ok(Delivery::Withheld);
        }
        let pass = || connection.to_client.line(&line).map(|()| Delivery::Passed);
        match read(&line, Sender::Server) {
            Err(fault) => {
                self.tell(&format!("dropped an invalid message of the server: {fault}"));
                Ok(Delivery::Withheld)
            }
            Ok(Message::Notification { method, .. }) => {
                if method == "notifications/tools/list_changed" {
                    self.gateway.lists.are_stale();
                }
                pass()
            }
            Ok(Message::Request { id, .. }) if super::is_own(&id) => {
                self.tell("dropped a request of the server: its id is reserved");
                Ok(Delivery::Withheld)
            }
            Ok(Message::Request { id, .. }) => {
                {
                    let mut asked = self.asked();
                    if asked.len() >= MAX_IN_FLIGHT {
                        drop(asked);
                        self.tell("dropped a request of the server: too many wait for the client");
                        return Ok(Delivery::Withheld);
                    }
                    asked.insert(id);
                }
                pass()
            }
            Ok(Message::Response { id: None, .. }) => pass(),
            Ok(Message::Response { id: Some(id), result }) => {
                let result = result.map(|result| result.get().as_bytes());
                self.answered(connection, &id, result, line)
            }
        }
    }

    fn answered(
        self: &Arc<Self>,
        connection: &Connection,
        id: &Id,
        result: Option<&[u8]>,
        line: Line<'_>,
    ) -> std::io::Result<Delivery> {
        if super::list::is_own(id) {
            self.own_list(&connection.to_server, id, result);
            return Ok(Delivery::Withheld);
        }
        let call = {
            let mut state = self.state();
            match state.waiting.get(id) {
                Some(ClientRequest::Call(call)) if call.flight.is_sent() => Arc::clone(call),
                Some(ClientRequest::Passed(_) | ClientRequest::List(_)) => {
                    let waiting = state.take(id);
                    drop(state);
                    let (to_client, line) = match waiting {
                        Some(ClientRequest::List(to_client)) => (to_client, self.client_list(result, &line)),
                        Some(ClientRequest::Passed(to_client)) => (to_client, line.to_vec()),
                        Some(ClientRequest::Call(_)) | None => return Ok(Delivery::Withheld),
                    };
                    if elsewhere(&to_client, connection) && to_client.line(&line).is_ok() {
                        return Ok(Delivery::Withheld);
                    }
                    // A client that reconnected reads on its new stream.
                    return connection.to_client.line(&line).map(|()| Delivery::Passed);
                }
                // A call that still waits for approval was not sent, so it cannot have an answer.
                Some(ClientRequest::Call(_)) | None => {
                    drop(state);
                    self.tell("dropped an answer of the server: there is no such request");
                    return Ok(Delivery::Withheld);
                }
            }
        };
        let took = if elsewhere(&call.to_client, connection) { Delivery::Withheld } else { Delivery::Passed };
        call.flight.answer(line.keep(), CallStatus::of(result), Arc::clone(&connection.to_client));
        call.drive();
        Ok(took)
    }

    /// Learns from a list that the client requested. Forwards it unchanged unless a tool must be escaped or removed.
    fn client_list(&self, result: Option<&[u8]>, line: &[u8]) -> Vec<u8> {
        if result.is_none() {
            return line.to_vec();
        }
        let mut message = match askfirst::json::parse_object(line) {
            Ok(message) => message,
            Err(why) => {
                self.tell(&format!("refused the server's list of tools: {why}"));
                return emptied(line);
            }
        };
        let tools = message.get_mut("result").and_then(|result| result.get_mut("tools"));
        let Some(tools) = tools.and_then(Value::as_array_mut) else { return line.to_vec() };
        let count = tools.len();
        match self.gateway.upstream.learn(tools) {
            Err(why) => {
                self.tell(&format!("cannot offer the server's tools: {why}"));
                tools.clear();
            }
            Ok(odd) => {
                odd.iter().for_each(|oddity| self.tell(&oddity.0));
                if self.gateway.hide_denied {
                    tools.retain(|tool| !self.is_denied(tool));
                }
                if odd.is_empty() && tools.len() == count {
                    return line.to_vec();
                }
            }
        }
        Value::Object(message).to_string().into_bytes()
    }

    fn is_denied(&self, tool: &Value) -> bool {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        self.verdict(name) == Verdict::Deny
    }

    /// The verdict of the config on a tool, without its arguments.
    fn verdict(&self, tool: &str) -> Verdict {
        let call = ApprovalContext::new(self.gateway.upstream.config_name(tool), Args::new());
        judge(&call, &Assessment::silent(), self.gateway.tools.policy()).verdict()
    }

    /// The tools that run without asking, in one line for a refused agent.
    pub(crate) fn allowed(&self) -> String {
        let (server, settled) = self.gateway.upstream.settled();
        if settled.is_empty() {
            return format!("`{server}` has listed no tools");
        }
        let free: Vec<String> = settled
            .iter()
            .filter(|tool| self.verdict(tool) == Verdict::Allow)
            .map(|tool| format!("`{}`", escaped(tool)))
            .collect();
        let (shown, more) = free.split_at(free.len().min(MAX_NAMED));
        match (shown, more.len()) {
            ([], _) => format!("no tool of `{server}` runs without asking"),
            (shown, 0) => format!("these tools of `{server}` run without asking: {}", shown.join(", ")),
            (shown, more) => {
                format!("these tools of `{server}` run without asking: {} and {more} more", shown.join(", "))
            }
        }
    }
}

/// Whether the sender of the request reads on another stream than the one on which the answer came.
fn elsewhere(to_client: &Arc<dyn LineSink>, connection: &Connection) -> bool {
    to_client.is_open() && !Arc::ptr_eq(to_client, &connection.to_client)
}

/// Builds an error instead of a list that was refused.
fn emptied(line: &[u8]) -> Vec<u8> {
    let id = match read(line, Sender::Server) {
        Ok(Message::Response { id, .. }) => id,
        Ok(_) | Err(_) => None,
    };
    super::error(id.as_ref(), -32603, "invalid list of tools from the server")
}
