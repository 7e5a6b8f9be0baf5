//! Approvers that are not a terminal.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use askfirst::machine::{Answer, Question};
use askfirst::ports::{Approver, Reply};
use askfirst::{ApprovalDecision, ApprovalRequest, Cause, PresentationKind};
use serde_json::Value;

use crate::present::diff::unified;

type Decide = dyn Fn(&ApprovalRequest) -> ApprovalDecision + Send + Sync;

/// A function that answers, each question on a thread of its own, so that one that never returns can time out.
pub struct Callback(Arc<Decide>);

impl Callback {
    /// Asks `f` about every request of a question, in order.
    #[must_use]
    pub fn new(f: impl Fn(&ApprovalRequest) -> ApprovalDecision + Send + Sync + 'static) -> Self {
        Self(Arc::new(f))
    }
}

/// A request for somebody who makes no pages: of two texts, the diff is written out.
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
        let decide = Arc::clone(&self.0);
        // If no thread can be had the reply is dropped, which answers that the approver failed.
        drop(std::thread::Builder::new().name("askfirst-callback".to_owned()).spawn(move || {
            let decisions =
                question.members.iter().map(|member| answer(&*decide, &written_out(&member.request)));
            let decisions = decisions.collect();
            reply.send(Answer { decisions, seen: None });
        }));
    }
}

fn answer(decide: &Decide, request: &ApprovalRequest) -> ApprovalDecision {
    catch_unwind(AssertUnwindSafe(|| decide(request)))
        .unwrap_or_else(|_| ApprovalDecision::no(Cause::ApproverFailed).with_note("the callback panicked"))
}
