//! One call on its way to the server and back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use askfirst::json::count_object;
use askfirst::{Args, ContentDigest, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::lines::Kept;
use crate::message::Id;
use crate::out::Out;
use crate::splice;

/// So many bytes of a message count as a value.
const BYTES: usize = 64;

/// A call on its way.
pub(crate) struct Flight {
    /// How often arguments were looked at before they may go: more than once, if a person changed them.
    looked_at: AtomicUsize,
    /// How much it holds, counted in values.
    weight: usize,
    /// Held while it is being written to the server.
    sending: Mutex<()>,
    state: Mutex<State>,
}

/// The server's answer to a call.
pub(crate) struct Answer {
    /// As it came.
    pub(crate) line: Kept,
    /// Where what came with it goes.
    pub(crate) back: Arc<dyn Out>,
    /// Whether a person had changed the arguments.
    pub(crate) edited: bool,
}

/// How far a call has come. What is withdrawn is never sent, and what is sent is never withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Held,
    Withdrawn,
    Sent,
}

struct State {
    /// The message as the client wrote it.
    line: Kept,
    to_server: Arc<dyn Out>,
    stage: Stage,
    edited: bool,
    answer: Option<(Kept, Arc<dyn Out>)>,
    says: Says,
    /// Why there will be no answer.
    failed: Option<String>,
}

impl Flight {
    pub(crate) fn new(line: Kept, args: &Args, to_server: Arc<dyn Out>) -> Self {
        let weight = count_object(args) + line.len() / BYTES;
        let state = State {
            line,
            to_server,
            stage: Stage::Held,
            edited: false,
            answer: None,
            says: Says::Error,
            failed: None,
        };
        let (looked_at, sending) = (AtomicUsize::new(0), Mutex::default());
        Self { looked_at, weight, sending, state: Mutex::new(state) }
    }

    /// The client makes the same call again, which is sent from where it is now. False if it was sent or withdrawn.
    pub(crate) fn again(&self, id: &Id, meta: Option<&Value>, to_server: Arc<dyn Out>) -> bool {
        let mut state = self.state();
        let line = splice::with_id(&state.line, &id.json().to_string());
        let line = line.and_then(|line| match meta {
            Some(meta) => splice::with_meta(&line, meta),
            None => Some(line),
        });
        match line {
            Some(line) if state.stage == Stage::Held => {
                (state.line, state.to_server) = (Kept::Own(line), to_server);
                true
            }
            Some(_) | None => false,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's answer has come.
    pub(crate) fn answer(&self, line: Kept, says: Says, back: Arc<dyn Out>) {
        let mut state = self.state();
        (state.answer, state.says) = (Some((line, back)), says);
    }

    /// No answer will come.
    pub(crate) fn fail(&self, why: &str) {
        self.state().failed = Some(why.to_owned());
    }

    /// Whether the server has been sent the call.
    pub(crate) fn is_sent(&self) -> bool {
        self.state().stage == Stage::Sent
    }

    /// Nobody wants it to be sent any more. False if it has been: then it is the server's to end.
    pub(crate) fn withdraw(&self) -> bool {
        let mut state = self.state();
        if state.stage == Stage::Held {
            state.stage = Stage::Withdrawn;
        }
        state.stage == Stage::Withdrawn
    }

    /// Waits until a call that counts as sent has been written, so that what follows it comes after it.
    pub(crate) fn written(&self) {
        drop(self.sending.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The server's answer.
    pub(crate) fn take_answer(&self) -> Option<Answer> {
        let mut state = self.state();
        let edited = state.edited;
        state.answer.take().map(|(line, back)| Answer { line, back, edited })
    }

    /// How much it holds, counted in values.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Arguments are being looked at, as they are before they may go.
    pub(super) fn count_look(&self) {
        self.looked_at.fetch_add(1, Ordering::AcqRel);
    }

    /// Sends it, unless it was withdrawn.
    pub(super) fn send(&self, args: &Args) -> Result<(), ToolError> {
        let _sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        let (line, to_server) = self.depart(args)?;
        to_server.line(&line).map_err(|e| ToolError::Failed(format!("the server cannot be reached: {e}")))
    }

    /// What is sent, and where to. From here on it counts as sent.
    fn depart(&self, args: &Args) -> Result<(Kept, Arc<dyn Out>), ToolError> {
        let mut state = self.state();
        if state.stage == Stage::Withdrawn {
            return Err(ToolError::Failed("it was given up before it was sent".to_owned()));
        }
        let (line, edited) = self.line_for(&mut state, args)?;
        (state.stage, state.edited) = (Stage::Sent, edited);
        Ok((line, Arc::clone(&state.to_server)))
    }

    /// What the record says of its end, once there is one.
    pub(super) fn outcome(&self) -> Poll<Result<Value, ToolError>> {
        let state = self.state();
        match (&state.answer, &state.failed) {
            (Some((line, _)), _) => Poll::Ready(outcome(line, state.says)),
            (None, Some(why)) => Poll::Ready(Err(ToolError::Failed(why.clone()))),
            (None, None) => Poll::Pending,
        }
    }

    /// The message with these arguments: as the client wrote it, if they are its own. The first that are looked at are.
    fn line_for(&self, state: &mut State, args: &Args) -> Result<(Kept, bool), ToolError> {
        if self.looked_at.load(Ordering::Acquire) == 1 {
            return Ok((std::mem::take(&mut state.line), false));
        }
        let broken = |e: String| ToolError::Failed(format!("the call could not be written anew: {e}"));
        let mut message = askfirst::json::parse_object(&state.line).map_err(|e| broken(e.to_string()))?;
        let params = message.get_mut("params").and_then(Value::as_object_mut);
        let params = params.ok_or_else(|| broken("it has no `params`".to_owned()))?;
        let new = Value::Object(args.clone());
        let old = params.insert("arguments".to_owned(), new.clone());
        if old.unwrap_or_else(|| json!({})) == new {
            return Ok((std::mem::take(&mut state.line), false));
        }
        Ok((Kept::Own(Value::Object(message).to_string().into_bytes()), true))
    }
}

/// What a server says of a call's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    Done,
    Failed,
    Nothing,
    Error,
}

impl Says {
    /// What the result of an answer says; none is an error.
    pub(crate) fn of(result: Option<&[u8]>) -> Self {
        #[derive(Deserialize)]
        struct Result_ {
            #[serde(rename = "isError", default)]
            is_error: bool,
        }
        // Where the key is nowhere, not even escaped, nothing need be taken apart.
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

/// What the record says of an answer: its digest. The client gets the answer itself.
fn outcome(line: &[u8], says: Says) -> Result<Value, ToolError> {
    let digest = json!({"answer": ContentDigest::of(line).to_string()});
    let message = match says {
        Says::Done => return Ok(digest),
        Says::Failed => "the server says that it failed",
        Says::Nothing => "the server's result is none",
        Says::Error => "the server answered with an error",
    };
    Err(ToolError::Ended { message: message.to_owned(), result: digest })
}
