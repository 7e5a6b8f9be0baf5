//! What the server sends: answers go to whoever asked, lists of tools are learned from, the rest passes as it came.

use std::sync::{Arc, PoisonError};

use askfirst::{ApprovalContext, Args, Assessment, Verdict, judge};
use serde_json::Value;

use super::{Gateway, Waiting};
use crate::message::{From, Id, Message, read};

impl Gateway {
    /// Takes one line. Fails only if one of the sides cannot be written any more.
    pub(crate) fn from_server(self: &Arc<Self>, line: &[u8]) -> std::io::Result<()> {
        if line.is_empty() {
            return Ok(());
        }
        match read(line, From::Server) {
            Err(fault) => {
                (self.tell)(&format!("the server sent what is no message: dropped ({fault})"));
                Ok(())
            }
            Ok(Message::Notification { method, .. }) => {
                if method == "notifications/tools/list_changed" {
                    self.list_is_stale();
                }
                self.to_client.line(line)
            }
            Ok(Message::Request { id, .. }) => {
                self.state().asked_by_server.insert(id);
                self.to_client.line(line)
            }
            Ok(Message::Response { id: None, .. }) => self.to_client.line(line),
            Ok(Message::Response { id: Some(id), result }) => {
                let result = result.map(|result| result.get().as_bytes());
                self.answered(&id, result, line)
            }
        }
    }

    fn answered(self: &Arc<Self>, id: &Id, result: Option<&[u8]>, line: &[u8]) -> std::io::Result<()> {
        if super::list::is_own(id) {
            return self.own_list(id, result);
        }
        let call = {
            let mut state = self.state();
            match state.waiting.get(id) {
                Some(Waiting::Call(call)) if call.flight.is_sent() => Arc::clone(call),
                Some(Waiting::Passed) => {
                    state.waiting.remove(id);
                    drop(state);
                    return self.to_client.line(line);
                }
                Some(Waiting::List) => {
                    state.waiting.remove(id);
                    drop(state);
                    return self.client_list(result, line);
                }
                // A call that still waits for a person has no answer: the server was not even sent it.
                Some(Waiting::Call(_)) | None => {
                    drop(state);
                    (self.tell)("the server answered what was not asked: dropped");
                    return Ok(());
                }
            }
        };
        call.flight.answer(line.to_vec());
        let task = call.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.drive();
        }
        Ok(())
    }

    /// A list that the client asked for: learned from, and passed on as it came unless something must not be seen so.
    fn client_list(&self, result: Option<&[u8]>, line: &[u8]) -> std::io::Result<()> {
        let Some(result) = result else { return self.to_client.line(line) };
        let Ok(mut message) = askfirst::json::parse_object(line) else {
            (self.tell)("the server's list of tools cannot be read in one way: dropped");
            return self.to_client.line(&emptied(line, result));
        };
        let tools = message.get_mut("result").and_then(|result| result.get_mut("tools"));
        let Some(tools) = tools.and_then(Value::as_array_mut) else { return self.to_client.line(line) };
        let count = tools.len();
        match self.upstream.learn(tools) {
            Err(why) => {
                (self.tell)(&format!("the server's tools cannot be offered: {why}"));
                tools.clear();
            }
            Ok(odd) => {
                odd.iter().for_each(|oddity| (self.tell)(&oddity.0));
                if self.hide_denied {
                    tools.retain(|tool| !self.is_denied(tool));
                }
                if odd.is_empty() && tools.len() == count {
                    return self.to_client.line(line);
                }
            }
        }
        self.to_client.line(Value::Object(message).to_string().as_bytes())
    }

    fn is_denied(&self, tool: &Value) -> bool {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let call = ApprovalContext::new(self.upstream.config_name(name), Args::new());
        judge(&call, &Assessment::silent(), self.tools.policy()).verdict() == Verdict::Deny
    }
}

/// An error in place of a list that cannot be read in one way.
fn emptied(line: &[u8], _: &[u8]) -> Vec<u8> {
    let id = match read(line, From::Server) {
        Ok(Message::Response { id: Some(id), .. }) => id.json(),
        Ok(_) | Err(_) => Value::Null,
    };
    let error = serde_json::json!({"code": -32603, "message": "the server's list of tools cannot be read"});
    serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string().into_bytes()
}
