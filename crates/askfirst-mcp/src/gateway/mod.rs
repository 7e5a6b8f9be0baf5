//! The gateway between a client and a server: it checks `tools/call` and forwards everything else unchanged.
//!
//! All connections to a server share one [`Gateway`]. A [`Link`] is one connection, with ids of its own. The readers
//! hand over one message at a time, so neither side can block the other. A call that waits for approval blocks
//! nothing. Every request gets one answer, from the server or from the gateway.

mod from_client;
mod from_server;
mod list;
mod parked;
mod words;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use askfirst::{CallId, Outcome, Policy, ToolDefinition, ToolError, Toolset as _};
use askfirst_runtime::ApprovalToolset;
use serde_json::{Value, json};

use crate::elicit::Elicit;
use crate::lines::{KeptLine, LineRead, Lines, TooLong};
use crate::message::Id;
use crate::out::{Connection, LineSink};
use crate::pins::Pins;
use crate::task::Task;
use crate::upstream::{Flight, Upstream};

pub(crate) use from_server::Delivery;
pub(crate) use list::is_own;
pub(crate) use words::{error, refuse, refused};
use words::{failure, with_notice};

/// The number of requests from each side that one connection may have in flight.
pub(crate) const MAX_IN_FLIGHT: usize = 4096;

/// How often a client that has ended waits one step for the server's list of tools.
const PATIENCE_STEPS: u32 = 1000;
const PATIENCE_STEP: std::time::Duration = std::time::Duration::from_millis(5);

/// The parts of a gateway.
pub struct Setup {
    /// The server's name in the config.
    pub server: String,
    /// The approval of the session: controller, audit log, redaction and the rest.
    pub approval: ApprovalToolset,
    /// The policy for the server's tools.
    pub policy: Policy,
    /// The pinned definitions of the server's tools.
    pub pins: Pins,
    /// Whether lists leave out denied tools.
    pub hide_denied: bool,
    /// Called with each warning for a person.
    pub tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// The tools of a server behind the policy. All connections to the server share it.
pub struct Gateway {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) tools: ApprovalToolset,
    pub(crate) hide_denied: bool,
    pub(crate) elicit: Option<Arc<Elicit>>,
    pub(crate) tell: Box<dyn Fn(&str) + Send + Sync>,
    pub(crate) lists: list::Lists,
    parked: parked::ParkedCalls,
    links: Mutex<Vec<Weak<Link>>>,
    next_link: AtomicU64,
    queue: Sender<Arc<Task>>,
    woken: Mutex<Option<Receiver<Arc<Task>>>>,
}

/// One connection of a client to the server.
pub struct Link {
    pub(crate) gateway: Arc<Gateway>,
    number: u64,
    state: Mutex<GatewayState>,
    asked: OpenIds,
}

/// The server's requests that have no answer yet.
pub(crate) type OpenIds = Arc<Mutex<HashSet<Id>>>;

#[derive(Default)]
pub(crate) struct GatewayState {
    /// The client's requests that have no answer yet.
    pub(crate) waiting: HashMap<Id, ClientRequest>,
    /// The state of the gateway's own `tools/list` request.
    pub(crate) list: list::Listing,
    /// Requests that the client canceled after they were sent. An answer may or may not come.
    pub(crate) given_up: VecDeque<Id>,
    /// The name and version that the client reports.
    pub(crate) client: Option<String>,
    /// Whether the client supports elicitation.
    pub(crate) can_ask: bool,
}

impl GatewayState {
    /// Removes a call, unless its id belongs to another call by now.
    fn take_call(&mut self, id: &Id, flight: &Arc<Flight>) -> Option<Arc<Call>> {
        let call = match self.waiting.get(id)? {
            ClientRequest::Call(call) if Arc::ptr_eq(&call.flight, flight) => Arc::clone(call),
            ClientRequest::Call(_) | ClientRequest::Passed(_) | ClientRequest::List(_) => return None,
        };
        self.take(id);
        Some(call)
    }

    /// Removes a request, also from the canceled ones: the client may reuse its id.
    pub(crate) fn take(&mut self, id: &Id) -> Option<ClientRequest> {
        self.given_up.retain(|other| other != id);
        self.waiting.remove(id)
    }
}

/// A request of the client that has no answer yet.
pub(crate) enum ClientRequest {
    /// A forwarded request. The gateway forwards its answer.
    Passed(Arc<dyn LineSink>),
    /// A forwarded request for a list of tools.
    List(Arc<dyn LineSink>),
    /// A tool call.
    Call(Arc<Call>),
}

/// A tool call of the client.
pub(crate) struct Call {
    pub(crate) flight: Arc<Flight>,
    pub(crate) id: CallId,
    pub(crate) home: Arc<parked::Home>,
    pub(crate) task: Mutex<Option<Arc<Task>>>,
    pub(crate) to_client: Arc<dyn LineSink>,
    /// The token for progress reports.
    pub(crate) progress: Option<Value>,
    /// The format of results for this client.
    pub(crate) results: Results,
}

/// The format of results in the client's revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    /// Without `resultType`.
    Plain,
    /// With `resultType`.
    Typed,
}

impl Call {
    /// Cancels the call.
    fn give_up(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.cancel();
        }
    }

    /// Polls the call, because there is news for it.
    pub(crate) fn drive(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.drive();
        }
    }
}

/// How one side ended.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// It closed its stream.
    Closed,
    /// It sent a message that is too long.
    TooLong,
    /// It can no longer be read or written to.
    Broken(String),
}

#[doc(hidden)]
pub use StreamEnd as Ended;

impl Gateway {
    /// Creates a gateway in front of a server.
    #[must_use]
    pub fn new(setup: Setup) -> Arc<Self> {
        Self::asking(setup, None)
    }

    /// Creates a gateway in front of a server that can ask each client about its own calls.
    #[must_use]
    pub fn asking(setup: Setup, elicit: Option<Arc<Elicit>>) -> Arc<Self> {
        let upstream = Arc::new(Upstream::new(&setup.server, setup.pins, setup.policy.clone()));
        let tools = setup.approval.over(Arc::clone(&upstream) as _, setup.policy);
        let (queue, woken) = channel();
        Arc::new(Self {
            upstream,
            tools,
            hide_denied: setup.hide_denied,
            elicit,
            tell: setup.tell,
            lists: list::Lists::default(),
            parked: parked::ParkedCalls::default(),
            links: Mutex::default(),
            next_link: AtomicU64::new(0),
            queue,
            woken: Mutex::new(Some(woken)),
        })
    }

    /// The definition of a tool, by its name in the config.
    #[must_use]
    pub fn definition(&self, tool: &str) -> Option<ToolDefinition> {
        self.upstream.definition(tool)
    }

    /// Opens a new connection.
    #[must_use]
    pub fn link(self: &Arc<Self>) -> Arc<Link> {
        self.link_sharing(OpenIds::default())
    }

    /// Opens a new connection that also accepts answers to the server's requests on other connections.
    pub(crate) fn link_sharing(self: &Arc<Self>, asked: OpenIds) -> Arc<Link> {
        self.drive_woken();
        let number = self.next_link.fetch_add(1, Ordering::Relaxed);
        let link = Arc::new(Link { gateway: Arc::clone(self), number, state: Mutex::default(), asked });
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if links.len() == links.capacity() {
            links.retain(|link| link.strong_count() > 0);
        }
        links.push(Arc::downgrade(&link));
        link
    }

    /// Starts a thread that polls the calls that an answer of a person woke up.
    fn drive_woken(&self) {
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(woken) = woken {
            std::thread::spawn(move || woken.into_iter().for_each(|task| task.drive()));
        }
    }

    /// Withdraws a call. Returns false if it was already sent: then it runs to its end.
    pub(crate) fn give_up(&self, call: &Call) -> bool {
        let withdrawn = call.flight.withdraw();
        if withdrawn {
            call.give_up();
            self.upstream.end(call.id);
        }
        withdrawn
    }

    /// Sends progress to clients whose calls wait for approval. Call this every few seconds.
    ///
    /// It also stops waiting for a server that does not list its tools, and returns the memory of large calls to the
    /// system.
    pub fn heartbeat(&self, beat: u64) {
        self.heartbeat_after(beat, list::LIST_PATIENCE);
    }

    /// Version of [`Self::heartbeat`] with another time limit for the server's list of tools.
    pub fn heartbeat_after(&self, beat: u64, patience: std::time::Duration) {
        let links: Vec<Arc<Link>> = {
            let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
            links.iter().filter_map(Weak::upgrade).collect()
        };
        links.iter().for_each(|link| link.check_list(patience));
        for call in links.iter().flat_map(|link| link.unsent()) {
            let Some(token) = &call.progress else { continue };
            let told = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params":
                {"progressToken": token, "progress": beat, "message": "waiting for a person to approve"}});
            // The code that reads from the client notices if it is gone.
            let _ = call.to_client.note(told.to_string().as_bytes());
        }
        self.upstream.release_memory();
    }
}

impl Link {
    /// Reads messages from the client until it ends.
    pub fn serve_client(self: &Arc<Self>, connection: &Connection, input: impl Read) -> StreamEnd {
        let mut lines = Lines::new(input);
        let ended = loop {
            match lines.next() {
                Ok(LineRead::Line(line)) => {
                    if let Err(e) = self.from_client(connection, line) {
                        break StreamEnd::Broken(e.to_string());
                    }
                }
                Ok(LineRead::End) => break StreamEnd::Closed,
                Ok(LineRead::TooLong) => {
                    let told = refuse(&*connection.to_client, None, -32600, &TooLong.to_string());
                    break told.map_or_else(|e| StreamEnd::Broken(e.to_string()), |()| StreamEnd::TooLong);
                }
                Err(e) => break StreamEnd::Broken(e.to_string()),
            }
        };
        self.client_is_gone();
        ended
    }

    /// Reads messages from the server until it ends, then answers every open request with an error.
    pub fn serve_server(self: &Arc<Self>, connection: &Connection, input: impl Read) -> StreamEnd {
        let mut lines = Lines::new(input);
        let ended = loop {
            match lines.next() {
                Ok(LineRead::Line(line)) => {
                    if let Err(e) = self.from_server(connection, line) {
                        break StreamEnd::Broken(e.to_string());
                    }
                }
                Ok(LineRead::End) => break StreamEnd::Closed,
                Ok(LineRead::TooLong) => break StreamEnd::TooLong,
                Err(e) => break StreamEnd::Broken(e.to_string()),
            }
        };
        self.server_is_gone(match &ended {
            StreamEnd::TooLong => "the server sent a message that is too long, so askfirst stopped reading",
            StreamEnd::Closed | StreamEnd::Broken(_) => "the server ended before it answered",
        });
        ended
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, GatewayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn asked(&self) -> MutexGuard<'_, HashSet<Id>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tell(&self, text: &str) {
        (self.gateway.tell)(text);
    }

    /// The name of a request in the audit log: its id, after the number of the connection if there are several.
    pub(crate) fn key(&self, id: &Id) -> String {
        match self.number {
            0 => id.json().to_string(),
            number => format!("{number}:{}", id.json()),
        }
    }

    /// The calls that were not sent to the server yet.
    fn unsent(&self) -> Vec<Arc<Call>> {
        let state = self.state();
        let calls = state.waiting.values().filter_map(|waiting| match waiting {
            ClientRequest::Call(call) if !call.flight.is_sent() => Some(Arc::clone(call)),
            ClientRequest::Call(_) | ClientRequest::Passed(_) | ClientRequest::List(_) => None,
        });
        calls.collect()
    }

    /// Ends a call: the client gets the server's answer unchanged, or the reason why there is none.
    pub(crate) fn finish(&self, id: &Id, flight: &Arc<Flight>, outcome: Outcome) {
        let Some(call) = self.state().take_call(id, flight) else { return };
        let say = |why: &str| KeptLine::Own(failure(id, why, call.results));
        let (answer, back) = match call.flight.take_answer() {
            Some(answer) => (Some((answer.line, answer.notice)), Some(answer.back)),
            None => (None, None),
        };
        let line = match (answer, outcome) {
            (_, Outcome::Failed(error @ ToolError::Unrecorded(_))) => say(&error.to_string()),
            (Some((line, None)), Outcome::Done(_) | Outcome::Failed(_)) => line,
            (Some((line, Some(notice))), Outcome::Done(_) | Outcome::Failed(_)) => {
                KeptLine::Own(with_notice(&line, &notice))
            }
            (_, Outcome::Denied(refusal)) => say(&format!("{}\n{}", refused(&refusal), self.allowed())),
            (None, Outcome::Failed(error)) => say(&error.to_string()),
            (None, Outcome::Done(_)) => say("the answer was lost"),
        };
        // The code that reads from the client notices if it is gone. A client that reconnected reads on its new
        // stream.
        if call.to_client.line(&line).is_err()
            && let Some(back) = back
        {
            let _ = back.line(&line);
        }
    }

    /// Withdraws a call and its approval request. Returns whether it did: a call that is just being sent stays with
    /// the server.
    pub(crate) fn withdraw(&self, id: &Id) -> bool {
        let call = {
            let mut state = self.state();
            match state.waiting.get(id) {
                Some(ClientRequest::Call(call)) if call.flight.withdraw() => {
                    let call = Arc::clone(call);
                    state.take(id);
                    call
                }
                Some(ClientRequest::Call(_) | ClientRequest::Passed(_) | ClientRequest::List(_)) | None => {
                    return false;
                }
            }
        };
        self.gateway.give_up(&call)
    }

    /// Ends a request without an answer. The caller reports the reason to the client.
    pub(crate) fn fail(&self, id: &Id, why: &str) {
        let waiting = self.state().take(id);
        if let Some(ClientRequest::Call(call)) = waiting {
            self.end_without_answer(&call, why);
        }
    }

    /// Ends a request without an answer, and reports the reason to the client.
    pub(crate) fn lost(&self, id: &Id, why: &str) {
        if is_own(id) {
            self.tell(&format!("the server does not list its tools: {why}"));
            return self.list_is_over();
        }
        let waiting = self.state().take(id);
        if let Some(waiting) = waiting {
            self.tell_lost(id, waiting, why);
        }
    }

    fn tell_lost(&self, id: &Id, waiting: ClientRequest, why: &str) {
        // The code that reads from the client notices if it is gone.
        let _ = match waiting {
            ClientRequest::Call(call) => {
                self.end_without_answer(&call, why);
                call.to_client.line(&failure(id, why, call.results))
            }
            ClientRequest::Passed(to_client) | ClientRequest::List(to_client) => {
                refuse(&*to_client, Some(id), -32000, why)
            }
        };
    }

    /// Ends a call without an answer, so that the audit log gets its outcome.
    fn end_without_answer(&self, call: &Call, why: &str) {
        if !self.gateway.give_up(call) {
            call.flight.fail(why);
            call.drive();
        }
    }

    /// Withdraws all approval requests. Calls that were sent run to their end and are logged.
    pub(crate) fn client_is_gone(&self) {
        for _ in 0..PATIENCE_STEPS {
            if !self.holds_calls() {
                break;
            }
            std::thread::sleep(PATIENCE_STEP);
        }
        self.withdraw_all();
    }

    /// Withdraws all approval requests.
    pub(crate) fn withdraw_all(&self) {
        let parked = self.gateway.parked.of(self.number);
        for call in self.unsent().iter().chain(&parked) {
            self.gateway.give_up(call);
        }
    }

    /// Answers every open request with an error.
    pub(crate) fn server_is_gone(&self, why: &str) {
        let waiting: Vec<(Id, ClientRequest)> = {
            let mut state = self.state();
            state.given_up.clear();
            state.waiting.drain().collect()
        };
        self.list_is_over();
        for (id, waiting) in waiting {
            self.tell_lost(&id, waiting, why);
        }
    }

    /// Whether no request is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().waiting.is_empty()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
