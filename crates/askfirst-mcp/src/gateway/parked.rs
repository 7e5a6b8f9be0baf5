//! Calls that wait for their client to return with an answer. The client got the approval request as a result, and
//! repeats the call. Each call has a handle that no one can guess, and only the same call can use it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use askfirst::{Args, CallId};
use serde_json::{Value, json};

use super::{Call, ClientRequest, Link, refuse};
use crate::elicit::{CarriedRequest, INPUT};
use crate::message::Id;
use crate::out::Connection;

/// The current connection and request of a call.
pub(crate) struct Home(Mutex<(Weak<Link>, Id)>);

impl Home {
    pub(crate) fn new(link: &Arc<Link>, id: &Id) -> Arc<Self> {
        Arc::new(Self(Mutex::new((Arc::downgrade(link), id.clone()))))
    }

    /// The connection and the request, or `None` if the connection has ended.
    pub(crate) fn now(&self) -> Option<(Arc<Link>, Id)> {
        let home = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some((home.0.upgrade()?, home.1.clone()))
    }

    fn move_to(&self, link: &Arc<Link>, id: &Id) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (Arc::downgrade(link), id.clone());
    }
}

/// All calls of a gateway that wait for their clients.
#[derive(Default)]
pub(crate) struct ParkedCalls(Mutex<HashMap<String, ParkedCall>>);

struct ParkedCall {
    /// The connection on which the client made the call.
    link: u64,
    tool: String,
    args: Args,
    call: Arc<Call>,
}

impl ParkedCalls {
    fn all(&self) -> MutexGuard<'_, HashMap<String, ParkedCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a call that has ended.
    pub(crate) fn over(&self, id: CallId) {
        self.all().retain(|_, left| left.call.id != id);
    }

    /// Removes and returns the calls of a connection that ends.
    pub(crate) fn of(&self, link: u64) -> Vec<Arc<Call>> {
        self.all().extract_if(|_, left| left.link == link).map(|(_, left)| left.call).collect()
    }

    /// Takes the call that belongs to a handle. A call with another tool or other arguments gets an error.
    fn take(&self, handle: &str, tool: &str, args: &Args) -> Result<Arc<Call>, Option<Arc<Call>>> {
        let left = self.all().remove(handle).ok_or(None)?;
        if left.tool == tool && left.args == *args { Ok(left.call) } else { Err(Some(left.call)) }
    }
}

/// A call that the client repeats with its answer.
pub(crate) struct RepeatedCall<'a> {
    pub(crate) handle: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) args: &'a Args,
    pub(crate) meta: Option<&'a Value>,
    pub(crate) answers: &'a BTreeMap<String, Value>,
}

impl Link {
    /// Sends an approval request as the result of a call. The call keeps waiting, so that it can time out.
    pub(crate) fn park(home: &Home, tool: &str, args: &Args, carried: CarriedRequest) {
        let CarriedRequest { handle, params } = carried;
        let Some((link, id)) = home.now() else { return };
        let Some(ClientRequest::Call(call)) = link.state().take(&id) else { return };
        let question = json!({INPUT: {"method": "elicitation/create", "params": params}});
        let result =
            json!({"resultType": "input_required", "inputRequests": question, "requestState": handle});
        let left = ParkedCall {
            link: link.number,
            tool: tool.to_owned(),
            args: args.clone(),
            call: Arc::clone(&call),
        };
        link.gateway.parked.all().insert(handle, left);
        let line = json!({"jsonrpc": "2.0", "id": id.json(), "result": result}).to_string();
        // If the client is gone, it does not return and the call times out.
        let _ = call.to_client.line(line.as_bytes());
    }

    /// Continues a parked call with the client's answer.
    pub(crate) fn take_up(
        self: &Arc<Self>,
        connection: &Connection,
        id: &Id,
        again: &RepeatedCall<'_>,
    ) -> std::io::Result<()> {
        let refused = |call: Option<Arc<Call>>| {
            if let Some(call) = call {
                self.gateway.give_up(&call);
            }
            refuse(&*connection.to_client, Some(id), -32602, "no call waits for this answer")
        };
        let Some(elicit) = &self.gateway.elicit else { return refused(None) };
        let call = match self.gateway.parked.take(again.handle, again.tool, again.args) {
            Ok(call) => call,
            Err(other) => return refused(other),
        };
        if !call.flight.again(id, again.meta, Arc::clone(&connection.to_server)) {
            return refused(Some(call));
        }
        let progress = again.meta.and_then(|meta| meta.get("progressToken")).cloned();
        let task = call.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let here = Arc::new(Call {
            flight: Arc::clone(&call.flight),
            id: call.id,
            home: Arc::clone(&call.home),
            task: Mutex::new(task),
            to_client: Arc::clone(&connection.to_client),
            progress,
            results: call.results,
        });
        call.home.move_to(self, id);
        self.state().waiting.insert(id.clone(), ClientRequest::Call(Arc::clone(&here)));
        if elicit.carried_back(again.handle, again.answers) {
            return Ok(());
        }
        // The approval request has ended, and so has the call.
        match self.state().take(id) {
            Some(_) => refused(Some(here)),
            None => Ok(()),
        }
    }
}
