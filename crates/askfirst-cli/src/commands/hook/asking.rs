//! Asks a person from one of several hook processes: one question at a time, and one answer for equal requests.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use askfirst::machine::{Answer, Question, QuestionId};
use askfirst::ports::{Approver, Clock, Reply};
use askfirst::{Approval, ApprovalDecision, ApprovalMemory, ApprovalRequest, Cause, Timestamp};
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp};

use super::agent_session::AgentSession;

/// Asks through another approver when it is this process's turn.
pub struct SessionApprover(Arc<TurnState>);

struct TurnState {
    session: Arc<AgentSession>,
    inner: Arc<dyn Approver>,
    clock: Arc<dyn Clock>,
    withdrawn: Mutex<HashSet<QuestionId>>,
}

impl SessionApprover {
    pub fn new(session: Arc<AgentSession>, inner: Arc<dyn Approver>, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(TurnState { session, inner, clock, withdrawn: Mutex::default() }))
    }
}

impl Approver for SessionApprover {
    fn ask(&self, question: Question, reply: Reply) {
        let (state, since) = (Arc::clone(&self.0), self.0.clock.now());
        // If no thread can be started, the reply is dropped, and the answer is "the approver failed".
        drop(std::thread::Builder::new().name("askfirst-turn".to_owned()).spawn(move || {
            let turn = match state.session.turn() {
                Ok(turn) => turn,
                Err(e) => return reply.send(Answer::failed(Cause::ApproverFailed, e.to_string())),
            };
            if state.withdrawn.lock().unwrap_or_else(PoisonError::into_inner).contains(&question.id) {
                return;
            }
            let requests: Vec<ApprovalRequest> =
                question.members.iter().map(|member| (*member.request).clone()).collect();
            if let Some(decisions) = state.answered(&requests, since) {
                return reply.send(Answer { decisions, seen: None });
            }
            let next = Arc::clone(&state);
            let reply = Reply::new(move |answer| {
                next.share(&requests, &answer);
                drop(turn);
                reply.send(answer);
            });
            state.inner.ask(question, reply);
        }));
    }

    fn announce(&self, call_id: &str) {
        self.0.inner.announce(call_id);
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        self.0.withdrawn.lock().unwrap_or_else(PoisonError::into_inner).insert(question);
        self.0.inner.withdraw(question, cause);
    }
}

impl TurnState {
    /// Returns the decisions that other processes got while this one waited, if there is one for every request.
    fn answered(&self, requests: &[ApprovalRequest], since: Timestamp) -> Option<Vec<ApprovalDecision>> {
        let mut memory = ApprovalMemory::new(None);
        self.session.remembered().ok()?.into_iter().for_each(|decision| memory.insert(decision));
        let now = self.clock.now();
        let mut answer = |request: &ApprovalRequest| {
            if request.approval == Approval::Human {
                return None;
            }
            let remembered = memory
                .recall(request, now)
                .map(|decision| ApprovalDecision { cause: Cause::Memory, ..decision });
            remembered.or_else(|| self.session.answer_since(request, since).ok().flatten())
        };
        requests.iter().map(&mut answer).collect()
    }

    fn share(&self, requests: &[ApprovalRequest], answer: &Answer) {
        let decisions = answer.decisions.iter().cycle().take(requests.len());
        for (request, decision) in requests.iter().zip(decisions) {
            // The calls of others have their own arguments, and each agent's prompt is about one call.
            if decision.cause == Cause::Person && decision.edited_args.is_none() {
                // An answer that is not shared is asked for again.
                drop(self.session.share(request, decision, self.clock.now()));
            }
        }
    }
}

/// Leaves the question to the prompt of the agent itself.
pub struct AgentPrompt;

impl Approver for AgentPrompt {
    fn ask(&self, _: Question, reply: Reply) {
        reply.send(Answer::all(ApprovalDecision::no(Cause::AgentPrompt)));
    }
}

/// Whether a prompt on the controlling terminal would not disturb the agent: the agent does not draw there, and keys
/// reach this process.
pub fn is_terminal_free() -> bool {
    let Ok(terminal) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty") else {
        return false;
    };
    let is_ours = tcgetpgrp(&terminal).is_ok_and(|group| group == rustix::process::getpgrp());
    let reads_lines = |modes: LocalModes| modes.contains(LocalModes::ICANON | LocalModes::ECHO);
    is_ours && tcgetattr(&terminal).is_ok_and(|modes| reads_lines(modes.local_modes))
}
