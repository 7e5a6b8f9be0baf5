//! Approvers without a terminal.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use askfirst::machine::{OneByOne, Question};
use askfirst::ports::{Approver, Reply};
use askfirst::{ApprovalDecision, ApprovalRequest, Cause, PresentationKind};
use serde_json::Value;

use askfirst_display::diff::unified;

thread_local! {
    /// The controller whose question this thread is answering, or 0.
    static ANSWERING: Cell<usize> = const { Cell::new(0) };
}

/// Returns the controller whose question this thread is answering, or 0.
pub(crate) fn answering_for() -> usize {
    ANSWERING.get()
}

/// Runs `f` as part of answering a controller's question, and catches its panic.
pub(crate) fn answer_for<T>(controller: usize, f: impl FnOnce() -> T) -> std::thread::Result<T> {
    let before = ANSWERING.replace(controller);
    let done = catch_unwind(AssertUnwindSafe(f));
    ANSWERING.set(before);
    done
}

type Decide = dyn Fn(&ApprovalRequest) -> ApprovalDecision + Send + Sync;

/// An approver that calls a function. Each question runs on its own thread, so a function that never returns can time
/// out.
pub struct Callback(Arc<Decide>);

impl Callback {
    /// Creates an approver that calls `f` for every request of a question, in order. After a no that ends the run, it
    /// does not ask about the others.
    #[must_use]
    pub fn new(f: impl Fn(&ApprovalRequest) -> ApprovalDecision + Send + Sync + 'static) -> Self {
        Self(Arc::new(f))
    }
}

/// Returns a request for an approver that does not render pages. The two texts of a diff become one unified diff.
#[must_use]
pub fn written_out(request: &ApprovalRequest) -> ApprovalRequest {
    let mut request = request.clone();
    if let Some(shown) = request.presentation.as_mut().filter(|shown| shown.kind == PresentationKind::Diff) {
        let (before, after) = (shown.metadata.remove("before"), shown.metadata.remove("after"));
        match (&before, &after) {
            (Some(Value::String(old)), Some(Value::String(new))) => {
                shown.content = unified(&shown.content, old, new);
            }
            _ => {
                let kept = [("before", before), ("after", after)];
                let kept = kept.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?)));
                shown.metadata.extend(kept);
            }
        }
    }
    request
}

impl Approver for Callback {
    fn ask(&self, question: Question, reply: Reply) {
        let (decide, controller) = (Arc::clone(&self.0), answering_for());
        // If no thread can be started, the reply is dropped, and the answer is "the approver failed".
        drop(std::thread::Builder::new().name("askfirst-callback".to_owned()).spawn(move || {
            let one = |request: &ApprovalRequest| answer_for(controller, || decide(&written_out(request)));
            let mut decisions = OneByOne::new(&question);
            // Each request until a no ends the run.
            let _ = question.members.iter().all(|member| decisions.add(answer(one(&member.request))));
            reply.send(decisions.answer());
        }));
    }
}

fn answer(decided: std::thread::Result<ApprovalDecision>) -> ApprovalDecision {
    decided.unwrap_or_else(|_| ApprovalDecision::no(Cause::ApproverFailed).with_note("the callback panicked"))
}
