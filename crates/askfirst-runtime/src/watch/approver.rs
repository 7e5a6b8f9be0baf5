//! The session's side: sends a question to the watcher, and returns the answer.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use askfirst::Cause;
use askfirst::machine::{Answer, Question, QuestionId};
use askfirst::ports::{Approver, Reply};
use askfirst_display::redact::{Mark, Redactor};
use serde_json::Value;

use super::frame::{FrameError, Patience, read, write};
use super::place::{MissingFolder, WatcherFolder};
use super::{Asker, DisplaySettings, FromAsker, FromWatcher, WatchError, hands, takes};

/// The maximum size of a question or an answer, in bytes.
pub(super) const LIMIT: usize = 64 << 20;

/// An approver that asks through `askfirst watch`.
pub struct WatchApprover(Arc<WatchState>);

struct WatchState {
    state: PathBuf,
    asker: Asker,
    look: DisplaySettings,
    find: Box<takes::Find>,
    open: Mutex<HashMap<QuestionId, QuestionState>>,
}

/// The state of a question.
enum QuestionState {
    /// The session is connecting to the watcher.
    Looking,
    /// The watcher has the question.
    Asked(UnixStream),
}

impl WatchApprover {
    /// Creates an approver. It does nothing before the first question. `takes` returns the JSON Schema of a tool's
    /// arguments.
    #[must_use]
    pub fn new(
        state: &Path,
        asker: Asker,
        look: DisplaySettings,
        takes: impl Fn(&str) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        let (state, find) = (state.to_owned(), Box::new(takes));
        Self(Arc::new(WatchState { state, asker, look, find, open: Mutex::default() }))
    }
}

impl Approver for WatchApprover {
    fn ask(&self, question: Question, reply: Reply) {
        let inner = Arc::clone(&self.0);
        let id = question.id;
        inner.open().insert(id, QuestionState::Looking);
        // If no thread can be started, the reply is dropped, and the answer is "the approver failed".
        drop(std::thread::Builder::new().name("askfirst-watched".to_owned()).spawn(move || {
            let answer = inner.asked(question);
            inner.open().remove(&id);
            match answer {
                Some(answer) => reply.send(answer),
                None => drop(reply),
            }
        }));
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        if let Some(QuestionState::Asked(stream)) = self.0.open().remove(&question) {
            // If this message does not arrive, the watcher still sees that the connection is closed.
            let _ = write(&stream, &FromAsker::Withdraw { cause }, LIMIT);
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl WatchState {
    fn open(&self) -> MutexGuard<'_, HashMap<QuestionId, QuestionState>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a question and returns the answer. Returns `None` if the question was withdrawn.
    fn asked(&self, question: Question) -> Option<Answer> {
        let id = question.id;
        let stream = match self.reach() {
            Ok(stream) => stream,
            Err(e) => {
                let note = format!("{e}; hint: run `askfirst watch` in a terminal to answer requests");
                return Some(Answer::failed(Cause::NoOneToAsk, note));
            }
        };
        let message = FromAsker::Ask {
            asker: self.asker.clone(),
            look: self.look_at(&question),
            takes: takes::of(&question, &self.find),
            question: Box::new(question),
        };
        let ours = stream.try_clone().ok();
        {
            let mut open = self.open();
            // The question was withdrawn before it was sent, so the watcher never gets it.
            let line = open.get_mut(&id)?;
            *line = QuestionState::Asked(ours?);
        }
        let said = write(&stream, &message, LIMIT).and_then(|()| read(&stream, LIMIT, Patience::Person));
        self.open().contains_key(&id).then(|| answer(said))
    }

    /// Connects to a watcher and checks its proof.
    fn reach(&self) -> Result<UnixStream, WatchError> {
        let place = WatcherFolder::open(&self.state, MissingFolder::Fail)?;
        let stream = UnixStream::connect(place.socket()).map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => WatchError::NoWatcher,
            _ => WatchError::Io(place.socket(), e),
        })?;
        hands::greet_watcher(&stream, &place.secret()?)?;
        Ok(stream)
    }

    /// Returns the display settings for a question. Only the secret values that occur in it leave this process.
    fn look_at(&self, question: &Question) -> DisplaySettings {
        let text = serde_json::to_value(question).unwrap_or(Value::Null);
        let plain = Redactor::default().value(&text, Mark::Record).left;
        let stands = |value: &&String| {
            let finds = Redactor::new(&[], vec![(*value).clone()]);
            finds.is_ok_and(|finds| finds.value(&text, Mark::Record).left != plain)
        };
        let secret_values = self.look.secret_values.iter().filter(stands).cloned().collect();
        DisplaySettings { secret_values, ..self.look.clone() }
    }
}

fn answer(said: Result<FromWatcher, FrameError>) -> Answer {
    match said {
        Ok(FromWatcher::Answer { answer }) => answer,
        Ok(FromWatcher::Hello { .. } | FromWatcher::Proof { .. }) => {
            Answer::failed(Cause::ApproverFailed, "`askfirst watch` gave no answer")
        }
        Err(FrameError::Garbled | FrameError::TooLong) => {
            Answer::failed(Cause::ApproverFailed, "the watcher's answer cannot be read")
        }
        Err(FrameError::Ended | FrameError::TooSlow | FrameError::Io(_)) => {
            Answer::failed(Cause::TerminalLost, "`askfirst watch` ended")
        }
    }
}
