//! Approval by the MCP client itself, through elicitation. It needs `ask_by` in the config and a client that supports
//! it.
//!
//! This is the weakest approver: the client decides what the person sees, and it could answer on its own. So askfirst
//! uses it only if the config names it, and asks only the client that made the call.

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

/// The prefix of the ids of our approval requests. A server behind the gateway cannot use it.
const OWN: &str = "askfirst:ask-";

/// Sends one line to the client. Returns whether it was sent.
pub(crate) type Out = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// An approver that asks the client that made the call. It fails if that client does not support elicitation.
pub struct Elicit {
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
    state: Mutex<ElicitState>,
}

#[derive(Default)]
struct ElicitState {
    offered: Vec<AskableCall>,
    next: u64,
    open: Option<OpenRequest>,
}

/// How to ask the client of a call.
enum Route {
    /// By a request of ours, on the same stream as the answer to the call.
    Request(Out),
    /// By the result of the call. The client repeats the call together with its answer.
    Result(oneshot::Sender<CarriedRequest>),
}

/// A call whose client can be asked.
struct AskableCall {
    number: u64,
    tool: String,
    args: Args,
    by: Route,
}

/// An approval request inside the result of the call that it is about.
#[derive(Debug)]
pub(crate) struct CarriedRequest {
    /// The value that the client must return with its answer.
    pub(crate) handle: String,
    /// The parameters of `elicitation/create`.
    pub(crate) params: Value,
}

/// Allows askfirst to ask the client of a call, for as long as this value lives.
pub(crate) struct Offer {
    elicit: Arc<Elicit>,
    number: u64,
    handed: Option<oneshot::Receiver<CarriedRequest>>,
}

impl Offer {
    /// Polls for an approval request that the result of the call must carry. There is at most one.
    pub(crate) fn poll_handed(&mut self, context: &mut Context<'_>) -> Poll<CarriedRequest> {
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

/// The key of our approval request in `inputRequests`.
pub(crate) const INPUT: &str = "approval";

/// An approval request that a client has not answered yet.
struct OpenRequest {
    question: QuestionId,
    id: String,
    form: Form,
    reply: Reply,
    /// The destination of the request, or `None` if the result of the call carries it.
    out: Option<Out>,
}

impl Elicit {
    /// Creates an approver that redacts secrets with `redactor`.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { redactor, clock, state: Mutex::default() })
    }

    /// Handles a client's answer; `result` is `None` for an error. Returns whether it answers one of our approval
    /// requests.
    pub(crate) fn answered(&self, id: &Id, result: Option<&[u8]>) -> bool {
        let Id::Text(id) = id else { return false };
        let asked = |open: &mut OpenRequest| open.id == *id && open.out.is_some();
        let Some(open) = self.state().open.take_if(asked) else { return is_own(id) };
        open.reply.send(match result.map(askfirst::json::parse_object) {
            Some(Ok(result)) => open.form.read(&result),
            Some(Err(_)) => Answer::failed(Cause::ApproverFailed, "cannot read the client's answer"),
            None => Answer::failed(Cause::NoOneToAsk, "the client did not show the form"),
        });
        true
    }

    /// Allows approval requests about this call, each as a request to the client.
    pub(crate) fn by_request(self: &Arc<Self>, tool: &str, args: &Args, out: Out) -> Offer {
        self.offer(tool, args, Route::Request(out), None)
    }

    /// Allows one approval request about this call, in the result of the call.
    pub(crate) fn by_result(self: &Arc<Self>, tool: &str, args: &Args) -> Offer {
        let (hand, handed) = oneshot::channel();
        self.offer(tool, args, Route::Result(hand), Some(handed))
    }

    fn offer(
        self: &Arc<Self>,
        tool: &str,
        args: &Args,
        by: Route,
        handed: Option<oneshot::Receiver<CarriedRequest>>,
    ) -> Offer {
        let mut state = self.state();
        state.next += 1;
        let number = state.next;
        state.offered.push(AskableCall { number, tool: tool.to_owned(), args: args.clone(), by });
        Offer { elicit: Arc::clone(self), number, handed }
    }

    /// Handles the answer that came with a repeated call. Returns whether an approval request was waiting for it.
    pub(crate) fn carried_back(&self, handle: &str, answers: &BTreeMap<String, Value>) -> bool {
        let asked = |open: &mut OpenRequest| open.id == handle && open.out.is_none();
        let Some(open) = self.state().open.take_if(asked) else { return false };
        let only = answers.len() == 1;
        open.reply.send(match answers.get(INPUT) {
            Some(Value::Object(result)) if only => open.form.read(result),
            Some(_) | None => Answer::failed(Cause::ApproverFailed, "cannot read the client's answer"),
        });
        true
    }

    fn state(&self) -> MutexGuard<'_, ElicitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an id belongs to one of our approval requests.
pub(crate) fn is_own(id: &str) -> bool {
    id.starts_with(OWN)
}

/// Whether a client can show a form.
pub(crate) fn offers(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|all| all.get("elicitation")).and_then(Value::as_object);
    // An older client sends an empty object. A newer client may support only `url`, not `form`.
    elicitation.is_some_and(|offered| !offered.contains_key("url") || offered.contains_key("form"))
}

impl ElicitState {
    /// Finds out how to ask the client of the call. The result of a call carries one approval request, once.
    fn way_to(&mut self, question: &Question) -> Option<Route> {
        let about = |offered: &AskableCall, member: &Member| {
            offered.tool == member.request.tool_name && offered.args == member.request.args
        };
        let first = question.members.first()?;
        // The newest matching call: an older one may be about to end.
        let at = self.offered.iter().rposition(|offered| about(offered, first))?;
        match &self.offered.get(at)?.by {
            Route::Request(out) => Some(Route::Request(Arc::clone(out))),
            Route::Result(_) if question.members.len() > 1 => None,
            Route::Result(_) => Some(self.offered.remove(at).by),
        }
    }
}

impl Approver for Elicit {
    fn ask(&self, question: Question, reply: Reply) {
        let no_one = |note: String| Answer::failed(Cause::NoOneToAsk, note);
        let form = match Form::of(&question, &self.redactor, self.clock.now()) {
            Ok(form) => form,
            Err(e) => return reply.send(no_one(e.to_string())),
        };
        let Ok(fresh) = random::bytes() else {
            return reply.send(no_one("cannot create an id".to_owned()));
        };
        let id = format!("{OWN}{}", random::hex(&fresh));
        let params = form.params();
        let mut state = self.state();
        let Some(by) = state.way_to(&question) else {
            drop(state);
            return reply.send(no_one("the client does not support elicitation".to_owned()));
        };
        let out = match &by {
            Route::Request(out) => Some(Arc::clone(out)),
            Route::Result(_) => None,
        };
        state.open = Some(OpenRequest { question: question.id, id: id.clone(), form, reply, out });
        drop(state);
        match by {
            // The receiver is gone if the call has just ended. Then the approval request ends too.
            Route::Result(hand) => drop(hand.send(CarriedRequest { handle: id, params })),
            Route::Request(out) => send(
                out,
                &json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}),
            ),
        }
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        let open = self.state().open.take_if(|open| open.question == question);
        let Some(OpenRequest { id, out: Some(out), .. }) = open else { return };
        let params = json!({"requestId": id, "reason": format!("the approval request ended: {cause}")});
        send(out, &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }
}

/// Sends from a thread of its own: the client may be slow, and the approver must not wait for it.
fn send(out: Out, message: &Value) {
    let line = message.to_string();
    drop(std::thread::Builder::new().spawn(move || out(line.as_bytes())));
}
