//! The gateway: lines from the client and lines from the server, `tools/call` judged, all else as it came.
//!
//! Two threads read, one per side, so neither side can block the other. A call that waits for a person holds up
//! nothing. Every request is answered once, by the server or by the gateway.

mod from_client;
mod from_server;
mod list;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use askfirst::ports::{Clock, Recorder};
use askfirst::{Outcome, Policy, Refusal, ToolError};
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::lines::{self, Next};
use crate::message::Id;
use crate::pins::Pins;
use crate::task::Task;
use crate::upstream::{Flight, Sink, Upstream};

/// How many requests of the client may be on their way at once.
const MAX_IN_FLIGHT: usize = 4096;

/// How long calls of a client that has ended wait for the server's list of tools.
const PATIENCE_STEPS: u32 = 1000;
const PATIENCE_STEP: std::time::Duration = std::time::Duration::from_millis(5);

/// What a gateway is put together from.
pub struct Setup {
    /// The server's name in the config.
    pub server: String,
    /// The owner's rules.
    pub policy: Policy,
    /// Who is asked.
    pub controller: ApprovalController,
    /// The record.
    pub recorder: Arc<dyn Recorder>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The session's name.
    pub session: String,
    /// What the server's tools looked like before.
    pub pins: Pins,
    /// Whether tools that are denied are left out of lists.
    pub hide_denied: bool,
    /// Told what is odd, in words for a person.
    pub tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// One client and one server with the judge between them.
pub struct Gateway {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) tools: ApprovalToolset,
    pub(crate) to_client: Sink,
    pub(crate) to_server: Arc<Sink>,
    pub(crate) hide_denied: bool,
    pub(crate) tell: Box<dyn Fn(&str) + Send + Sync>,
    state: Mutex<State>,
    queue: Sender<Arc<Task>>,
    woken: Mutex<Option<Receiver<Arc<Task>>>>,
}

#[derive(Default)]
pub(crate) struct State {
    /// The client's requests that have no answer yet.
    pub(crate) waiting: HashMap<Id, Waiting>,
    /// The server's requests that have no answer yet.
    pub(crate) asked_by_server: HashSet<Id>,
    /// The gateway's own lists.
    pub(crate) list: list::Listing,
    /// Who the client says that it is.
    pub(crate) client: Option<String>,
}

/// A request of the client that has no answer yet.
pub(crate) enum Waiting {
    /// Passed on; the answer passes back.
    Passed,
    /// Passed on; its answer is a list of tools.
    List,
    /// A call.
    Call(Arc<Call>),
}

/// A call of the client's.
pub(crate) struct Call {
    pub(crate) flight: Arc<Flight>,
    pub(crate) task: Mutex<Option<Arc<Task>>>,
    /// Who is told that it still waits.
    pub(crate) progress: Option<Value>,
}

impl Call {
    /// Nobody wants to know any more.
    pub(crate) fn give_up(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.cancel();
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
    /// A gateway that writes to both sides.
    #[must_use]
    pub fn new(
        setup: Setup,
        to_client: Box<dyn Write + Send>,
        to_server: Box<dyn Write + Send>,
    ) -> Arc<Self> {
        let to_server = Arc::new(Sink::new(to_server));
        let upstream = Arc::new(Upstream::new(&setup.server, setup.pins, Arc::clone(&to_server)));
        let tools = ApprovalToolset::new(Arc::clone(&upstream), setup.controller, setup.policy)
            .recorder(setup.recorder)
            .clock(setup.clock)
            .session(&setup.session);
        let (queue, woken) = channel();
        Arc::new(Self {
            upstream,
            tools,
            to_client: Sink::new(to_client),
            to_server,
            hide_denied: setup.hide_denied,
            tell: setup.tell,
            state: Mutex::default(),
            queue,
            woken: Mutex::new(Some(woken)),
        })
    }

    /// Reads what the client sends, until it ends.
    pub fn serve_client(self: &Arc<Self>, mut input: impl BufRead) -> Ended {
        self.drive_woken();
        let mut line = Vec::new();
        let ended = loop {
            match lines::next(&mut input, &mut line) {
                Ok(Next::Line) => {
                    if let Err(e) = self.from_client(&line) {
                        break Ended::Broken(e.to_string());
                    }
                }
                Ok(Next::End) => break Ended::Closed,
                Ok(Next::TooLong) => {
                    let told = self.refuse_message(None, -32600, &lines::TooLong.to_string());
                    break told.map_or_else(|e| Ended::Broken(e.to_string()), |()| Ended::TooLong);
                }
                Err(e) => break Ended::Broken(e.to_string()),
            }
        };
        self.client_is_gone();
        ended
    }

    /// Reads what the server sends, until it ends. Then whoever still waits is told so.
    pub fn serve_server(self: &Arc<Self>, mut input: impl BufRead) -> Ended {
        let mut line = Vec::new();
        let ended = loop {
            match lines::next(&mut input, &mut line) {
                Ok(Next::Line) => {
                    if let Err(e) = self.from_server(&line) {
                        break Ended::Broken(e.to_string());
                    }
                }
                Ok(Next::End) => break Ended::Closed,
                Ok(Next::TooLong) => break Ended::TooLong,
                Err(e) => break Ended::Broken(e.to_string()),
            }
        };
        self.server_is_gone();
        ended
    }

    /// Calls that a person's answer woke are driven on by a thread of their own.
    fn drive_woken(&self) {
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(woken) = woken {
            std::thread::spawn(move || woken.into_iter().for_each(|task| task.drive()));
        }
    }

    /// Tells the server that nothing more will come.
    pub fn close_server(&self) {
        self.to_server.close();
    }

    /// Tells those who wait for a person that they still do. To be called every few seconds.
    pub fn heartbeat(&self, beat: u64) {
        let waiting: Vec<Value> = {
            let state = self.state();
            let calls = state.waiting.values().filter_map(|waiting| match waiting {
                Waiting::Call(call) if !call.flight.is_sent() => call.progress.clone(),
                Waiting::Call(_) | Waiting::Passed | Waiting::List => None,
            });
            calls.collect()
        };
        for token in waiting {
            let told = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params":
                {"progressToken": token, "progress": beat, "message": "waiting for a person to approve"}});
            // A client that is gone is noticed by whoever reads it.
            let _ = self.to_client.line(told.to_string().as_bytes());
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn queue(&self) -> Sender<Arc<Task>> {
        self.queue.clone()
    }

    /// A JSON-RPC error to the client.
    pub(crate) fn refuse_message(&self, id: Option<&Id>, code: i32, why: &str) -> std::io::Result<()> {
        let id = id.map_or(Value::Null, Id::json);
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}});
        self.to_client.line(error.to_string().as_bytes())
    }

    /// A call has come to its end: the client gets the server's answer as it came, or the reason why there is none.
    pub(crate) fn finish(&self, id: &Id, outcome: Outcome) {
        let Some(Waiting::Call(call)) = self.state().waiting.remove(id) else { return };
        let written = match (call.flight.take_answer(), outcome) {
            (_, Outcome::Failed(error @ ToolError::Unrecorded(_))) => self.say(id, &error.to_string()),
            (Some((line, false)), Outcome::Done(_) | Outcome::Failed(_)) => self.to_client.line(&line),
            (Some((line, true)), Outcome::Done(_) | Outcome::Failed(_)) => {
                self.to_client.line(&with_note(&line, "a person changed the arguments before it ran"))
            }
            (_, Outcome::Denied(refusal)) => self.say(id, &refused(&refusal)),
            (None, Outcome::Failed(error)) => self.say(id, &error.to_string()),
            (None, Outcome::Done(_)) => self.say(id, "the answer was lost"),
        };
        // A client that is gone is noticed by whoever reads it.
        let _ = written;
    }

    /// A result that says that a call did not run.
    fn say(&self, id: &Id, why: &str) -> std::io::Result<()> {
        let result = json!({"content": [{"type": "text", "text": why}], "isError": true});
        let line = json!({"jsonrpc": "2.0", "id": id.json(), "result": result});
        self.to_client.line(line.to_string().as_bytes())
    }

    /// Nobody waits any more: questions are withdrawn. What the server was sent runs to its end and is recorded.
    fn client_is_gone(&self) {
        for _ in 0..PATIENCE_STEPS {
            if !self.holds_calls() {
                break;
            }
            std::thread::sleep(PATIENCE_STEP);
        }
        let waiting: Vec<Arc<Call>> = {
            let state = self.state();
            let calls = state.waiting.values().filter_map(|waiting| match waiting {
                Waiting::Call(call) if !call.flight.is_sent() => Some(Arc::clone(call)),
                Waiting::Call(_) | Waiting::Passed | Waiting::List => None,
            });
            calls.collect()
        };
        waiting.iter().for_each(|call| call.give_up());
    }

    /// Nobody will answer any more.
    fn server_is_gone(self: &Arc<Self>) {
        let waiting: Vec<(Id, Waiting)> = self.state().waiting.drain().collect();
        self.list_is_over();
        for (id, waiting) in waiting {
            match waiting {
                Waiting::Call(call) => {
                    call.give_up();
                    let _ = self.say(&id, "the server ended before it answered");
                }
                Waiting::Passed | Waiting::List => {
                    let _ = self.refuse_message(Some(&id), -32000, "the server ended before it answered");
                }
            }
        }
    }
}

/// What the agent is told, with what decided, so that it can do something else.
fn refused(refusal: &Refusal) -> String {
    let mut text = refusal.to_string();
    for because in &refusal.because {
        text.push_str("\nbecause: ");
        text.push_str(&because.to_string());
    }
    text
}

/// The server's answer with one more line in its content.
fn with_note(line: &[u8], note: &str) -> Vec<u8> {
    let Ok(mut message) = askfirst::json::parse_object(line) else { return line.to_vec() };
    let content = message.get_mut("result").and_then(|result| result.get_mut("content"));
    if let Some(content) = content.and_then(Value::as_array_mut) {
        content.push(json!({"type": "text", "text": format!("askfirst: {note}")}));
    }
    Value::Object(message).to_string().into_bytes()
}
