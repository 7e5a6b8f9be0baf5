//! The gateway: messages from a client and messages from a server, `tools/call` judged, all else as it came.
//!
//! A [`Gateway`] is what all conversations with a server share; a [`Link`] is one conversation, with ids of its own.
//! Whoever reads a side hands each message over, so neither side can block the other. A call that waits for a person
//! holds up nothing. Every request is answered once, by the server or by the gateway.

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
use crate::lines::{Kept, Lines, Next, TooLong};
use crate::message::Id;
use crate::out::{Out, Ways};
use crate::pins::Pins;
use crate::task::Task;
use crate::upstream::{Flight, Upstream};

pub(crate) use from_server::Took;
pub(crate) use list::is_own;
pub(crate) use words::{error, refuse, refused};
use words::{failure, with_note};

/// How many requests of one side may be on their way at once in one conversation.
pub(crate) const MAX_IN_FLIGHT: usize = 4096;

/// How long calls of a client that has ended wait for the server's list of tools.
const PATIENCE_STEPS: u32 = 1000;
const PATIENCE_STEP: std::time::Duration = std::time::Duration::from_millis(5);

/// What a gateway is put together from.
pub struct Setup {
    /// The server's name in the config.
    pub server: String,
    /// The approval of the session: controller, audit log, redaction and the rest.
    pub approval: ApprovalToolset,
    /// The policy over the server's tools.
    pub policy: Policy,
    /// What the server's tools looked like before.
    pub pins: Pins,
    /// Whether tools that are denied are left out of lists.
    pub hide_denied: bool,
    /// Told what is odd, in words for a person.
    pub tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// A server's tools with the judge before them: what all conversations with the server share.
pub struct Gateway {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) tools: ApprovalToolset,
    pub(crate) hide_denied: bool,
    pub(crate) elicit: Option<Arc<Elicit>>,
    pub(crate) tell: Box<dyn Fn(&str) + Send + Sync>,
    pub(crate) lists: list::Lists,
    parked: parked::Parked,
    links: Mutex<Vec<Weak<Link>>>,
    next_link: AtomicU64,
    queue: Sender<Arc<Task>>,
    woken: Mutex<Option<Receiver<Arc<Task>>>>,
}

/// One conversation of a client with the server.
pub struct Link {
    pub(crate) gateway: Arc<Gateway>,
    number: u64,
    state: Mutex<State>,
    asked: Asked,
}

/// The server's requests that have no answer yet.
pub(crate) type Asked = Arc<Mutex<HashSet<Id>>>;

#[derive(Default)]
pub(crate) struct State {
    /// The client's requests that have no answer yet.
    pub(crate) waiting: HashMap<Id, Waiting>,
    /// The gateway's own lists.
    pub(crate) list: list::Listing,
    /// Requests that were given up after they were sent: an answer may still come, and may not.
    pub(crate) given_up: VecDeque<Id>,
    /// Who the client says that it is.
    pub(crate) client: Option<String>,
    /// Whether the client says that it can be asked.
    pub(crate) can_ask: bool,
}

impl State {
    /// Takes a call out, unless its id belongs to another by now.
    fn take_call(&mut self, id: &Id, flight: &Arc<Flight>) -> Option<Arc<Call>> {
        let call = match self.waiting.get(id)? {
            Waiting::Call(call) if Arc::ptr_eq(&call.flight, flight) => Arc::clone(call),
            Waiting::Call(_) | Waiting::Passed(_) | Waiting::List(_) => return None,
        };
        self.take(id);
        Some(call)
    }

    /// Takes a request out. If it was given up, that is over too: its id may be another's next.
    pub(crate) fn take(&mut self, id: &Id) -> Option<Waiting> {
        self.given_up.retain(|other| other != id);
        self.waiting.remove(id)
    }
}

/// A request of the client that has no answer yet.
pub(crate) enum Waiting {
    /// Passed on; the answer passes back.
    Passed(Arc<dyn Out>),
    /// Passed on; its answer is a list of tools.
    List(Arc<dyn Out>),
    /// A call.
    Call(Arc<Call>),
}

/// A call of the client's.
pub(crate) struct Call {
    pub(crate) flight: Arc<Flight>,
    pub(crate) id: CallId,
    pub(crate) home: Arc<parked::Home>,
    pub(crate) task: Mutex<Option<Arc<Task>>>,
    pub(crate) to_client: Arc<dyn Out>,
    /// Who is told that it still waits.
    pub(crate) progress: Option<Value>,
    /// How the client reads results.
    pub(crate) results: Results,
}

/// How results are written in a client's revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Results {
    /// As they are.
    Plain,
    /// With a word on whether they are all.
    Typed,
}

impl Call {
    /// Nobody wants to know any more.
    fn give_up(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.cancel();
        }
    }

    /// There is news for it.
    pub(crate) fn drive(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.drive();
        }
    }
}

/// How one side ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// It closed its stream.
    Closed,
    /// It sent something that is longer than is taken.
    TooLong,
    /// It cannot be read or written any more.
    Broken(String),
}

impl Gateway {
    /// A gateway before a server.
    #[must_use]
    pub fn new(setup: Setup) -> Arc<Self> {
        Self::asking(setup, None)
    }

    /// The same with clients as those who may be asked, each about its own calls.
    #[must_use]
    pub fn asking(setup: Setup, elicit: Option<Arc<Elicit>>) -> Arc<Self> {
        let upstream = Arc::new(Upstream::new(&setup.server, setup.pins));
        let tools = setup.approval.over(Arc::clone(&upstream) as _, setup.policy);
        let (queue, woken) = channel();
        Arc::new(Self {
            upstream,
            tools,
            hide_denied: setup.hide_denied,
            elicit,
            tell: setup.tell,
            lists: list::Lists::default(),
            parked: parked::Parked::default(),
            links: Mutex::default(),
            next_link: AtomicU64::new(0),
            queue,
            woken: Mutex::new(Some(woken)),
        })
    }

    /// What the server says of a tool, by its name in the config.
    #[must_use]
    pub fn definition(&self, tool: &str) -> Option<ToolDefinition> {
        self.upstream.definition(tool)
    }

    /// A new conversation.
    #[must_use]
    pub fn link(self: &Arc<Self>) -> Arc<Link> {
        self.link_sharing(Asked::default())
    }

    /// A new conversation in which the server's questions of others may be answered too.
    pub(crate) fn link_sharing(self: &Arc<Self>, asked: Asked) -> Arc<Link> {
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

    /// Calls that a person's answer woke are driven on by a thread of their own.
    fn drive_woken(&self) {
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(woken) = woken {
            std::thread::spawn(move || woken.into_iter().for_each(|task| task.drive()));
        }
    }

    /// Gives a call up that was not sent. False if it was: then it runs to its end.
    pub(crate) fn give_up(&self, call: &Call) -> bool {
        let withdrawn = call.flight.withdraw();
        if withdrawn {
            call.give_up();
            self.upstream.end(call.id);
        }
        withdrawn
    }

    /// Tells those who wait for a person that they still do, and those who wait for a server that hangs that it does.
    /// To be called every few seconds.
    pub fn heartbeat(&self, beat: u64) {
        self.heartbeat_after(beat, list::LIST_PATIENCE);
    }

    /// The same with another patience.
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
            // A client that is gone is noticed by whoever reads it.
            let _ = call.to_client.note(told.to_string().as_bytes());
        }
    }
}

impl Link {
    /// Reads what the client sends, until it ends.
    pub fn serve_client(self: &Arc<Self>, ways: &Ways, input: impl Read) -> Ended {
        let mut lines = Lines::new(input);
        let ended = loop {
            match lines.next() {
                Ok(Next::Line(line)) => {
                    if let Err(e) = self.from_client(ways, line) {
                        break Ended::Broken(e.to_string());
                    }
                }
                Ok(Next::End) => break Ended::Closed,
                Ok(Next::TooLong) => {
                    let told = refuse(&*ways.to_client, None, -32600, &TooLong.to_string());
                    break told.map_or_else(|e| Ended::Broken(e.to_string()), |()| Ended::TooLong);
                }
                Err(e) => break Ended::Broken(e.to_string()),
            }
        };
        self.client_is_gone();
        ended
    }

    /// Reads what the server sends, until it ends. Then whoever still waits is told so.
    pub fn serve_server(self: &Arc<Self>, ways: &Ways, input: impl Read) -> Ended {
        let mut lines = Lines::new(input);
        let ended = loop {
            match lines.next() {
                Ok(Next::Line(line)) => {
                    if let Err(e) = self.from_server(ways, line) {
                        break Ended::Broken(e.to_string());
                    }
                }
                Ok(Next::End) => break Ended::Closed,
                Ok(Next::TooLong) => break Ended::TooLong,
                Err(e) => break Ended::Broken(e.to_string()),
            }
        };
        self.server_is_gone(match &ended {
            Ended::TooLong => "the server sent a message that is too long, and is not listened to any more",
            Ended::Closed | Ended::Broken(_) => "the server ended before it answered",
        });
        ended
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn asked(&self) -> MutexGuard<'_, HashSet<Id>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tell(&self, text: &str) {
        (self.gateway.tell)(text);
    }

    /// The name of a request in the record: its id, and which conversation it belongs to where there are several.
    pub(crate) fn key(&self, id: &Id) -> String {
        match self.number {
            0 => id.json().to_string(),
            number => format!("{number}:{}", id.json()),
        }
    }

    /// Calls that the server has not been sent.
    fn unsent(&self) -> Vec<Arc<Call>> {
        let state = self.state();
        let calls = state.waiting.values().filter_map(|waiting| match waiting {
            Waiting::Call(call) if !call.flight.is_sent() => Some(Arc::clone(call)),
            Waiting::Call(_) | Waiting::Passed(_) | Waiting::List(_) => None,
        });
        calls.collect()
    }

    /// A call has come to its end: the client gets the server's answer as it came, or the reason why there is none.
    pub(crate) fn finish(&self, id: &Id, flight: &Arc<Flight>, outcome: Outcome) {
        let Some(call) = self.state().take_call(id, flight) else { return };
        let say = |why: &str| Kept::Own(failure(id, why, call.results));
        let (answer, back) = match call.flight.take_answer() {
            Some(answer) => (Some((answer.line, answer.edited)), Some(answer.back)),
            None => (None, None),
        };
        let line = match (answer, outcome) {
            (_, Outcome::Failed(error @ ToolError::Unrecorded(_))) => say(&error.to_string()),
            (Some((line, false)), Outcome::Done(_) | Outcome::Failed(_)) => line,
            (Some((line, true)), Outcome::Done(_) | Outcome::Failed(_)) => {
                Kept::Own(with_note(&line, "a person changed the arguments before it ran"))
            }
            (_, Outcome::Denied(refusal)) => say(&format!("{}\n{}", refused(&refusal), self.allowed())),
            (None, Outcome::Failed(error)) => say(&error.to_string()),
            (None, Outcome::Done(_)) => say("the answer was lost"),
        };
        // A client that is gone is noticed by whoever reads it. One that came back hears on its new stream.
        if call.to_client.line(&line).is_err()
            && let Some(back) = back
        {
            let _ = back.line(&line);
        }
    }

    /// Nobody waits for this request any more: a question about it is withdrawn. Says whether there was one. A call that
    /// is being let go at this moment either is never sent, or has been and is the server's.
    pub(crate) fn withdraw(&self, id: &Id) -> bool {
        let call = {
            let mut state = self.state();
            match state.waiting.get(id) {
                Some(Waiting::Call(call)) if call.flight.withdraw() => {
                    let call = Arc::clone(call);
                    state.take(id);
                    call
                }
                Some(Waiting::Call(_) | Waiting::Passed(_) | Waiting::List(_)) | None => return false,
            }
        };
        self.gateway.give_up(&call)
    }

    /// There will be no answer to this request, and whoever asked is told so in another way.
    pub(crate) fn fail(&self, id: &Id, why: &str) {
        let waiting = self.state().take(id);
        if let Some(Waiting::Call(call)) = waiting {
            self.end_without_answer(&call, why);
        }
    }

    /// There will be no answer to this request, and whoever asked is told so.
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

    fn tell_lost(&self, id: &Id, waiting: Waiting, why: &str) {
        // A client that is gone is noticed by whoever reads it.
        let _ = match waiting {
            Waiting::Call(call) => {
                self.end_without_answer(&call, why);
                call.to_client.line(&failure(id, why, call.results))
            }
            Waiting::Passed(to_client) | Waiting::List(to_client) => {
                refuse(&*to_client, Some(id), -32000, why)
            }
        };
    }

    /// The record says how it ended.
    fn end_without_answer(&self, call: &Call, why: &str) {
        if !self.gateway.give_up(call) {
            call.flight.fail(why);
            call.drive();
        }
    }

    /// Nobody waits any more: questions are withdrawn. What the server was sent runs to its end and is recorded.
    pub(crate) fn client_is_gone(&self) {
        for _ in 0..PATIENCE_STEPS {
            if !self.holds_calls() {
                break;
            }
            std::thread::sleep(PATIENCE_STEP);
        }
        self.withdraw_all();
    }

    /// Every question is withdrawn.
    pub(crate) fn withdraw_all(&self) {
        let parked = self.gateway.parked.of(self.number);
        for call in self.unsent().iter().chain(&parked) {
            self.gateway.give_up(call);
        }
    }

    /// Nobody will answer any more.
    pub(crate) fn server_is_gone(&self, why: &str) {
        let waiting: Vec<(Id, Waiting)> = {
            let mut state = self.state();
            state.given_up.clear();
            state.waiting.drain().collect()
        };
        self.list_is_over();
        for (id, waiting) in waiting {
            self.tell_lost(&id, waiting, why);
        }
    }

    /// Whether nobody waits for an answer.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().waiting.is_empty()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
