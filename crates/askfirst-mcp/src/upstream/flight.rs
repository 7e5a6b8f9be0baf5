//! One call that is in flight: sent to the server, or about to be.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use askfirst::json::count_object;
use askfirst::{Args, ContentDigest, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::lines::KeptLine;
use crate::message::Id;
use crate::out::LineSink;
use crate::splice;

/// This many bytes of a message count as one value.
const BYTES: usize = 64;

/// A call in flight.
pub(crate) struct Flight {
    /// How often arguments were assessed before the call was sent: more than once if a person edited them.
    looked_at: AtomicUsize,
    /// The memory that the call holds, counted in values.
    weight: usize,
    /// Locked while the call is written to the server.
    sending: Mutex<()>,
    state: Mutex<FlightState>,
}

/// The server's answer to a call.
pub(crate) struct ServerAnswer {
    /// The answer, unchanged.
    pub(crate) line: KeptLine,
    /// The destination of messages that arrived with the answer.
    pub(crate) back: Arc<dyn LineSink>,
    /// A text for the model about what a person changed or wrote.
    pub(crate) notice: Option<String>,
}

/// The progress of a call. A withdrawn call is never sent, and a sent call is never withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Held,
    Withdrawn,
    Sent,
}

struct FlightState {
    /// The message as the client wrote it.
    line: KeptLine,
    to_server: Arc<dyn LineSink>,
    stage: Stage,
    notice: Option<String>,
    answer: Option<(KeptLine, Arc<dyn LineSink>)>,
    says: CallStatus,
    /// The reason why no answer will come.
    failed: Option<String>,
}

impl Flight {
    pub(crate) fn new(line: KeptLine, args: &Args, to_server: Arc<dyn LineSink>) -> Self {
        let weight = count_object(args) + line.len() / BYTES;
        let state = FlightState {
            line,
            to_server,
            stage: Stage::Held,
            notice: None,
            answer: None,
            says: CallStatus::Error,
            failed: None,
        };
        let (looked_at, sending) = (AtomicUsize::new(0), Mutex::default());
        Self { looked_at, weight, sending, state: Mutex::new(state) }
    }

    /// Continues the call under a new id and destination, after the client repeated it. Returns false if the call was
    /// already sent or withdrawn.
    pub(crate) fn again(&self, id: &Id, meta: Option<&Value>, to_server: Arc<dyn LineSink>) -> bool {
        let mut state = self.state();
        let line = splice::with_id(&state.line, &id.json().to_string());
        let line = line.and_then(|line| match meta {
            Some(meta) => splice::with_meta(&line, meta),
            None => Some(line),
        });
        match line {
            Some(line) if state.stage == Stage::Held => {
                (state.line, state.to_server) = (KeptLine::Own(line), to_server);
                true
            }
            Some(_) | None => false,
        }
    }

    fn state(&self) -> MutexGuard<'_, FlightState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the server's answer.
    pub(crate) fn answer(&self, line: KeptLine, says: CallStatus, back: Arc<dyn LineSink>) {
        let mut state = self.state();
        (state.answer, state.says) = (Some((line, back)), says);
    }

    /// Stores the reason why no answer will come.
    pub(crate) fn fail(&self, why: &str) {
        self.state().failed = Some(why.to_owned());
    }

    /// Whether the call was sent to the server.
    pub(crate) fn is_sent(&self) -> bool {
        self.state().stage == Stage::Sent
    }

    /// Withdraws the call. Returns false if it was already sent: then only the server can end it.
    pub(crate) fn withdraw(&self) -> bool {
        let mut state = self.state();
        if state.stage == Stage::Held {
            state.stage = Stage::Withdrawn;
        }
        state.stage == Stage::Withdrawn
    }

    /// Waits until a sent call has been written, so that later messages follow it.
    pub(crate) fn written(&self) {
        drop(self.sending.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes the server's answer.
    pub(crate) fn take_answer(&self) -> Option<ServerAnswer> {
        let mut state = self.state();
        let (answer, notice) = (state.answer.take(), state.notice.take());
        answer.map(|(line, back)| ServerAnswer { line, back, notice })
    }

    /// The memory that the call holds, counted in values.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Counts an assessment of arguments before the call is sent.
    pub(super) fn count_look(&self) {
        self.looked_at.fetch_add(1, Ordering::AcqRel);
    }

    /// Sends the call, unless it was withdrawn.
    pub(super) fn send(&self, args: &Args, notice: Option<String>) -> Result<(), ToolError> {
        let _sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let (line, to_server) = self.depart(args, notice)?;
        to_server.line(&line).map_err(|e| ToolError::Failed(format!("cannot reach the server: {e}")))
    }

    /// Returns the message and its destination, and marks the call as sent.
    fn depart(
        &self,
        args: &Args,
        notice: Option<String>,
    ) -> Result<(KeptLine, Arc<dyn LineSink>), ToolError> {
        let mut state = self.state();
        if state.stage == Stage::Withdrawn {
            return Err(ToolError::Failed("the call was canceled before it was sent".to_owned()));
        }
        let line = self.line_for(&mut state, args)?;
        (state.stage, state.notice) = (Stage::Sent, notice);
        Ok((line, Arc::clone(&state.to_server)))
    }

    /// The outcome of the call for the audit log, once there is one.
    pub(super) fn outcome(&self) -> Poll<Result<Value, ToolError>> {
        let state = self.state();
        match (&state.answer, &state.failed) {
            (Some((line, _)), _) => Poll::Ready(outcome(line, state.says)),
            (None, Some(why)) => Poll::Ready(Err(ToolError::Failed(why.clone()))),
            (None, None) => Poll::Pending,
        }
    }

    /// The message with these arguments: the client's own bytes, if no one edited the arguments. The first assessment
    /// always sees the client's own arguments.
    fn line_for(&self, state: &mut FlightState, args: &Args) -> Result<KeptLine, ToolError> {
        if self.looked_at.load(Ordering::Acquire) == 1 {
            return Ok(std::mem::take(&mut state.line));
        }
        let broken = |e: String| ToolError::Failed(format!("cannot apply the edited arguments: {e}"));
        let mut message = askfirst::json::parse_object(&state.line).map_err(|e| broken(e.to_string()))?;
        let params = message.get_mut("params").and_then(Value::as_object_mut);
        let params = params.ok_or_else(|| broken("it has no `params`".to_owned()))?;
        let new = Value::Object(args.clone());
        let old = params.insert("arguments".to_owned(), new.clone());
        if old.unwrap_or_else(|| json!({})) == new {
            return Ok(std::mem::take(&mut state.line));
        }
        Ok(KeptLine::Own(Value::Object(message).to_string().into_bytes()))
    }
}

/// The outcome of a call, according to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallStatus {
    Done,
    Failed,
    Nothing,
    Error,
}

impl CallStatus {
    /// Reads the outcome from the result of an answer. `None` stands for an error.
    pub(crate) fn of(result: Option<&[u8]>) -> Self {
        #[derive(Deserialize)]
        struct Result_ {
            #[serde(rename = "isError", default)]
            is_error: bool,
        }
        // A result without the key, even escaped, needs no parse.
        let absent = |result: &[u8]| {
            let has = |word: &[u8]| memchr::memmem::find(result, word).is_some();
            result.starts_with(b"{") && !has(b"isError") && !has(b"\\u")
        };
        if result.is_some_and(absent) {
            return Self::Done;
        }
        match result.map(serde_json::from_slice::<Result_>) {
            Some(Ok(Result_ { is_error: false })) => Self::Done,
            Some(Ok(Result_ { is_error: true })) => Self::Failed,
            Some(Err(_)) => Self::Nothing,
            None => Self::Error,
        }
    }
}

/// The outcome for the audit log: the digest of the answer. The client gets the answer itself.
fn outcome(line: &[u8], says: CallStatus) -> Result<Value, ToolError> {
    let digest = json!({"answer": ContentDigest::of(line).to_string()});
    let message = match says {
        CallStatus::Done => return Ok(digest),
        CallStatus::Failed => "the server reported that the call failed",
        CallStatus::Nothing => "the server sent an invalid result",
        CallStatus::Error => "the server answered with an error",
    };
    Err(ToolError::Ended { message: message.to_owned(), result: digest })
}
