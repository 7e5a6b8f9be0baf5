//! Prints each call of a session as soon as it ends: who decided, how long it took, and the result.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use askfirst::record::{DecidedRecord, Ending, ExecutedRecord};
use askfirst::{ApprovalContext, CallId, Cause, Outcome};
use askfirst_display::redact::{Mark, Redactor};
use askfirst_runtime::observer::{Event, Observer};
use serde_json::Value;

use super::line::{CallLine, result_words};
use crate::outcome::summary_of;
use crate::print::out;

/// The reader of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A person, who gets a row when a call ends.
    Person,
    /// A program, which gets the outcomes at the end.
    Program,
}

/// A summary of a call that has ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallSummary {
    /// The person or part that decided. `None` if the decision could not be logged.
    pub by: Option<&'static str>,
    /// How long it ran, in milliseconds.
    pub took_ms: Option<u64>,
    /// How long it waited for the decision, in milliseconds.
    pub waited_ms: u64,
    /// The call with the arguments that a person edited.
    pub edited: Option<Arc<ApprovalContext>>,
    /// The note of the person who approved the call.
    pub note: Option<String>,
}

/// An observer that prints the calls of a session.
pub struct LiveRows {
    audience: Audience,
    redactor: Arc<Redactor>,
    calls: Mutex<HashMap<CallId, LiveCall>>,
}

/// A call that has not ended, or whose row was printed.
struct LiveCall {
    number: u32,
    call: Arc<ApprovalContext>,
    summary: CallSummary,
    result: String,
    printed: bool,
}

impl LiveRows {
    pub fn new(audience: Audience, redactor: Arc<Redactor>) -> Self {
        Self { audience, redactor, calls: Mutex::default() }
    }

    /// Announces calls before they are submitted, each with its line in the list.
    pub fn expect<'a>(&self, calls: impl IntoIterator<Item = (u32, &'a Arc<ApprovalContext>)>) {
        let mut known = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, call) in calls {
            let (call, id) = (Arc::clone(call), call.id);
            let summary = CallSummary::default();
            known.insert(id, LiveCall { number, call, summary, result: String::new(), printed: false });
        }
    }

    /// Returns the summary of a call that has ended. Prints its row if that has not happened yet.
    pub fn settle(&self, id: CallId, outcome: &Outcome) -> CallSummary {
        let known = self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        let Some(mut call) = known else { return CallSummary::default() };
        if !call.printed {
            let (word, rest) = crate::outcome::in_words(outcome);
            self.print(&mut call, word, &rest);
        }
        call.summary
    }

    fn print(&self, live: &mut LiveCall, word: &'static str, rest: &str) {
        live.printed = true;
        if self.audience == Audience::Program {
            return;
        }
        let (call, edited) = match &live.summary.edited {
            Some(call) => (call, "edited: "),
            None => (&live.call, ""),
        };
        let what = format!("{edited}{}", summary_of(call, &self.redactor));
        let rest = &self.redactor.text_about(&call.args, rest, Mark::Screen).left;
        let (number, over) = (live.number, &live.summary);
        let line = CallLine { number, word, over, what: &what, result: &live.result, rest };
        line.rows(askfirst_terminal::columns()).iter().for_each(|row| out(row));
    }

    fn decided(&self, live: &mut LiveCall, entry: &DecidedRecord) {
        let always = entry.decision.as_ref().is_some_and(|decision| decision.always);
        live.summary.by = Some(by(entry.cause, always));
        live.summary.edited = entry.edited_from.is_some().then(|| Arc::clone(&entry.call.call));
        live.summary.note = entry.decision.as_ref().and_then(|decision| decision.note.clone());
        live.summary.waited_ms += entry.waited_ms;
        if let Some(refusal) = &entry.refusal {
            if entry.cause == Cause::TimeOut {
                askfirst_terminal::wait_until_released();
            }
            let (word, rest) = crate::outcome::in_words(&Outcome::Denied(refusal.clone()));
            self.print(live, word, &rest);
        }
    }

    fn executed(&self, live: &mut LiveCall, entry: &ExecutedRecord, value: Option<&Value>) {
        live.summary.took_ms = Some(live.summary.took_ms.unwrap_or(0) + entry.took_ms);
        let word = match entry.ended {
            Ending::Stale => return,
            Ending::Done => "ran",
            Ending::Failed => "failed",
            Ending::Denied | Ending::Discarded => "refused",
            Ending::Cancelled => "canceled",
            Ending::HandedOver => "allowed",
        };
        if let Some(value) = value {
            let args = &live.summary.edited.as_ref().unwrap_or(&live.call).args;
            // A tool may repeat a secret that it got under a secret name.
            let about = self.redactor.about(args);
            live.result = about.text_about(args, &result_words(value), Mark::Screen).left;
        }
        self.print(live, word, entry.error.as_deref().unwrap_or_default());
    }
}

impl Observer for LiveRows {
    fn observe(&self, call: CallId, event: Event<'_>) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(live) = calls.get_mut(&call) else { return };
        match event {
            Event::Decided(entry) => self.decided(live, entry),
            Event::Executed(entry, value) => self.executed(live, entry, value),
        }
    }
}

/// Returns who or what decided, in at most eight characters. `always` is whether a rule of the user for the project did.
pub fn by(cause: Cause, always: bool) -> &'static str {
    match cause {
        Cause::Memory if always => "always",
        Cause::Policy => "rule",
        Cause::Mode => "mode",
        Cause::Memory => "session",
        Cause::Person => "you",
        Cause::TimeOut => "time-out",
        Cause::NoOneToAsk => "no one",
        Cause::EndOfInput => "no input",
        Cause::TerminalLost => "hang-up",
        Cause::ApproverFailed | Cause::RecordFailed => "a fault",
        Cause::Cancelled => "stopped",
        Cause::NoSandbox => "sandbox",
        Cause::AgentPrompt => "agent",
    }
}
