//! Tries several approvers in order. The next one gets a question only if the one before has no one to ask.
//!
//! Every answer is final, also a refusal. Only "no one to ask" and "terminal lost" lead to the next approver.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use askfirst::Cause;
use askfirst::machine::{Answer, Question, QuestionId};
use askfirst::ports::{Approver, Reply};

/// Asks the first approver that can reach a person.
pub struct InTurn(Arc<InTurnState>);

struct InTurnState {
    ways: Vec<Arc<dyn Approver>>,
    /// Questions that have no final answer yet.
    open: Mutex<HashSet<QuestionId>>,
}

impl InTurn {
    /// Creates the approver. It tries `ways` in order.
    #[must_use]
    pub fn new(ways: Vec<Arc<dyn Approver>>) -> Self {
        Self(Arc::new(InTurnState { ways, open: Mutex::default() }))
    }
}

impl Approver for InTurn {
    fn ask(&self, question: Question, reply: Reply) {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner).insert(question.id);
        ask(&self.0, 0, question, reply, None);
    }

    fn announce(&self, call_id: &str) {
        self.0.ways.iter().for_each(|way| way.announce(call_id));
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        self.0.over(question);
        // An approver that never got the question ignores this.
        self.0.ways.iter().for_each(|way| way.withdraw(question, cause));
    }
}

impl InTurnState {
    /// Marks a question as finished. Returns whether it was still open.
    fn over(&self, question: QuestionId) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&question)
    }

    fn is_open(&self, question: QuestionId) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).contains(&question)
    }
}

/// Asks the approver at index `at`. `failed` is the combined answer of those before it.
fn ask(inner: &Arc<InTurnState>, at: usize, question: Question, reply: Reply, failed: Option<Answer>) {
    let id = question.id;
    let Some(way) = inner.ways.get(at) else {
        inner.over(id);
        let nobody = || Answer::failed(Cause::NoOneToAsk, "no approver is available");
        return reply.send(failed.unwrap_or_else(nobody));
    };
    let (next, again) = (Arc::clone(inner), question.clone());
    let reply = Reply::new(move |answer| {
        if leads_on(&answer) && next.is_open(id) {
            let failed = joined(failed, answer);
            ask(&next, at + 1, again, reply, Some(failed));
        } else {
            next.over(id);
            reply.send(answer);
        }
    });
    way.ask(question, reply);
}

/// Returns whether the next approver should be tried: no one could be asked, or the terminal was lost.
fn leads_on(answer: &Answer) -> bool {
    let nobody = |cause: Cause| matches!(cause, Cause::NoOneToAsk | Cause::TerminalLost);
    !answer.decisions.is_empty()
        && answer.decisions.iter().all(|decision| !decision.approved && nobody(decision.cause))
}

/// Combines the failures of two approvers. A lost terminal takes precedence over no one to ask.
fn joined(before: Option<Answer>, now: Answer) -> Answer {
    let Some(before) = before else { return now };
    let decisions = || before.decisions.iter().chain(&now.decisions);
    let lost = decisions().any(|decision| decision.cause == Cause::TerminalLost);
    let notes: Vec<&str> = decisions().filter_map(|decision| decision.note.as_deref()).collect();
    Answer::failed(if lost { Cause::TerminalLost } else { Cause::NoOneToAsk }, notes.join("; "))
}

#[cfg(test)]
#[path = "in_turn/tests.rs"]
mod tests;
