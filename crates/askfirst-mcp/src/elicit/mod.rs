//! Asking by the client itself: MCP elicitation, where the owner named it and the client offers it.
//!
//! It is the weakest way to ask. What the person sees is up to the client, and a client could answer by itself; so it
//! is used only where `ask_by` says so, and never to more than the person chose. Only the client whose call it is about
//! is asked.

mod form;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use askfirst::machine::{Answer, Member, Question, QuestionId};
use askfirst::ports::{Approver, Clock, Reply};
use askfirst::{Args, Cause};
use askfirst_display::redact::Redactor;
use askfirst_runtime::random;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use form::Form;

use crate::message::Id;

/// The beginning of the ids of our questions. A server behind the gateway cannot use it.
const OWN: &str = "askfirst:ask-";

/// Takes one line to the client. Says whether it could.
pub(crate) type Out = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Asks the client whose call it is. Without a call that offers it nobody is asked.
pub struct Elicit {
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    offered: Vec<Offered>,
    next: u64,
    open: Option<Open>,
}

/// How the client of a call can be asked about it.
enum By {
    /// By a request of ours, on the way that the answer to the call takes.
    Request(Out),
    /// By the result of the call, which the client makes again with its answer.
    Result(oneshot::Sender<Carried>),
}

/// A call whose client can be asked.
struct Offered {
    number: u64,
    tool: String,
    args: Args,
    by: By,
}

/// A question on its way inside the result of the call that it is about.
#[derive(Debug)]
pub(crate) struct Carried {
    /// What the client must give back with its answer.
    pub(crate) handle: String,
    /// The parameters of `elicitation/create`.
    pub(crate) params: Value,
}

/// For as long as it lives, the client of a call can be asked about it.
pub(crate) struct Offer {
    elicit: Arc<Elicit>,
    number: u64,
    handed: Option<oneshot::Receiver<Carried>>,
}

impl Offer {
    /// Looks for a question that the result of the call must carry. There is one at the most.
    pub(crate) fn poll_handed(&mut self, context: &mut Context<'_>) -> Poll<Carried> {
        let Some(handed) = &mut self.handed else { return Poll::Pending };
        match Future::poll(std::pin::Pin::new(handed), context) {
            Poll::Ready(Ok(carried)) => {
                self.handed = None;
                Poll::Ready(carried)
            }
            Poll::Ready(Err(_)) => {
                self.handed = None;
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        self.elicit.state().offered.retain(|offered| offered.number != self.number);
    }
}

/// The name of our question among those that a client is given.
pub(crate) const INPUT: &str = "approval";

/// A question that a client has.
struct Open {
    question: QuestionId,
    id: String,
    form: Form,
    reply: Reply,
    /// Where it went, if it was a request.
    out: Option<Out>,
}

impl Elicit {
    /// An approver that hides what `redactor` finds.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { redactor, clock, state: Mutex::default() })
    }

    /// Takes a client's answer to one of our questions; `result` is none for an error. Says whether it was one.
    pub(crate) fn answered(&self, id: &Id, result: Option<&[u8]>) -> bool {
        let Id::Text(id) = id else { return false };
        let asked = |open: &mut Open| open.id == *id && open.out.is_some();
        let Some(open) = self.state().open.take_if(asked) else { return is_own(id) };
        open.reply.send(match result.map(askfirst::json::parse_object) {
            Some(Ok(result)) => open.form.read(&result),
            Some(Err(_)) => Answer::failed(Cause::ApproverFailed, "the client's answer cannot be read"),
            None => Answer::failed(Cause::NobodyToAsk, "the client did not ask"),
        });
        true
    }

    /// Questions about this call can be asked by a request.
    pub(crate) fn by_request(self: &Arc<Self>, tool: &str, args: &Args, out: Out) -> Offer {
        self.offer(tool, args, By::Request(out), None)
    }

    /// A question about this call can be carried by its result.
    pub(crate) fn by_result(self: &Arc<Self>, tool: &str, args: &Args) -> Offer {
        let (hand, handed) = oneshot::channel();
        self.offer(tool, args, By::Result(hand), Some(handed))
    }

    fn offer(
        self: &Arc<Self>,
        tool: &str,
        args: &Args,
        by: By,
        handed: Option<oneshot::Receiver<Carried>>,
    ) -> Offer {
        let mut state = self.state();
        state.next += 1;
        let number = state.next;
        state.offered.push(Offered { number, tool: tool.to_owned(), args: args.clone(), by });
        Offer { elicit: Arc::clone(self), number, handed }
    }

    /// Takes the answer that came with a call. Says whether it was waited for.
    pub(crate) fn carried_back(&self, handle: &str, answers: &BTreeMap<String, Value>) -> bool {
        let asked = |open: &mut Open| open.id == handle && open.out.is_none();
        let Some(open) = self.state().open.take_if(asked) else { return false };
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
    /// How the client of the call that a question is about can be asked. A result carries one question, once.
    fn way_to(&mut self, question: &Question) -> Option<By> {
        let about = |offered: &Offered, member: &Member| {
            offered.tool == member.request.tool_name && offered.args == member.request.args
        };
        let first = question.members.first()?;
        // The newest: an older one may be of a call that is just ending.
        let at = self.offered.iter().rposition(|offered| about(offered, first))?;
        match &self.offered.get(at)?.by {
            By::Request(out) => Some(By::Request(Arc::clone(out))),
            By::Result(_) if question.members.len() > 1 => None,
            By::Result(_) => Some(self.offered.remove(at).by),
        }
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
        let Some(by) = state.way_to(&question) else {
            drop(state);
            return reply.send(nobody("the client does not offer to ask".to_owned()));
        };
        let out = match &by {
            By::Request(out) => Some(Arc::clone(out)),
            By::Result(_) => None,
        };
        state.open = Some(Open { question: question.id, id: id.clone(), form, reply, out });
        drop(state);
        match by {
            // A call that has just ended takes its question with it.
            By::Result(hand) => drop(hand.send(Carried { handle: id, params })),
            By::Request(out) => send(
                out,
                &json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}),
            ),
        }
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        let open = self.state().open.take_if(|open| open.question == question);
        let Some(Open { id, out: Some(out), .. }) = open else { return };
        let params = json!({"requestId": id, "reason": format!("the question is over: {cause}")});
        send(out, &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }
}

/// The client may be slow to read, and whoever asks must not wait for it.
fn send(out: Out, message: &Value) {
    let line = message.to_string();
    drop(std::thread::Builder::new().spawn(move || out(line.as_bytes())));
}
