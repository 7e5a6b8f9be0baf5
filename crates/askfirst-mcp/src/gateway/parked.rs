//! Calls that wait for their client to come back with an answer: it was given the question as a result, and makes the
//! same call again. Each is found by a handle that nobody can guess, and only by the call that it belongs to.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use askfirst::{Args, CallId};
use serde_json::{Value, json};

use super::{Call, Link, Waiting, refuse};
use crate::elicit::{Carried, INPUT};
use crate::message::Id;
use crate::out::Ways;

/// Where a call is waited for at this moment: the conversation and the request.
pub(crate) struct Home(Mutex<(Weak<Link>, Id)>);

impl Home {
    pub(crate) fn new(link: &Arc<Link>, id: &Id) -> Arc<Self> {
        Arc::new(Self(Mutex::new((Arc::downgrade(link), id.clone()))))
    }

    /// None if nobody is there any more.
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
pub(crate) struct Parked(Mutex<HashMap<String, Left>>);

struct Left {
    /// The conversation that it was left in.
    link: u64,
    tool: String,
    args: Args,
    call: Arc<Call>,
}

impl Parked {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Left>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call has come to its end.
    pub(crate) fn over(&self, id: CallId) {
        self.all().retain(|_, left| left.call.id != id);
    }

    /// Those that were left in a conversation, which ends.
    pub(crate) fn of(&self, link: u64) -> Vec<Arc<Call>> {
        self.all().extract_if(|_, left| left.link == link).map(|(_, left)| left.call).collect()
    }

    /// The call that a handle belongs to. Another call cannot take its answer.
    fn take(&self, handle: &str, tool: &str, args: &Args) -> Result<Arc<Call>, Option<Arc<Call>>> {
        let left = self.all().remove(handle).ok_or(None)?;
        if left.tool == tool && left.args == *args { Ok(left.call) } else { Err(Some(left.call)) }
    }
}

/// A call that is made again.
pub(crate) struct Again<'a> {
    pub(crate) handle: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) args: &'a Args,
    pub(crate) meta: Option<&'a Value>,
    pub(crate) answers: &'a BTreeMap<String, Value>,
}

impl Link {
    /// Has the client of a call asked by its result. The call waits on, so that it can time out.
    pub(crate) fn park(home: &Home, tool: &str, args: &Args, carried: Carried) {
        let Carried { handle, params } = carried;
        let Some((link, id)) = home.now() else { return };
        let Some(Waiting::Call(call)) = link.state().take(&id) else { return };
        let question = json!({INPUT: {"method": "elicitation/create", "params": params}});
        let result =
            json!({"resultType": "input_required", "inputRequests": question, "requestState": handle});
        let left =
            Left { link: link.number, tool: tool.to_owned(), args: args.clone(), call: Arc::clone(&call) };
        link.gateway.parked.all().insert(handle, left);
        let line = json!({"jsonrpc": "2.0", "id": id.json(), "result": result}).to_string();
        // A client that is gone does not come back, and then time runs out.
        let _ = call.to_client.line(line.as_bytes());
    }

    /// A client comes back with its answer to a question about the call that it makes again.
    pub(crate) fn take_up(self: &Arc<Self>, ways: &Ways, id: &Id, again: &Again<'_>) -> std::io::Result<()> {
        let refused = |call: Option<Arc<Call>>| {
            if let Some(call) = call {
                self.gateway.give_up(&call);
            }
            refuse(&*ways.to_client, Some(id), -32602, "nothing waits for this answer")
        };
        let Some(elicit) = &self.gateway.elicit else { return refused(None) };
        let call = match self.gateway.parked.take(again.handle, again.tool, again.args) {
            Ok(call) => call,
            Err(other) => return refused(other),
        };
        if !call.flight.again(id, again.meta, Arc::clone(&ways.to_server)) {
            return refused(Some(call));
        }
        let progress = again.meta.and_then(|meta| meta.get("progressToken")).cloned();
        let task = call.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let here = Arc::new(Call {
            flight: Arc::clone(&call.flight),
            id: call.id,
            home: Arc::clone(&call.home),
            task: Mutex::new(task),
            to_client: Arc::clone(&ways.to_client),
            progress,
            results: call.results,
        });
        call.home.move_to(self, id);
        self.state().waiting.insert(id.clone(), Waiting::Call(Arc::clone(&here)));
        if elicit.carried_back(again.handle, again.answers) {
            return Ok(());
        }
        // The question is over, and with it the call.
        match self.state().take(id) {
            Some(_) => refused(Some(here)),
            None => Ok(()),
        }
    }
}
