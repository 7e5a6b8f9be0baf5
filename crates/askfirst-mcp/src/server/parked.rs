//! Calls that wait for their client to return with an answer. Each call has a handle that no one can guess, and only
//! the same call can use it.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use askfirst::{Args, CallId, Outcome, ToolError};
use rmcp::model::{CallToolResponse, InputRequest, InputRequiredResult};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::elicit::{CarriedRequest, INPUT};

/// A call in the pipeline.
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) args: Args,
    /// The id of the call while it runs.
    pub(super) id: CallId,
    pub(super) calling: Pin<Box<dyn Future<Output = Outcome> + Send>>,
}

/// A call that waits for its client.
struct ParkedCall {
    tool: String,
    args: Args,
    id: CallId,
    task: Task,
}

/// A call that runs as a task. Dropping it cancels the call.
struct Task(JoinHandle<Outcome>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Future for Task {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let lost =
            |e: tokio::task::JoinError| Outcome::Failed(ToolError::Failed(format!("the call was lost: {e}")));
        Pin::new(&mut self.0).poll(context).map(|outcome| outcome.unwrap_or_else(lost))
    }
}

/// All calls that wait for their client.
#[derive(Default)]
pub(super) struct ParkedCalls(Mutex<HashMap<String, ParkedCall>>);

impl ParkedCalls {
    /// Returns the approval request as the result of the call. The call continues as a task, so that it can time out.
    pub(super) fn put(&self, carried: CarriedRequest, call: Call) -> CallToolResponse {
        let CarriedRequest { handle, params } = carried;
        let request = json!({"method": "elicitation/create", "params": params});
        let Ok(request) = serde_json::from_value::<InputRequest>(request) else {
            let lost = Outcome::Failed(ToolError::Failed(
                "cannot send the approval request to the client".to_owned(),
            ));
            return super::results::result(lost, "", None).into();
        };
        let Call { tool, args, id, calling } = call;
        let waiting = ParkedCall { tool, args, id, task: Task(tokio::spawn(calling)) };
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A call that has ended by now was not answered in time.
        parked.retain(|_, waiting| !waiting.task.0.is_finished());
        parked.insert(handle.clone(), waiting);
        let asked = [(INPUT.to_owned(), request)].into_iter().collect();
        InputRequiredResult::new(Some(asked), Some(handle)).into()
    }

    /// Takes the call that belongs to a handle. A call with another tool or other arguments gets nothing.
    pub(super) fn take(&self, handle: &str, tool: &str, args: &Args) -> Option<Call> {
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = parked.get(handle).is_some_and(|waiting| waiting.tool == tool && waiting.args == *args);
        let ParkedCall { tool, args, id, task } = parked.remove(handle).filter(|_| same)?;
        Some(Call { tool, args, id, calling: Box::pin(task) })
    }
}
