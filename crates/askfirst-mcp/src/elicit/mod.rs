//! Asking by the client itself: MCP elicitation, where the owner named it and the client offers it.
//!
//! It is the weakest way to ask. What the person sees is up to the client, and a client could answer by itself; so it
//! is used only where `ask_by` says so, and never to more than the person chose.

mod form;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use askfirst::machine::{Answer, Question, QuestionId};
use askfirst::ports::{Approver, Clock, Reply};
use askfirst::{Args, Cause};
use askfirst_runtime::random;
use askfirst_runtime::redact::Redactor;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use form::Form;

use crate::message::Id;

/// The beginning of the ids of our questions. A server behind the gateway cannot use it.
const OWN: &str = "askfirst:ask-";

/// Takes one line to the client. Says whether it could.
type Out = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Asks the client. It asks nobody before a client has come that offers it.
pub struct Elicit {
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    out: Option<Out>,
    carriers: Vec<Carrier>,
    next: u64,
    open: Option<Open>,
}

/// A call of a client that cannot be asked by itself, but can be told that its call needs an answer first.
struct Carrier {
    number: u64,
    tool: String,
    args: Args,
    hand: oneshot::Sender<Carried>,
}

/// A question on its way inside the result of the call that it is about.
#[derive(Debug)]
pub(crate) struct Carried {
    /// What the client must give back with its answer.
    pub(crate) handle: String,
    /// The parameters of `elicitation/create`.
    pub(crate) params: Value,
}

/// Offers to carry questions about one call, for as long as it lives.
pub(crate) struct Carrying {
    elicit: Arc<Elicit>,
    number: u64,
    handed: oneshot::Receiver<Carried>,
}

impl Carrying {
    /// Waits for a question to carry, for ever if there is none.
    pub(crate) async fn handed(&mut self) -> Carried {
        match (&mut self.handed).await {
            Ok(carried) => carried,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Carrying {
    fn drop(&mut self) {
        self.elicit.state().carriers.retain(|carrier| carrier.number != self.number);
    }
}

/// The name of our question among those that a client is given.
pub(crate) const INPUT: &str = "approval";

/// A question that the client has.
struct Open {
    question: QuestionId,
    id: String,
    form: Form,
    reply: Reply,
}

impl Elicit {
    /// An approver that hides what `redactor` finds.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { redactor, clock, state: Mutex::default() })
    }

    /// A client introduces itself: if it offers to ask, it is asked by `out` from now on.
    pub(crate) fn client_came(&self, initialize: &Args, out: Out) {
        self.state().out = offers(initialize.get("capabilities")).then_some(out);
    }

    /// The client is gone, and with it whoever was asked.
    pub(crate) fn client_left(&self) {
        let open = {
            let mut state = self.state();
            state.out = None;
            state.open.take()
        };
        if let Some(open) = open {
            open.reply.send(Answer::failed(Cause::TerminalLost, "the client went away"));
        }
    }

    /// Takes the client's answer to one of our questions; `result` is none for an error. Says whether it was one.
    pub(crate) fn answered(&self, id: &Id, result: Option<&[u8]>) -> bool {
        let Id::Text(id) = id else { return false };
        let Some(open) = self.state().open.take_if(|open| open.id == *id) else { return is_own(id) };
        open.reply.send(match result.map(askfirst::json::parse_object) {
            Some(Ok(result)) => open.form.read(&result),
            Some(Err(_)) => Answer::failed(Cause::ApproverFailed, "the client's answer cannot be read"),
            None => Answer::failed(Cause::NobodyToAsk, "the client did not ask"),
        });
        true
    }

    /// Questions about this call can be carried by its result.
    pub(crate) fn carry(self: &Arc<Self>, tool: &str, args: &Args) -> Carrying {
        let (hand, handed) = oneshot::channel();
        let mut state = self.state();
        state.next += 1;
        let number = state.next;
        state.carriers.push(Carrier { number, tool: tool.to_owned(), args: args.clone(), hand });
        Carrying { elicit: Arc::clone(self), number, handed }
    }

    /// Takes the answer that came with a call. Says whether it was waited for.
    pub(crate) fn carried_back(&self, handle: &str, answers: &BTreeMap<String, Value>) -> bool {
        let Some(open) = self.state().open.take_if(|open| open.id == handle) else { return false };
        let only = answers.len() == 1;
        open.reply.send(match answers.get(INPUT) {
            Some(Value::Object(result)) if only => open.form.read(result),
            Some(_) | None => Answer::failed(Cause::ApproverFailed, "the client's answer cannot be read"),
        });
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an id is one that only we give.
pub(crate) fn is_own(id: &str) -> bool {
    id.starts_with(OWN)
}

/// Whether a client can show a form.
pub(crate) fn offers(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|all| all.get("elicitation")).and_then(Value::as_object);
    // An older client says only that it can; a newer one may say that it can do something else only.
    elicitation.is_some_and(|offered| !offered.contains_key("url") || offered.contains_key("form"))
}

impl State {
    /// The call that a question is about, if it can carry it.
    fn carrier_of(&mut self, question: &Question) -> Option<Carrier> {
        let [member] = question.members.as_slice() else { return None };
        let about = |carrier: &Carrier| {
            carrier.tool == member.request.tool_name && carrier.args == member.request.args
        };
        let at = self.carriers.iter().position(about)?;
        Some(self.carriers.remove(at))
    }
}

impl Approver for Elicit {
    fn ask(&self, question: Question, reply: Reply) {
        let nobody = |note: String| Answer::failed(Cause::NobodyToAsk, note);
        let form = match Form::of(&question, &self.redactor, self.clock.now()) {
            Ok(form) => form,
            Err(e) => return reply.send(nobody(e.to_string())),
        };
        let Ok(fresh) = random::bytes() else {
            return reply.send(nobody("no id could be made".to_owned()));
        };
        let id = format!("{OWN}{}", random::hex(&fresh));
        let params = form.params();
        let mut state = self.state();
        let out = state.out.clone();
        let carrier = if out.is_some() { None } else { state.carrier_of(&question) };
        if out.is_none() && carrier.is_none() {
            drop(state);
            return reply.send(nobody("the client does not offer to ask".to_owned()));
        }
        state.open = Some(Open { question: question.id, id: id.clone(), form, reply });
        drop(state);
        if let Some(carrier) = carrier {
            // A call that has just ended takes its question with it.
            drop(carrier.hand.send(Carried { handle: id, params }));
        } else if let Some(out) = out {
            let line = json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params});
            // The client may be slow to read, and whoever asks must not wait for it.
            drop(std::thread::Builder::new().spawn(move || out(line.to_string().as_bytes())));
        }
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        let (open, out) = {
            let mut state = self.state();
            (state.open.take_if(|open| open.question == question), state.out.clone())
        };
        let (Some(open), Some(out)) = (open, out) else { return };
        let params = json!({"requestId": open.id, "reason": format!("the question is over: {cause}")});
        let line = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        drop(std::thread::Builder::new().spawn(move || out(line.to_string().as_bytes())));
    }
}
