//! What happens to the calls of a session, told as it happens: who decided, how long it took, what came of it.
//!
//! It stands where entries are recorded and results come by, and only looks: what it sees goes on as it was.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use askfirst::ports::{Durability, RecordFailed, Recorder};
use askfirst::record::{DecidedRecord, Ending, Record};
use askfirst::toolset::BoxFuture;
use askfirst::{
    ApprovalAware, ApprovalContext, Cause, Invocation, Outcome, ToolDefinition, ToolError, Toolset,
};
use askfirst_display::redact::{Mark, Redactor};
use serde_json::Value;

use super::line::{Line, result_words};
use crate::outcome::what;
use crate::print::out;
use crate::session::Session;

/// Who hears of it at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Somebody who looks.
    Person,
    /// A program, which gets it with the outcomes.
    Program,
}

/// A call that is on its way.
#[derive(Debug, Clone)]
pub struct Coming {
    /// Its line in the list.
    pub number: u32,
    /// What was asked for.
    pub call: Arc<ApprovalContext>,
}

/// What is known of a call that is over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Over {
    /// Who or what decided; nothing if that could not be recorded.
    pub by: Option<&'static str>,
    /// Milliseconds that it ran.
    pub took_ms: Option<u64>,
    /// Milliseconds that it waited for the decision.
    pub waited_ms: u64,
    /// The call that it became when a person edited it.
    pub edited: Option<Arc<ApprovalContext>>,
}

/// Looks on.
pub struct Live {
    recorder: OnceLock<Arc<dyn Recorder>>,
    told: Told,
    redactor: Arc<Redactor>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    coming: VecDeque<Coming>,
    over: Vec<Over>,
    now: Over,
    result: String,
    /// An entry could not be recorded: which call the next is about is not sure any more.
    lost: bool,
}

impl Live {
    pub fn new(told: Told, redactor: Arc<Redactor>) -> Self {
        Self { recorder: OnceLock::new(), told, redactor, state: Mutex::default() }
    }

    /// A session whose entries come by here. Before it is known where they go on to, nothing can be recorded.
    pub fn looks_at(self: &Arc<Self>, session: Session) -> Session {
        let _ = self.recorder.set(Arc::clone(&session.ledger) as _);
        Session { tools: session.tools.recorder(Arc::clone(self) as _), ..session }
    }

    /// These calls come next, in this order.
    pub fn expect(&self, calls: impl IntoIterator<Item = Coming>) {
        self.with(|state| {
            state.coming.extend(calls);
            state.over.clear();
            state.lost = false;
        });
    }

    /// What became of them. Those that nothing was heard of are told now, by their outcome.
    pub fn settle(&self, outcomes: &[Outcome]) -> Vec<Over> {
        self.with(|state| {
            while !state.coming.is_empty() {
                let Some(outcome) = outcomes.get(state.over.len()) else { break };
                let (word, rest) = crate::outcome::in_words(outcome);
                self.end(state, word, &rest);
            }
            state.coming.clear();
            std::mem::take(&mut state.over)
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn end(&self, state: &mut State, word: &'static str, rest: &str) {
        let (over, result) = (std::mem::take(&mut state.now), std::mem::take(&mut state.result));
        let Some(Coming { number, call }) = state.coming.pop_front() else { return };
        if self.told == Told::Person {
            let (call, edited) = match &over.edited {
                Some(call) => (call, "edited: "),
                None => (&call, ""),
            };
            let what = format!("{edited}{}", what(call, &self.redactor));
            let rest = &self.redactor.text_about(&call.args, rest, Mark::Screen).left;
            let line = Line { number, word, over: &over, what: &what, result: &result, rest };
            line.rows(askfirst_terminal::columns()).iter().for_each(|row| out(row));
        }
        state.over.push(over);
    }

    fn saw(&self, record: &Record) {
        match record {
            Record::Session(_) | Record::Requested(_) => {}
            Record::Decided(decided) if is_nested(&decided.call.call_id) => {}
            Record::Decided(decided) => self.with(|state| {
                state.now.by = Some(by(decided));
                state.now.edited = decided.edited_from.is_some().then(|| Arc::clone(&decided.call.call));
                state.now.waited_ms += decided.waited_ms;
                if let Some(refusal) = &decided.refusal {
                    if decided.cause == Cause::TimeOut {
                        askfirst_terminal::wait_until_left();
                    }
                    let (word, rest) = crate::outcome::in_words(&Outcome::Denied(refusal.clone()));
                    self.end(state, word, &rest);
                }
            }),
            Record::Executed(executed) => self.with(|state| {
                state.now.took_ms = Some(state.now.took_ms.unwrap_or(0) + executed.took_ms);
                let word = match executed.ended {
                    Ending::Stale => return,
                    Ending::Done => "ran",
                    Ending::Failed => "failed",
                    Ending::Denied => "refused",
                    Ending::Cancelled => "cancelled",
                };
                self.end(state, word, executed.error.as_deref().unwrap_or_default());
            }),
        }
    }
}

impl Recorder for Live {
    fn record(&self, record: &Record, durability: Durability) -> Result<(), RecordFailed> {
        let recorder = self.recorder.get().ok_or_else(|| RecordFailed("nowhere to record".to_owned()))?;
        let recorded = recorder.record(record, durability);
        match &recorded {
            Ok(()) if self.with(|state| !state.lost) => self.saw(record),
            Ok(()) => {}
            Err(_) => self.with(|state| state.lost = true),
        }
        recorded
    }
}

/// Whether an entry is about a question that a tool asked by itself.
fn is_nested(call_id: &str) -> bool {
    call_id.rsplit('-').next().is_some_and(|number| number.contains('.'))
}

/// Who or what decided, in a word.
fn by(decided: &DecidedRecord) -> &'static str {
    match decided.cause {
        Cause::Policy => "rule",
        Cause::Mode => "mode",
        Cause::Memory => "session",
        Cause::Person => "you",
        Cause::TimeOut => "time-out",
        Cause::NobodyToAsk => "nobody",
        Cause::EndOfInput => "no input",
        Cause::TerminalLost => "hang-up",
        Cause::ApproverFailed | Cause::RecordFailed => "a fault",
        Cause::Cancelled => "stopped",
        Cause::NoWalls => "no walls",
    }
}

/// Tools whose results are looked at as they come by.
pub struct Watched {
    pub tools: Arc<dyn Toolset>,
    pub live: Arc<Live>,
}

impl Toolset for Watched {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.tools.tools()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let args = invocation.args().clone();
            let result = self.tools.call(invocation).await;
            let words = result.as_ref().map(result_words).unwrap_or_default();
            // A tool may say again what it was told under a secret name.
            let about = self.live.redactor.about(&args);
            let words = about.text_about(&args, &words, Mark::Screen).left;
            self.live.with(|state| state.result = words);
            result
        })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        self.tools.approval()
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.tools.definition(name)
    }
}
